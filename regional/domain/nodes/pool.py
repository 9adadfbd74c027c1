"""The nodes of a region: what they have, what is taken, whether they answer.

What is taken is never stored: it is kept beside the runs that hold a node and follows them, so it
is rebuilt from them at each start.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from intertie.model.agentlink import AgentHello
from intertie.model.pool import Device, NodeClass
from intertie.model.states import Reachability
from regional.domain.runs.run import RegionRun


@dataclass(slots=True)
class Held:
    """The live runs placed on one node, attached or not, and the sums of what they take.

    `unfenced` are placements that were given up and may still live there: they take as well.
    `metered_until_ms`: no interval of a run that has left reaches beyond it, so that one placed
    later is metered from there: what a node gives is never billed twice for one time (I8). It is
    kept for the whole node, for the runs of one node share its clock.
    """

    metered_until_ms: int = 0
    runs: dict[str, RegionRun] = field(default_factory=dict)
    unfenced: dict[str, RegionRun] = field(default_factory=dict)
    cpu: int = 0
    memory: int = 0
    disk: int = 0
    devices: set[int] = field(default_factory=set)

    @property
    def is_taken(self) -> bool:
        """Whether anything is held."""
        return bool(self.runs or self.unfenced)

    def put(self, run: RegionRun) -> None:
        """Add a run, or replace it by what it has become; a placement keeps its shape."""
        assert run.is_live, "an ended run holds nothing"
        assert run.node, "a run that waits holds nothing"
        before = self.runs.get(run.key)
        assert before is None or before.shape == run.shape, "a placement keeps its shape"
        assert before is None or before.devices == run.devices, "a placement keeps its devices"
        if before is None:
            self._count(run, 1)
        self.runs[run.key] = run

    def drop(self, key: str) -> None:
        """Forget a run, if it is here."""
        run = self.runs.pop(key, None)
        if run is not None:
            self._count(run, -1)
            self.metered_until_ms = max(self.metered_until_ms, run.metered_until_ms)

    def keep(self, run: RegionRun) -> None:
        """Go on holding what a placement took that was given up."""
        assert run.node, "a run that waits holds nothing"
        if run.placement not in self.unfenced:
            self._count(run, 1)
        self.unfenced[run.placement] = run

    def let_go(self, placement: str) -> None:
        """It is known to be dead."""
        self._count(self.unfenced.pop(placement), -1)

    def _count(self, run: RegionRun, sign: int) -> None:
        if sign > 0:
            assert self.devices.isdisjoint(run.devices), f"a device of {run.node} is taken twice"
            self.devices.update(run.devices)
        else:
            self.devices.difference_update(run.devices)
        self.cpu += sign * run.shape.cpu
        self.memory += sign * run.shape.memory
        self.disk += sign * run.shape.disk
        assert min(self.cpu, self.memory, self.disk) >= 0, "more was given back than was taken"


@dataclass(slots=True)
class Node:
    """One node that has attached in this life of the region. Instants in boot_ns.

    `link` 0 = not attached now. `granted_ns` is when its lease was last granted. It was lost
    `faults` times since `since_ns`; `tags` are what it can do. `owes` names placements whose end it
    has to report before it gets work, for it was declared dead and came back.
    """

    hello: AgentHello
    link: int
    granted_ns: int
    held: Held
    heard_ns: int = 0
    heard_ms: int = 0
    lost_ns: int = 0
    unknown: bool = False
    since_ns: int = 0
    faults: int = 0
    tags: Mapping[str, str] = field(default_factory=dict)
    owes: set[str] = field(default_factory=set)

    @property
    def takes_work(self) -> bool:
        """Whether runs may be placed on it."""
        return bool(self.link) and not self.owes

    @property
    def id(self) -> str:
        """The node's id."""
        return self.hello.node

    @property
    def reachability(self) -> Reachability:
        """What is observed of the node."""
        if self.link:
            return Reachability.REACHABLE
        return Reachability.UNKNOWN if self.unknown else Reachability.OUT_OF_TOUCH

    @property
    def free_cpu(self) -> int:
        """Thousandths of a core that no run holds."""
        return self.hello.capability.cpu - self.held.cpu

    @property
    def free_memory(self) -> int:
        """Bytes of memory that no run holds."""
        return self.hello.capability.memory - self.held.memory

    @property
    def free_disk(self) -> int:
        """Bytes of disk that no run holds."""
        return self.hello.capability.disk - self.held.disk

    def free_devices(self) -> list[Device]:
        """Healthy devices that no run holds."""
        taken = self.held.devices
        return [d for d in self.hello.capability.devices if d.healthy and d.index not in taken]


def classes(nodes: Iterable[Node], declared: Iterable[str] = ()) -> tuple[NodeClass, ...]:
    """Alike nodes of the pool with their free blocks, for the summary.

    `declared` names the tags that the operator gave.
    """
    groups: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        if node.takes_work:
            groups.setdefault(_kind(node), []).append(node)
    given = frozenset(declared)
    return tuple(_class(group, given) for _, group in sorted(groups.items()))


def _kind(node: Node) -> tuple[str, ...]:
    """What alike nodes have in common: all that a task can ask of a node by name."""
    capability = node.hello.capability
    device = capability.devices[0] if capability.devices else None
    return (
        capability.architecture,
        device.vendor if device else "",
        device.model if device else "",
        *(f"{name}={version}" for name, version in sorted(capability.software.items())),
        *(f"{name}:{value}" for name, value in sorted(node.tags.items())),
    )


def _class(group: list[Node], declared: frozenset[str]) -> NodeClass:
    blocks: dict[int, int] = {}
    for node in group:
        free = len(node.free_devices())
        if free:
            blocks[free] = blocks.get(free, 0) + 1
    capabilities = [node.hello.capability for node in group]
    first = capabilities[0]
    device = first.devices[0] if first.devices else None
    return NodeClass(
        architecture=first.architecture,
        vendor=device.vendor if device else "",
        model=device.model if device else "",
        nodes=len(group),
        max_cpu=max(c.cpu for c in capabilities),
        max_memory=max(c.memory for c in capabilities),
        max_disk=max(c.disk for c in capabilities),
        max_devices=max(len(c.devices) for c in capabilities),
        device_memory=max((d.memory for c in capabilities for d in c.devices), default=0),
        free_cpu=sum(max(0, node.free_cpu) for node in group),
        free_memory=sum(max(0, node.free_memory) for node in group),
        free_blocks=blocks,
        software=first.software,
        tags=group[0].tags,
        declared=tuple(sorted(declared & group[0].tags.keys())),
    )
