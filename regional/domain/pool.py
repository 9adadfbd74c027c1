"""The nodes of a region: what they have, what is taken, whether they answer.

What is taken is never stored: it is the sum over the runs that hold a node, so it cannot drift.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from intertie.model.agentlink import AgentHello
from intertie.model.pool import Device, NodeClass, Shape
from intertie.model.states import Reachability
from regional.domain.run import RegionRun


@dataclass(slots=True)
class Node:
    """One node. Instants in boot_ns; `link` 0 = not attached. `runs` hold resources until they
    end.
    """

    hello: AgentHello
    link: int
    granted_ns: int
    heard_ns: int = 0
    lost_ns: int = 0
    unknown: bool = False
    runs: dict[str, RegionRun] = field(default_factory=dict)

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
        return self.hello.capability.cpu - sum(run.shape.cpu for run in self.runs.values())

    @property
    def free_memory(self) -> int:
        """Bytes of memory that no run holds."""
        return self.hello.capability.memory - sum(run.shape.memory for run in self.runs.values())

    @property
    def free_disk(self) -> int:
        """Bytes of disk that no run holds."""
        return self.hello.capability.disk - sum(run.shape.disk for run in self.runs.values())

    def free_devices(self) -> list[Device]:
        """Healthy devices that no run holds."""
        taken = {index for run in self.runs.values() for index in run.devices}
        return [d for d in self.hello.capability.devices if d.healthy and d.index not in taken]


@dataclass(slots=True)
class Room:
    """What is left of one node while units are counted or placed in one pass."""

    node: str
    cpu: int
    memory: int
    disk: int
    devices: list[Device]
    architecture: str
    software: Mapping[str, str]

    @classmethod
    def of(cls, node: Node) -> "Room":
        """The room of a node now."""
        return cls(
            node.id,
            node.free_cpu,
            node.free_memory,
            node.free_disk,
            node.free_devices(),
            node.hello.capability.architecture,
            node.hello.capability.software,
        )

    def matching(self, shape: Shape) -> list[Device]:
        """Free devices that suit the shape."""
        return [
            d
            for d in self.devices
            if d.memory >= shape.device_memory
            and (not shape.device_models or d.model in shape.device_models)
            and (not shape.device_vendors or d.vendor in shape.device_vendors)
        ]

    def fits(self, shape: Shape) -> bool:
        """Whether one unit fits."""
        return (
            shape.cpu <= self.cpu
            and shape.memory <= self.memory
            and shape.disk <= self.disk
            and (not shape.architectures or self.architecture in shape.architectures)
            and (not shape.devices or len(self.matching(shape)) >= shape.devices)
        )

    def take(self, shape: Shape) -> tuple[int, ...]:
        """Take one unit; returns the indices of its devices."""
        devices = self.matching(shape)[: shape.devices] if shape.devices else []
        self.cpu -= shape.cpu
        self.memory -= shape.memory
        self.disk -= shape.disk
        self.devices = [d for d in self.devices if d not in devices]
        return tuple(d.index for d in devices)

    def leftover(self, shape: Shape) -> tuple[int, int, int]:
        """What would be left: devices first, then cpu, then memory; best fit takes the least."""
        return (len(self.devices) - shape.devices, self.cpu - shape.cpu, self.memory - shape.memory)


def rooms(nodes: Iterable[Node]) -> list[Room]:
    """The rooms of the nodes that answer, in the order of their ids."""
    return [Room.of(node) for node in sorted(nodes, key=lambda n: n.id) if node.link]


def best(rooms_: Iterable[Room], shape: Shape, excluded: Iterable[str]) -> Room | None:
    """The room with the least left over that fits and is not excluded (best fit)."""
    bad = frozenset(excluded)
    able = [r for r in rooms_ if r.node not in bad and r.fits(shape)]
    return min(able, key=lambda r: (r.leftover(shape), r.node), default=None)


def count(rooms_: list[Room], shape: Shape, most: int) -> int:
    """How many units fit now; takes them out of the rooms."""
    units = 0
    while units < most:
        room = best(rooms_, shape, ())
        if room is None:
            break
        room.take(shape)
        units += 1
    return units


def classes(nodes: Iterable[Node]) -> tuple[NodeClass, ...]:
    """Alike nodes of the pool with their free blocks, for the summary."""
    groups: dict[tuple[str, str, str], list[Node]] = {}
    for node in nodes:
        if node.link:
            capability = node.hello.capability
            device = capability.devices[0] if capability.devices else None
            key = (
                capability.architecture,
                device.vendor if device else "",
                device.model if device else "",
            )
            groups.setdefault(key, []).append(node)
    return tuple(_class(key, group) for key, group in sorted(groups.items()))


def _class(key: tuple[str, str, str], group: list[Node]) -> NodeClass:
    blocks: dict[int, int] = {}
    for node in group:
        free = len(node.free_devices())
        if free:
            blocks[free] = blocks.get(free, 0) + 1
    capabilities = [node.hello.capability for node in group]
    return NodeClass(
        architecture=key[0],
        vendor=key[1],
        model=key[2],
        nodes=len(group),
        max_cpu=max(c.cpu for c in capabilities),
        max_memory=max(c.memory for c in capabilities),
        max_disk=max(c.disk for c in capabilities),
        max_devices=max(len(c.devices) for c in capabilities),
        device_memory=max((d.memory for c in capabilities for d in c.devices), default=0),
        free_cpu=sum(node.free_cpu for node in group),
        free_memory=sum(node.free_memory for node in group),
        free_blocks=blocks,
        software=capabilities[0].software,
    )
