"""The federation replica: takes tasks, routes them to regions, leases and grants, mirrors metering.

It never places on nodes and never stores a task's output (it relays it).
"""
