"""What a task takes from one node, per variant: the shape that offers and placement count in."""

from collections.abc import Sequence

from intertie.model.pool import Shape
from intertie.model.spec import TaskSpec, When

BASE = -1
"""Index of the spec itself where a variant is meant."""


def shape(spec: TaskSpec, variant: int = BASE) -> Shape:
    """The shape of a variant, or of the spec itself."""
    resources, when = spec.resources, When()
    if variant != BASE:
        chosen = spec.run.variants[variant]
        resources, when = chosen.resources or resources, chosen.when
    accelerators = resources.accelerators
    return Shape(
        cpu=resources.cpu,
        memory=resources.memory,
        disk=resources.disk,
        devices=accelerators.count,
        device_memory=accelerators.memory,
        device_models=accelerators.model,
        device_vendors=_both(accelerators.vendor, when.vendor),
        architectures=_both(resources.architecture, when.architecture),
        software=when.software,
        requires=spec.requires,
    )


def shapes(spec: TaskSpec) -> tuple[Shape, ...]:
    """All that the task may run as, best first.

    With variants, the shape at index i is that of `run.variants[i]`, and one of them must apply: a
    variant with an empty `when` is how a spec says that it also runs elsewhere. Without variants
    there is one shape, and its variant is `BASE`.
    """
    if not spec.run.variants:
        return (shape(spec),)
    return tuple(shape(spec, i) for i in range(len(spec.run.variants)))


def _both(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """What two any-of lists allow together; an empty one allows everything."""
    if not one or not other:
        return tuple(one or other)
    return tuple(name for name in one if name in other)
