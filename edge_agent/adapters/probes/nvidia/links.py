"""NVLinks of a device, grouped by what they lead to."""

from collections import Counter

import pynvml

from edge_agent.adapters.probes.model import (
    Absence,
    Found,
    LinkPeer,
    NotFound,
    NvLinkGroup,
    Probe,
)
from edge_agent.adapters.probes.nvidia.session import Handle, ask

PEERS = {
    pynvml.NVML_NVLINK_DEVICE_TYPE_GPU: LinkPeer.GPU,
    pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH: LinkPeer.SWITCH,
    pynvml.NVML_NVLINK_DEVICE_TYPE_IBMNPU: LinkPeer.CPU,
}


def groups(handle: Handle) -> Probe[tuple[NvLinkGroup, ...]]:
    """Active links by peer. A device without NVLink has none; that is found, not missing."""
    active: Counter[tuple[LinkPeer, str, int]] = Counter()
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        state = ask(pynvml.nvmlDeviceGetNvLinkState, handle, link)
        if isinstance(state, NotFound):
            if state.absence is Absence.DENIED:
                return state
            break  # NVML answers past the last link with "invalid argument" or "not supported"
        if state.value == pynvml.NVML_FEATURE_ENABLED:
            active[_end(handle, link)] += 1
    found = tuple(
        NvLinkGroup(peer, bus_id, links, version)
        for (peer, bus_id, version), links in sorted(active.items())
    )
    return Found(found, "nvmlDeviceGetNvLinkState")


def _end(handle: Handle, link: int) -> tuple[LinkPeer, str, int]:
    """Kind and place of a link's other end, and the link's generation; unknown where unsaid."""
    kind = ask(pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
    place = ask(pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
    version = ask(pynvml.nvmlDeviceGetNvLinkVersion, handle, link)
    peer = PEERS.get(kind.value, LinkPeer.UNKNOWN) if isinstance(kind, Found) else LinkPeer.UNKNOWN
    return (
        peer,
        place.value.busId if isinstance(place, Found) else "",
        version.value if isinstance(version, Found) else 0,
    )
