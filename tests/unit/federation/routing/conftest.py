"""A deliberately dumb router: loops and comparisons, no classes, columns or caches.

It is written from routing.md and tasks.md, and shares no code with the router but the values.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from intertie.billing.prices import PriceList
from intertie.model.pool import NodeClass, Summary
from intertie.model.spec import TaskSpec

MAX_AGE_MS = 30_000


@dataclass
class Region:
    """What the dumb router is told of one region."""

    id: str
    place: str
    active: bool
    linked: bool
    age_ms: float
    inflight: int
    summary: Summary | None


@dataclass
class World:
    """Everything that a verdict may rest on."""

    regions: list[Region]
    rtts: Mapping[tuple[str, str], tuple[float, bool]] = field(default_factory=dict)
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    prices: PriceList | None = None


def _holds_software(condition: str, software: Mapping[str, str]) -> bool:
    name, _, need = condition.partition(">=")
    if name not in software:
        return False
    if not need:
        return True
    left = [int(part) for part in software[name].split(".")]
    right = [int(part) for part in need.split(".")]
    width = max(len(left), len(right))
    return left + [0] * (width - len(left)) >= right + [0] * (width - len(right))


def _node_fits(spec: TaskSpec, variant: int, c: NodeClass) -> bool:
    resources, when = spec.resources, None
    if variant >= 0:
        chosen = spec.run.variants[variant]
        resources, when = chosen.resources or spec.resources, chosen.when
    devices = resources.accelerators
    if resources.cpu > c.max_cpu or resources.memory > c.max_memory:
        return False
    if resources.disk > c.max_disk or devices.count > c.max_devices:
        return False
    if devices.count:
        if devices.memory > c.device_memory:
            return False
        if devices.model and c.model not in devices.model:
            return False
        if when is not None and when.vendor and c.vendor not in when.vendor:
            return False
    if when is not None:
        return all(_holds_software(condition, c.software) for condition in when.software)
    return True


def _variants(spec: TaskSpec) -> list[int]:
    return list(range(len(spec.run.variants))) or [-1]


def _node_of(spec: TaskSpec, region: Region) -> tuple[int, NodeClass] | None:
    for variant in _variants(spec):
        for c in region.summary.classes if region.summary else ():
            if _node_fits(spec, variant, c):
                return variant, c
    return None


def _room(spec: TaskSpec, region: Region, variant: int) -> tuple[float, float]:
    resources = spec.resources
    if variant >= 0:
        resources = spec.run.variants[variant].resources or resources
    free = capacity = 0
    assert region.summary is not None
    for c in region.summary.classes:
        if not _node_fits(spec, variant, c):
            continue
        units = min(c.free_cpu // resources.cpu, c.free_memory // resources.memory)
        count = resources.accelerators.count
        if count:
            blocks = 0
            for size, nodes in c.free_blocks.items():
                blocks += nodes * (size // count)
            units = min(units, blocks)
        free += units
        capacity += c.nodes * max(1, c.max_cpu // resources.cpu)
    return float(free), float(capacity)


def _inside(path: str, area: str) -> bool:
    return path == area or path.startswith(area + "/")


def failing(world: World, spec: TaskSpec, region: Region, excluded: tuple[str, ...]) -> set[str]:
    """The names of the filters that a region fails."""
    found = set()
    if not region.active:
        found.add("state")
    summary = region.summary
    if not region.linked or summary is None or not summary.accepting or region.age_ms > MAX_AGE_MS:
        found.add("reachable")
    placement = spec.placement
    named = not placement.only or region.id in placement.only
    if not named or region.id in placement.never or region.id in excluded:
        found.add("placement")
    within, not_within = spec.residency.within, spec.residency.not_within
    if within and not any(_inside(region.place, area) for area in within):
        found.add("residency")
    if any(_inside(region.place, area) for area in not_within):
        found.add("residency")
    if any(not item.uri and region.id not in item.at for item in spec.data):
        found.add("data")
    node = _node_of(spec, region)
    if node is None:
        found.add("capability")
    if spec.latency is not None:
        p95, estimated = world.rtts.get((spec.latency.origin, region.id), (1e9, False))
        if p95 > spec.latency.max_rtt or (estimated and not spec.latency.allow_estimated):
            found.add("latency")
    if spec.budget is not None and not _affordable(world, spec, node[0] if node else -1):
        found.add("budget")
    return found


def _tenths(ms: int) -> int:
    """The nearest step of a tenth, in which durations are counted."""
    return round(1.1 ** round(math.log(ms) / math.log(1.1)))


def _affordable(world: World, spec: TaskSpec, variant: int) -> bool:
    budget, prices = spec.budget, world.prices
    assert budget is not None
    if prices is None or not prices.rates:
        return False
    resources = spec.resources
    if variant >= 0:
        resources = spec.run.variants[variant].resources or resources
    elif spec.run.variants:
        resources = spec.run.variants[0].resources or resources
    assert spec.estimate is not None
    hours = _tenths(spec.estimate.duration) / 3.6e6
    hourly = float(prices.price("cpu.held_core_ms")) * resources.cpu / 1000
    hourly += float(prices.price("accelerator.held_device_ms")) * resources.accelerators.count
    for bound, cost in ((budget.per_hour, hourly), (budget.total, hourly * hours)):
        if bound is not None and bound.currency != prices.currency:
            return False
        if bound is not None and cost > float(bound.to_decimal()) + 1e-6:
            return False
    return True


def weight(world: World, spec: TaskSpec, region: Region) -> float:
    """The weight of a region that nothing is known of from history."""
    node = _node_of(spec, region)
    assert node is not None
    assert region.summary is not None
    free, capacity = _room(spec, region, node[0])
    value = max(free - region.inflight, 0.05 * capacity) * 0.1 * region.summary.health
    if spec.latency is not None:
        p95, _ = world.rtts[spec.latency.origin, region.id]
        bound = spec.latency.max_rtt
        value *= min(1.0, max(0.05, (bound - p95) / bound))
    moved = sum(item.size for item in spec.data if region.id not in item.at)
    work_s = _tenths(spec.estimate.duration) / 1e3 if spec.estimate else 600.0
    return value / (1 + moved / (world.bandwidths.get(region.id, 125e6) * work_s))


@pytest.fixture
def dumb() -> Any:
    """The dumb router: `failing` and `weight`; its values `World` and `Region`."""

    class Dumb:
        World = World
        Region = Region
        failing: Callable[..., set[str]] = staticmethod(failing)
        weight: Callable[..., float] = staticmethod(weight)

    return Dumb
