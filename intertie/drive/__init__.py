"""The drive: events -> handle -> commit -> release. No I/O; shared by all services and the
simulator.
"""
