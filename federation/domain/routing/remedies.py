"""The change that would make a waiting task run: of the region that is nearest to taking it.

Each filter has a sentence that says what to change in the task file, or whom to ask. A region that
may not take the task is never proposed by leaving the law out: residency is named, not advised
away.
"""

from collections.abc import Mapping, Sequence

from federation.domain.fleet import Member
from federation.domain.routing import fitting
from federation.domain.routing.demand import Demand
from federation.domain.routing.verdicts import describe
from intertie.model.pool import NodeClass, Shape
from intertie.model.task import Check, Verdict
from intertie.model.units import format_bytes

_ORDER = (
    "residency",
    "placement",
    "lending",
    "data",
    "latency",
    "budget",
    "capability",
    "reachable",
    "state",
)
"""The hardest to change first: a remedy names the first that fails."""


def remedy_for(demand: Demand, verdicts: Sequence[Verdict], members: Mapping[str, Member]) -> str:
    """The smallest change, for people."""
    if not verdicts:
        return "No region has joined the federation."
    best = min(verdicts, key=lambda v: (_hardness(v), v.region))
    classes = _classes(members.get(best.region))
    if best.feasible:
        return _when_full(demand, best, classes)
    failed = {check.name: check for check in best.checks if not check.holds}
    told = [_sentence(failed[name], best.region, demand) for name in _ORDER if name in failed]
    if set(failed) == {"capability"}:
        told = [_smaller(demand, classes) or _sentence(failed["capability"], best.region, demand)]
    return f"{best.region} is nearest. {describe(best)}. {' '.join(filter(None, told))}".strip()


def _hardness(v: Verdict) -> tuple[int, int]:
    failed = [check.name for check in v.checks if not check.holds]
    forbidden = sum(name in ("residency", "placement") for name in failed)
    return forbidden, len(failed)


def _classes(member: Member | None) -> tuple[NodeClass, ...]:
    return member.summary.classes if member is not None and member.summary is not None else ()


def _when_full(demand: Demand, v: Verdict, classes: Sequence[NodeClass]) -> str:
    shape = demand.shapes[max(v.variant, 0)]
    if not shape.devices or v.units_now:
        return f"{v.region} may and can run it and is full: it starts when something ends there."
    free = _largest_block(shape, classes)
    need = f"It needs {shape.devices} free {_device(shape)} on one node"
    if not free:
        return f"{need}; {v.region} has none free: it starts when something ends there."
    return f"{need}; {v.region} has {free}: ask for `count: {free}`, or wait."


def _largest_block(shape: Shape, classes: Sequence[NodeClass]) -> int:
    blocks = [
        block
        for c in classes
        if fitting.fits(shape, c)
        for block, nodes in c.free_blocks.items()
        if nodes > 0
    ]
    return max(blocks, default=0)


def _device(shape: Shape) -> str:
    model = "/".join(shape.device_models) or "/".join(shape.device_vendors) or "device(s)"
    return f"{model} of {format_bytes(shape.device_memory)}" if shape.device_memory else model


def _smaller(demand: Demand, classes: Sequence[NodeClass]) -> str:
    """What the nearest class of nodes would take instead."""
    shape = demand.shapes[0]
    kind = [c for c in classes if fitting.suits(shape, c)]
    if not kind:
        return ""
    c = max(kind, key=lambda c: (c.max_devices, c.device_memory, c.max_memory, c.max_cpu))
    asks = [
        (shape.cpu, c.max_cpu, f"`cpu: {c.max_cpu / 1000:g}`"),
        (shape.memory, c.max_memory, f"`memory: {format_bytes(c.max_memory)}`"),
        (shape.disk, c.max_disk, f"`disk: {format_bytes(c.max_disk)}`"),
        (shape.devices, c.max_devices, f"`count: {c.max_devices}`"),
        (
            shape.device_memory if shape.devices else 0,
            c.device_memory,
            f"devices of `memory: {format_bytes(c.device_memory)}`",
        ),
    ]
    over = [text for need, most, text in asks if need > most]
    return f"Ask for {', '.join(over)}, which the largest node there has."


def _sentence(check: Check, region: str, demand: Demand) -> str:
    """What to change, or whom to ask, about one filter that fails."""
    assert not check.holds, "nothing is to be changed about what holds"
    match check.name:
        case "residency":
            return f"Residency keeps the task out of {check.have}: a region within it must join."
        case "placement" if region in demand.excluded:
            return f"It was refused or failed at {region}, which is final for this task."
        case "placement":
            return f"Let placement allow {region}."
        case "lending":
            return f"The owner of {region} {check.have}: ask it, or wait."
        case "data":
            return f"Give the data a `uri`, or copy it to {region}."
        case "latency" if check.have == "unmeasured":
            return f"Nobody has measured {region} from there: let its beacon be probed."
        case "latency" if check.have.endswith("(estimated)"):
            return "Set `latency.allow_estimated`, or let the pair be measured."
        case "latency":
            return f"Set `latency.max_rtt` to at least {check.have}."
        case "budget":
            return f"{region} quotes {check.have}: raise the budget to that."
        case "reachable":
            return f"It can be tried when {region} is heard of again."
        case "state":
            return f"An administrator of the federation decides about {region}."
    return "No node there is of that kind: name another in a variant."
