"""Critical errors of NVIDIA devices (XID), as the driver reports them through NVML's event sets."""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pynvml

from edge_agent.adapters.probes.model import Absence, Found, NotFound, Probe, XidEvent
from edge_agent.adapters.probes.nvidia.session import (
    DEVICE_CONDITIONS,
    DeviceLostError,
    Handle,
    ask,
    demand,
)

# One poll returns at most this many events; a failing device can report without end.
MAX_EVENTS_PER_POLL = 64
SOURCE = "nvmlEventSetWait_v2"


@dataclass(frozen=True, slots=True)
class XidWatch:
    """The devices that are watched, by handle; errors from before the watch are not seen."""

    events: Handle
    uuids: Mapping[int, str]

    def poll(self, timeout_ms: int = 0) -> Probe[tuple[XidEvent, ...]]:
        """Errors since the last poll; waits at most `timeout_ms` for the first one."""
        found: list[XidEvent] = []
        while len(found) < MAX_EVENTS_PER_POLL:
            try:
                event = pynvml.nvmlEventSetWait_v2(self.events, 0 if found else timeout_ms)
            except pynvml.NVMLError as error:
                if error.value == pynvml.NVML_ERROR_TIMEOUT or found:
                    break  # what failed after a find will fail again, and be told, next time
                lost = error.value in DEVICE_CONDITIONS
                return NotFound(Absence.LOST if lost else Absence.FAILED, str(error), SOURCE)
            uuid = self.uuids.get(_address(event.device), "unknown")
            found.append(XidEvent(uuid, int(event.eventData)))
        return Found(tuple(found), SOURCE)

    def close(self) -> None:
        """Free the event set."""
        ask(pynvml.nvmlEventSetFree, self.events)


def watch_xids(uuids: Sequence[str]) -> Probe[XidWatch]:
    """Watch those of the devices that can report; UNSUPPORTED if none can."""
    try:
        events = demand(pynvml.nvmlEventSetCreate)
    except DeviceLostError as error:
        return NotFound(Absence.FAILED, error.reason, error.source)
    watched: dict[int, str] = {}
    for uuid in uuids:
        try:
            handle = demand(pynvml.nvmlDeviceGetHandleByUUID, uuid)
            kind = pynvml.nvmlEventTypeXidCriticalError
            demand(pynvml.nvmlDeviceRegisterEvents, handle, kind, events)
        except DeviceLostError:
            continue
        watched[_address(handle)] = uuid
    if watched:
        return Found(XidWatch(events, watched), "nvmlDeviceRegisterEvents")
    ask(pynvml.nvmlEventSetFree, events)
    return NotFound(Absence.UNSUPPORTED, "no device reports XIDs", "nvmlDeviceRegisterEvents")


def _address(handle: Handle) -> int:
    """NVML's device handles are pointers that stay the same for as long as NVML is initialised."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
