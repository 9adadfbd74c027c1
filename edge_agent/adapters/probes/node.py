"""All probes of a node, one after the other: some seconds of work, so not for an event loop."""

from pathlib import Path

from edge_agent.adapters.probes.host import (
    probe_cpu,
    probe_deployment,
    probe_disk,
    probe_host,
    probe_memory,
    probe_numa,
)
from edge_agent.adapters.probes.model import NodeProbes, NotFound, NvidiaInventory, Probe
from edge_agent.adapters.probes.nvidia.inventory import probe_nvidia
from edge_agent.adapters.probes.nvidia.session import open_nvml
from edge_agent.adapters.probes.reading import ROOT
from edge_agent.adapters.probes.software import probe_software


def probe_node(disk: Path, root: Path = ROOT) -> NodeProbes:
    """Probe everything; `disk` is the folder whose file system the tasks will use."""
    return NodeProbes(
        host=probe_host(root),
        deployment=probe_deployment(root),
        cpu=probe_cpu(root),
        memory=probe_memory(root),
        disk=probe_disk(disk),
        numa=probe_numa(root),
        software=probe_software(root),
        nvidia=probe_devices(root),
    )


def probe_devices(root: Path = ROOT) -> Probe[NvidiaInventory]:
    """The NVIDIA devices, with a session of NVML of its own."""
    session = open_nvml()
    if isinstance(session, NotFound):
        return session
    try:
        return probe_nvidia(session, root)
    finally:
        session.close()
