"""What a node has, what a region tells of its pool, and shapes of demand."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One accelerator of a node. `link` is the class of its link to the others, see `tags`."""

    index: int
    uuid: str
    vendor: str
    model: str
    architecture: str = ""
    memory: int = 0
    numa: int = -1
    healthy: bool = True
    link: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCapability:
    """What a node is and has, as its probes found it. Sizes in bytes, `cpu` in thousandths.

    `software` maps a package (`python`, `cuda`, `driver`) to a version; `found` says how each value
    was found or why it is missing.
    """

    cpu: int
    memory: int
    disk: int
    architecture: str
    devices: tuple[Device, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)
    numa_nodes: int = 1
    kernel: str = ""
    hostname: str = ""
    isolation: str = ""
    deployment: str = ""
    found: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one unit of a task takes on one node: what offers and placement count in."""

    cpu: int
    memory: int
    disk: int
    devices: int = 0
    device_memory: int = 0
    device_models: tuple[str, ...] = ()
    device_vendors: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    software: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClass:
    """Nodes of a region that are alike: how many, what the largest has, and the free blocks.

    `free_blocks` counts nodes by whole free devices: {1: 3, 8: 1} = three nodes with one and
    one with 8. `tags` are what all of them have; `declared` names those that no rule derived.
    """

    architecture: str
    vendor: str = ""
    model: str = ""
    nodes: int = 0
    max_cpu: int = 0
    max_memory: int = 0
    max_disk: int = 0
    max_devices: int = 0
    device_memory: int = 0
    free_cpu: int = 0
    free_memory: int = 0
    free_blocks: Mapping[int, int] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    declared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingTerms:
    """What a region lends now, as far as the federation needs to know it.

    Empty lists allow everything, 0 is no bound; `left_*` is what guests may still take. What single
    projects are capped at stays the region's own.
    """

    open: bool = True
    projects: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    data_classes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    longest_run_ms: int = 0
    closes_in_ms: int = 0
    left_cpu: int = 0
    left_memory: int = 0
    left_devices: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a region advertises. `revision` grows within an `incarnation`.

    `lending` is None where everything is lent to everybody.
    """

    region: str
    incarnation: str
    revision: int
    jurisdiction: str
    classes: tuple[NodeClass, ...] = ()
    queued: int = 0
    running: int = 0
    health: float = 1.0
    accepting: bool = True
    policy_sha256: str = ""
    lending: LendingTerms | None = None
