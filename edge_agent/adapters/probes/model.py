"""What probes return: frozen values with units in their names. No I/O.

Sizes are MiB on the host (what the scheduler counts in) and bytes on a device (what NVML says).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T", covariant=True)


class Absence(StrEnum):
    """Why a probe has no value."""

    ABSENT = "ABSENT"  # it is not there, which is normal
    UNSUPPORTED = "UNSUPPORTED"  # the part is there and cannot tell
    DENIED = "DENIED"  # we may not look
    FAILED = "FAILED"  # it is there and does not answer as it should
    LOST = "LOST"  # it was there and is gone


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """A value and how it was found: a file, a call, a command."""

    value: T
    source: str


@dataclass(frozen=True, slots=True)
class NotFound:
    """No value: where we looked, what kind of absence it is, and the reason in words."""

    absence: Absence
    reason: str
    source: str


Probe = Found[T] | NotFound


@dataclass(frozen=True, slots=True)
class Cpu:
    """Processors that this process may use, which may be fewer than the machine has."""

    allowed: tuple[int, ...]
    quota_millicores: int | None
    model: str
    sockets: int

    @property
    def usable_millicores(self) -> int:
        """The smaller of what affinity and the cgroup quota allow."""
        by_affinity = 1000 * len(self.allowed)
        return (
            by_affinity
            if self.quota_millicores is None
            else min(by_affinity, self.quota_millicores)
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the host and the tightest cgroup limit on this process, if any."""

    total_mib: int
    available_mib: int
    limit_mib: int | None
    swap_mib: int

    @property
    def usable_mib(self) -> int:
        """What tasks of this node can have together."""
        return self.total_mib if self.limit_mib is None else min(self.total_mib, self.limit_mib)


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system under a path; free is what an unprivileged user gets."""

    path: str
    total_mib: int
    free_mib: int


@dataclass(frozen=True, slots=True)
class NumaNode:
    """One NUMA node; `distances[i]` is the kernel's relative distance to the i-th online node."""

    node: int
    cpus: tuple[int, ...]
    memory_mib: int
    distances: tuple[int, ...]


class Deployment(StrEnum):
    """What the agent runs on."""

    BARE_METAL = "bare_metal"
    VM = "vm"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class Host:
    """The machine's name, architecture (as `uname -m` says) and kernel."""

    hostname: str
    architecture: str
    kernel: str
    boot_id: str


class Proof(StrEnum):
    """How far a container runtime was tried."""

    STARTED = "started"  # a sandboxed process ran and ended well
    ANSWERED = "answered"  # its service or command answered; nothing was started


@dataclass(frozen=True, slots=True)
class Runtime:
    """A container runtime that works as far as `proof` says."""

    version: str
    path: str
    proof: Proof


@dataclass(frozen=True, slots=True)
class Software:
    """The software stack: versions as their owners write them."""

    python: Probe[str]
    bubblewrap: Probe[Runtime]
    podman: Probe[Runtime]
    docker: Probe[Runtime]
    nvidia_driver: Probe[str]
    cuda: Probe[str]
    cann: Probe[str]
    rocm: Probe[str]
    neuware: Probe[str]


class LinkPeer(StrEnum):
    """What is at the other end of an NVLink."""

    GPU = "gpu"
    SWITCH = "switch"
    CPU = "cpu"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NvLinkGroup:
    """All active NVLinks of a device that lead to one peer; `version` is the NVLink generation."""

    peer: LinkPeer
    bus_id: str
    links: int
    version: int


@dataclass(frozen=True, slots=True)
class MigInstance:
    """One MIG device as it is set up now."""

    uuid: str
    memory_bytes: int
    multiprocessors: int
    gpu_instance: int
    compute_instance: int


@dataclass(frozen=True, slots=True)
class Mig:
    """MIG mode; `pending` differs from `enabled` until the next reset."""

    enabled: bool
    pending: bool
    instances: tuple[MigInstance, ...]


@dataclass(frozen=True, slots=True)
class Ecc:
    """ECC mode and errors since the driver was loaded (volatile) and for ever (aggregate)."""

    enabled: bool
    corrected_volatile: int
    uncorrected_volatile: int
    uncorrected_aggregate: int


@dataclass(frozen=True, slots=True)
class RowRemapping:
    """Rows of device memory that were replaced; pending needs a reset, failed needs a repair."""

    corrected: int
    uncorrected: int
    pending: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class NvidiaDevice:
    """One GPU. What an older or smaller device cannot tell is a `NotFound` of its own."""

    index: int
    uuid: str
    name: str
    memory_bytes: int
    compute_capability: tuple[int, int]
    architecture: str
    bus_id: str
    numa_node: Probe[int]
    nvlinks: Probe[tuple[NvLinkGroup, ...]]
    mig: Probe[Mig]
    ecc: Probe[Ecc]
    row_remapping: Probe[RowRemapping]
    power_limit_mw: Probe[int]


class DeviceCondition(StrEnum):
    """What is wrong with a device that could not be read whole."""

    LOST = "LOST"  # fell off the bus, or the driver gave it up
    RESET_REQUIRED = "RESET_REQUIRED"
    DENIED = "DENIED"
    UNREADABLE = "UNREADABLE"


@dataclass(frozen=True, slots=True)
class DeviceFault:
    """A device that must not be offered: which, what, and the call that showed it."""

    device: str  # its UUID, or `index N` where it did not even tell that
    condition: DeviceCondition
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class NvidiaInventory:
    """All NVIDIA devices of the node; none is an inventory too."""

    driver: str
    cuda: tuple[int, int] | None  # the newest CUDA that the driver serves
    devices: tuple[NvidiaDevice, ...]
    faults: tuple[DeviceFault, ...]


@dataclass(frozen=True, slots=True)
class NvidiaSample:
    """One look at a device's meters; None where the device does not have that meter."""

    uuid: str
    gpu_percent: int | None
    memory_percent: int | None
    memory_used_bytes: int | None
    temperature_c: int | None
    power_mw: int | None


@dataclass(frozen=True, slots=True)
class XidEvent:
    """A critical error that the driver reported (XID numbers: NVIDIA's XID Errors document)."""

    uuid: str
    xid: int


@dataclass(frozen=True, slots=True)
class NodeProbes:
    """Everything that was probed on a node."""

    host: Probe[Host]
    deployment: Probe[Deployment]
    cpu: Probe[Cpu]
    memory: Probe[Memory]
    disk: Probe[Disk]
    numa: Probe[tuple[NumaNode, ...]]
    software: Software
    nvidia: Probe[NvidiaInventory]
