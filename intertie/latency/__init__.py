"""Round trips between regions: what one region measured, and what the federation knows of all.

Pure values and rules; probes and messages are the services' business.
"""

from intertie.latency.matrix import Matrix, Measurement
from intertie.latency.probe import SIZE, echo, is_echo, probe
from intertie.latency.stats import MAX_RTT_US, Stats, rank
from intertie.latency.window import Window

__all__ = [
    "MAX_RTT_US",
    "SIZE",
    "Matrix",
    "Measurement",
    "Stats",
    "Window",
    "echo",
    "is_echo",
    "probe",
    "rank",
]
