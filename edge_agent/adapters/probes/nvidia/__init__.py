"""NVIDIA devices by NVML: a session, the inventory, samples of meters, critical errors.

A device that is lost while it is read is a `DeviceFault` among the findings and never an exception
of the whole. What uses NVML here opens a session first and closes it last.
"""

from edge_agent.adapters.probes.nvidia.events import XidWatch, watch_xids
from edge_agent.adapters.probes.nvidia.inventory import probe_nvidia
from edge_agent.adapters.probes.nvidia.meters import sample_nvidia
from edge_agent.adapters.probes.nvidia.session import NvmlSession, open_nvml

__all__ = ["NvmlSession", "XidWatch", "open_nvml", "probe_nvidia", "sample_nvidia", "watch_xids"]
