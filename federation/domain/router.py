"""Filter, weigh, draw: which regions to ask for an offer (routing.md).

Pure and explainable: a candidate keeps every check (need, have, holds) and every factor, so `plan`,
`explain` and routing are the same code. Identical tasks share one `Demand` and so one candidate
set.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from federation.domain.fleet import MS, Member, Timing
from intertie.capability import software
from intertie.model.pool import NodeClass, Shape
from intertie.model.requires import all_hold
from intertie.model.spec import Resources, RunSpec, TaskSpec, Variant
from intertie.model.states import RegionState, WaitReason
from intertie.model.task import Check, Verdict, Weight
from intertie.model.units import format_bytes
from intertie.model.validate import shapes
from intertie.ports import Now
from intertie.residency.paths import allowed

EPS = 0.05
"""Share of the capacity that a full region still weighs, so that it is asked at all."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What identical tasks ask of a region: the key of their equivalence class.

    `shapes` are the variants in order of preference; `excluded` are region ids.
    """

    shapes: tuple[Shape, ...]
    within: tuple[str, ...] = ()
    not_within: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


@lru_cache(maxsize=10_000)
def _shapes(
    resources: Resources, variants: tuple[Variant, ...], requires: tuple[str, ...]
) -> tuple[Shape, ...]:
    """The shapes of all specs with these; most tasks are like others."""
    return shapes(TaskSpec(resources=resources, run=RunSpec(variants=variants), requires=requires))


def demand_of(spec: TaskSpec, excluded: tuple[str, ...]) -> Demand:
    """The class of a spec."""
    return Demand(
        shapes=_shapes(spec.resources, spec.run.variants, spec.requires),
        within=spec.residency.within,
        not_within=spec.residency.not_within,
        only=spec.placement.only,
        never=spec.placement.never,
        excluded=excluded,
    )


def verdict(demand: Demand, member: Member, now: Now, timing: Timing) -> Verdict:
    """All filters and factors of one region for one demand."""
    region = member.hello.region
    checks = [
        _decided(member.state),
        _reachable(member, now, timing),
        _named(demand, region),
        _residency(demand, member),
    ]
    variant, capability = _capability(demand.shapes, member)
    checks.append(capability)
    free = _free(demand.shapes[variant], member) if variant >= 0 else 0.0
    capacity = _capacity(demand.shapes[variant], member) if variant >= 0 else 0.0
    feasible = all(check.holds for check in checks)
    assert capacity >= 0 <= free, "room is counted from nothing up"
    weight = max(free - member.inflight, EPS * capacity)
    return Verdict(
        region=region,
        feasible=feasible,
        checks=tuple(checks),
        weights=(
            Weight("free_units", free),
            Weight("in_flight", float(member.inflight)),
            Weight("health", member.summary.health if member.summary else 0.0),
            Weight("weight", weight * (member.summary.health if member.summary else 0.0)),
        ),
        units_now=int(free),
        variant=variant,
        reason=None if feasible else _reason(checks),
    )


def draw(verdicts: Iterable[Verdict], rng: random.Random, count: int = 2) -> Sequence[str]:
    """Draw regions without replacement, in proportion to their weight."""
    pool = [(v.region, v.weights[-1].value) for v in verdicts if v.feasible]
    drawn: list[str] = []
    while pool and len(drawn) < count:
        assert all(weight >= 0 for _, weight in pool), "a weight below nothing"
        total = sum(weight for _, weight in pool)
        at = rng.random() * total
        for index, (region, weight) in enumerate(pool):
            at -= weight
            if at <= 0 or index == len(pool) - 1:
                drawn.append(region)
                del pool[index]
                break
    return drawn


def why_waiting(verdicts: Sequence[Verdict]) -> tuple[WaitReason, str]:
    """Why nothing can take a task: the reason that is nearest to being solved, and its facts."""
    if not verdicts:
        return WaitReason.NO_MATCHING_REGION, "no region has joined"
    if any(v.feasible for v in verdicts):
        return WaitReason.NO_CAPACITY, "every region that may and can run it is full"
    order = [WaitReason.STALE, WaitReason.NO_CAPACITY, WaitReason.RESIDENCY]
    for reason in order:
        for v in verdicts:
            if v.reason is reason:
                return reason, f"{v.region}: {describe(v)}"
    return WaitReason.NO_MATCHING_REGION, "; ".join(f"{v.region}: {describe(v)}" for v in verdicts)


def describe(v: Verdict) -> str:
    """The checks that fail, for people."""
    return ", ".join(f"{c.name}: needs {c.need}, has {c.have}" for c in v.checks if not c.holds)


def _reason(checks: Sequence[Check]) -> WaitReason:
    failed = {check.name for check in checks if not check.holds}
    if "residency" in failed:
        return WaitReason.RESIDENCY
    if failed == {"reachable"}:
        return WaitReason.STALE
    return WaitReason.NO_MATCHING_REGION


def _decided(state: RegionState) -> Check:
    return Check("state", "an active region", state.lower(), state is RegionState.ACTIVE)


def _reachable(member: Member, now: Now, timing: Timing) -> Check:
    need = f"a summary younger than {timing.summary_max_age_ms / 1000:g} s"
    if not member.link or member.summary is None:
        return Check(
            "reachable", need, "out of touch" if not member.link else "no summary yet", False
        )
    age_ms = (now.boot_ns - member.summary_ns) / MS
    accepting = member.summary.accepting
    holds = age_ms <= timing.summary_max_age_ms and accepting
    return Check(
        "reachable", need, f"{age_ms / 1000:.1f} s" if accepting else "not accepting", holds
    )


def _named(demand: Demand, region: str) -> Check:
    need = []
    if demand.only:
        need.append("one of " + ", ".join(demand.only))
    if demand.never or demand.excluded:
        need.append("none of " + ", ".join((*demand.never, *demand.excluded)))
    holds = (
        (not demand.only or region in demand.only)
        and region not in demand.never
        and region not in demand.excluded
    )
    return Check("placement", " and ".join(need) or "any", region, holds)


def _residency(demand: Demand, member: Member) -> Check:
    path = member.hello.jurisdiction
    answer = allowed(path, demand.within, demand.not_within)
    need = []
    if demand.within:
        need.append("within " + ", ".join(demand.within))
    if demand.not_within:
        need.append("not within " + ", ".join(demand.not_within))
    return Check("residency", " and ".join(need) or "any", path, answer.allowed)


def _capability(shapes: Sequence[Shape], member: Member) -> tuple[int, Check]:
    """The first variant that some node of the region could ever run, with the check."""
    classes = member.summary.classes if member.summary else ()
    for index, shape in enumerate(shapes):
        if any(_fits(shape, c) for c in classes):
            return index, Check("capability", _show(shape), "a node that fits", True)
    have = "; ".join(
        f"{c.nodes} {c.architecture} node(s) up to {c.max_cpu / 1000:g} cpu,"
        f" {format_bytes(c.max_memory)} memory, {format_bytes(c.max_disk)} disk,"
        f" {c.max_devices} device(s)"
        f"{' ' + c.model if c.model else ''}"
        for c in classes
    )
    return -1, Check("capability", _show(shapes[0]), have or "no nodes", False)


def _show(shape: Shape) -> str:
    text = (
        f"{shape.cpu / 1000:g} cpu, {format_bytes(shape.memory)} memory,"
        f" {format_bytes(shape.disk)} disk"
    )
    if shape.devices:
        text += f", {shape.devices} device(s)"
        if shape.device_models:
            text += " " + "/".join(shape.device_models)
    if shape.architectures:
        text += ", " + "/".join(shape.architectures)
    return ", ".join((text, *shape.software, *shape.requires))


def _fits(shape: Shape, c: NodeClass) -> bool:
    return (
        shape.cpu <= c.max_cpu
        and shape.memory <= c.max_memory
        and shape.disk <= c.max_disk
        and shape.devices <= c.max_devices
        and (not shape.devices or shape.device_memory <= c.device_memory)
        and (not shape.device_models or not shape.devices or c.model in shape.device_models)
        and (not shape.device_vendors or not shape.devices or c.vendor in shape.device_vendors)
        and (not shape.architectures or c.architecture in shape.architectures)
        and software.holds(shape.software, c.software)
        and all_hold(shape.requires, c.tags)
    )


def _free(shape: Shape, member: Member) -> float:
    """Units that fit into the free blocks, counted per class."""
    units = 0.0
    for c in member.summary.classes if member.summary else ():
        if not _fits(shape, c):
            continue
        bounds = [c.free_cpu // shape.cpu, c.free_memory // shape.memory]
        if shape.devices:
            bounds.append(sum(n * (block // shape.devices) for block, n in c.free_blocks.items()))
        units += min(bounds)
    return units


def _capacity(shape: Shape, member: Member) -> float:
    return float(
        sum(
            c.nodes * max(1, c.max_cpu // shape.cpu)
            for c in (member.summary.classes if member.summary else ())
            if _fits(shape, c)
        )
    )
