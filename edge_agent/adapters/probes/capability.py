"""From probes to what a node advertises. Pure: the same probes give the same capability.

A missing value becomes the neutral one (0, empty) and its reason goes into `found`, so that whoever
asks why a node has no CUDA or no memory is told. Derives no tags.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from edge_agent.adapters.probes.model import (
    Found,
    LinkPeer,
    NodeProbes,
    NotFound,
    NvidiaDevice,
    NvidiaInventory,
    Probe,
    Runtime,
    Software,
)
from intertie.model.pool import Device, NodeCapability

T = TypeVar("T")

MIB = 1 << 20


def node_capability(probes: NodeProbes) -> NodeCapability:
    """What the agent tells its region about this node."""
    cpu, memory, disk = _value(probes.cpu), _value(probes.memory), _value(probes.disk)
    host, numa = _value(probes.host), _value(probes.numa)
    return NodeCapability(
        cpu=cpu.usable_millicores if cpu else 0,
        memory=memory.usable_mib * MIB if memory else 0,
        disk=disk.free_mib * MIB if disk else 0,
        architecture=host.architecture if host else "",
        devices=tuple(_devices(probes.nvidia)),
        software=_versions(probes.software, probes.nvidia),
        numa_nodes=len(numa) if numa else 1,
        deployment=str(_value(probes.deployment) or ""),
        kernel=host.kernel if host else "",
        hostname=host.hostname if host else "",
        found=dict(_findings(probes)),
    )


def _value(probe: Probe[T]) -> T | None:
    return probe.value if isinstance(probe, Found) else None


def _devices(nvidia: Probe[NvidiaInventory]) -> Iterator[Device]:
    if isinstance(nvidia, NotFound):
        return
    for device in nvidia.value.devices:
        yield Device(
            index=device.index,
            uuid=device.uuid,
            vendor="nvidia",
            model=device.name,
            architecture=device.architecture,
            memory=device.memory_bytes,
            numa=device.numa_node.value if isinstance(device.numa_node, Found) else -1,
            healthy=_healthy(device),
            link=_link(device),
        )


def _link(device: NvidiaDevice) -> str:
    """The class of its link to other devices: through a switch, device to device, or the bus."""
    if isinstance(device.nvlinks, NotFound):
        return ""
    peers = {group.peer for group in device.nvlinks.value}
    if LinkPeer.SWITCH in peers:
        return "nvswitch"
    return "nvlink" if LinkPeer.GPU in peers else "pcie"


def _healthy(device: NvidiaDevice) -> bool:
    """Not when its memory gave wrong data since the start, waits for a reset, or is worn out."""
    rows = device.row_remapping
    if isinstance(rows, Found) and (rows.value.pending or rows.value.failed):
        return False
    return not (isinstance(device.ecc, Found) and device.ecc.value.uncorrected_volatile > 0)


def _versions(software: Software, nvidia: Probe[NvidiaInventory]) -> Mapping[str, str]:
    """Package to version. `cuda` is what the driver serves, as tasks bring their own runtime."""
    versions = {
        name: probe.value.version if isinstance(probe.value, Runtime) else probe.value
        for name, probe in _software_probes(software)
        if isinstance(probe, Found)
    }
    if isinstance(nvidia, Found):
        versions["driver"] = nvidia.value.driver
        if nvidia.value.cuda is not None:
            versions["cuda"] = "{}.{}".format(*nvidia.value.cuda)
    return versions


def _software_probes(software: Software) -> Iterator[tuple[str, Probe[str] | Probe[Runtime]]]:
    yield "python", software.python
    yield "bubblewrap", software.bubblewrap
    yield "podman", software.podman
    yield "docker", software.docker
    yield "driver", software.nvidia_driver
    yield "cuda_toolkit", software.cuda
    yield "cann", software.cann
    yield "rocm", software.rocm
    yield "neuware", software.neuware


def _findings(probes: NodeProbes) -> Iterator[tuple[str, str]]:
    """How each value was found, or why it is missing."""
    named: tuple[tuple[str, Found[object] | NotFound], ...] = (
        ("host", probes.host),
        ("deployment", probes.deployment),
        ("cpu", probes.cpu),
        ("memory", probes.memory),
        ("disk", probes.disk),
        ("numa", probes.numa),
        ("nvidia", probes.nvidia),
        *_software_probes(probes.software),
    )
    for name, probe in named:
        if isinstance(probe, Found):
            yield name, probe.source
        else:
            yield name, f"{probe.absence}: {probe.reason} ({probe.source})"
    if isinstance(probes.nvidia, Found):
        for fault in probes.nvidia.value.faults:
            yield f"nvidia/{fault.device}", f"{fault.condition}: {fault.reason} ({fault.source})"
