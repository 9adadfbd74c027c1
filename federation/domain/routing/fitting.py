"""Does a shape fit a class of nodes, and how many units of it do: counted on the summary's numbers.

Blocks of free devices are counted one by one: a total hides fragmentation (tasks.md).
"""

from collections.abc import Iterable, Sequence

from intertie.capability import software
from intertie.model.pool import NodeClass, Shape
from intertie.model.requires import all_hold
from intertie.model.units import format_bytes


def suits(shape: Shape, c: NodeClass) -> bool:
    """Whether the nodes are of a kind that can run the shape, whatever their size."""
    return (
        (not shape.device_models or not shape.devices or c.model in shape.device_models)
        and (not shape.device_vendors or not shape.devices or c.vendor in shape.device_vendors)
        and (not shape.architectures or c.architecture in shape.architectures)
        and software.holds(shape.software, c.software)
        and all_hold(shape.requires, c.tags)
    )


def fits(shape: Shape, c: NodeClass) -> bool:
    """Whether one unit fits on an empty node of the class."""
    return (
        shape.cpu <= c.max_cpu
        and shape.memory <= c.max_memory
        and shape.disk <= c.max_disk
        and shape.devices <= c.max_devices
        and (not shape.devices or shape.device_memory <= c.device_memory)
        and suits(shape, c)
    )


def free_units(shape: Shape, classes: Iterable[NodeClass]) -> float:
    """Units that fit into the free blocks now."""
    return float(sum(_free(shape, c) for c in classes if fits(shape, c)))


def _free(shape: Shape, c: NodeClass) -> int:
    assert shape.cpu > 0 < shape.memory, "a unit takes something"
    bounds = [c.free_cpu // shape.cpu, c.free_memory // shape.memory]
    if shape.devices:
        bounds.append(sum(n * (block // shape.devices) for block, n in c.free_blocks.items()))
    return min(bounds)


def capacity_units(shape: Shape, classes: Iterable[NodeClass]) -> float:
    """Units that would fit if nothing ran."""
    return float(sum(c.nodes * max(1, c.max_cpu // shape.cpu) for c in classes if fits(shape, c)))


def chosen(shapes: Sequence[Shape], classes: Sequence[NodeClass]) -> tuple[int, NodeClass | None]:
    """The first variant that some node could ever run, and the first class of nodes that can."""
    for index, shape in enumerate(shapes):
        for c in classes:
            if fits(shape, c):
                return index, c
    return -1, None


def show_shape(shape: Shape) -> str:
    """A shape for people."""
    text = (
        f"{shape.cpu / 1000:g} cpu, {format_bytes(shape.memory)} memory,"
        f" {format_bytes(shape.disk)} disk"
    )
    if shape.devices:
        text += f", {shape.devices} device(s)"
        if shape.device_models:
            text += " " + "/".join(shape.device_models)
        if shape.device_memory:
            text += f" of {format_bytes(shape.device_memory)}"
    if shape.architectures:
        text += ", " + "/".join(shape.architectures)
    return ", ".join((text, *shape.software, *shape.requires))


def show_classes(classes: Sequence[NodeClass]) -> str:
    """What a region has, for people."""
    return "; ".join(
        f"{c.nodes} {c.architecture} node(s) up to {c.max_cpu / 1000:g} cpu,"
        f" {format_bytes(c.max_memory)} memory, {format_bytes(c.max_disk)} disk,"
        f" {c.max_devices} device(s)"
        f"{' ' + c.model if c.model else ''}"
        for c in classes
    )
