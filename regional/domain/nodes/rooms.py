"""Room on nodes: does a unit fit, how many do, which node is the best for one.

A pass over the pool works on rooms: what is left of each node while units are counted or placed.
Devices are given whole. Must not know runs or links.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from intertie.capability import software
from intertie.model.pool import Device, Shape
from intertie.model.requires import all_hold
from regional.domain.nodes.pool import Node


@dataclass(slots=True)
class Room:
    """What is left of one node in one pass."""

    node: str
    cpu: int
    memory: int
    disk: int
    devices: list[Device]
    architecture: str
    software: Mapping[str, str]
    tags: Mapping[str, str]

    @classmethod
    def of(cls, node: Node) -> "Room":
        """The room of a node now."""
        capability = node.hello.capability
        return cls(
            node.id,
            node.free_cpu,
            node.free_memory,
            node.free_disk,
            node.free_devices(),
            capability.architecture,
            capability.software,
            node.tags,
        )

    @classmethod
    def whole(cls, node: Node) -> "Room":
        """The room of a node if nothing ran on it."""
        capability = node.hello.capability
        return cls(
            node.id,
            capability.cpu,
            capability.memory,
            capability.disk,
            [d for d in capability.devices if d.healthy],
            capability.architecture,
            capability.software,
            node.tags,
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
            and self.suits(shape)
            and (not shape.devices or len(self.matching(shape)) >= shape.devices)
        )

    def suits(self, shape: Shape) -> bool:
        """Whether the node is of a kind that can run the shape, whatever is free."""
        return (
            (not shape.architectures or self.architecture in shape.architectures)
            and software.holds(shape.software, self.software)
            and all_hold(shape.requires, self.tags)
        )

    def units(self, shape: Shape) -> int:
        """How many units fit."""
        if not self.fits(shape):
            return 0
        bounds = [
            left // taken
            for left, taken in (
                (self.cpu, shape.cpu),
                (self.memory, shape.memory),
                (self.disk, shape.disk),
            )
            if taken
        ]
        if shape.devices:
            bounds.append(len(self.matching(shape)) // shape.devices)
        assert bounds, "a shape takes something"
        return min(bounds)

    def take(self, shape: Shape, units: int = 1) -> tuple[int, ...]:
        """Take units; returns the indices of their devices."""
        assert units >= 0, "units are counted"
        devices = self.matching(shape)[: shape.devices * units] if shape.devices else []
        assert len(devices) == shape.devices * units, "a node has the devices that it gives (I6)"
        self.cpu -= shape.cpu * units
        self.memory -= shape.memory * units
        self.disk -= shape.disk * units
        assert min(self.cpu, self.memory, self.disk) >= 0 or not units, (
            "a node is not oversubscribed"
        )
        if devices:
            self.devices = [d for d in self.devices if d not in devices]
        return tuple(d.index for d in devices)

    def leftover(self, shape: Shape) -> tuple[int, int, int]:
        """What would be left: devices first, then cpu, then memory; best fit takes the least."""
        return (len(self.devices) - shape.devices, self.cpu - shape.cpu, self.memory - shape.memory)


def rooms(nodes: Iterable[Node]) -> list[Room]:
    """The rooms of the nodes that take work."""
    return [Room.of(node) for node in nodes if node.takes_work]


def best(rooms_: Iterable[Room], shape: Shape, excluded: Iterable[str]) -> Room | None:
    """The room with the least left over that fits and is not excluded (best fit)."""
    bad = frozenset(excluded)
    able = [r for r in rooms_ if r.node not in bad and r.fits(shape)]
    return min(able, key=lambda r: (r.leftover(shape), r.node), default=None)


def count(rooms_: Iterable[Room], shape: Shape, most: int) -> int:
    """How many units fit; takes them out of the rooms, the fullest first as best fit does."""
    able = [room for room in rooms_ if room.fits(shape)]
    units = 0
    for room in sorted(able, key=lambda r: (r.leftover(shape), r.node)):
        taken = min(room.units(shape), most - units)
        room.take(shape, taken)
        units += taken
    return units
