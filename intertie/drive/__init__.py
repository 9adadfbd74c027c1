"""Events to `handle`, one commit, then release of the effects.

No I/O of its own; shared by all services.
"""
