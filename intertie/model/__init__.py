"""Frozen dataclasses, names, states and units shared by all services. Pure: no I/O, no clock."""
