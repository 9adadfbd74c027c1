"""The regional scheduler: one region's queue, placement, runs, metering log and lending policy.

It does not trust the federation for residency: it checks again.
"""
