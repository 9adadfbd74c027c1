"""The whole verdict of one region for one demand: every filter, every factor, what is expected.

What plan and explain print, and what the columns of `candidates` must agree with.
"""

from collections.abc import Sequence

from federation.domain.fleet import Member
from federation.domain.routing import fitting, weights
from federation.domain.routing.demand import Demand, bytes_to_move
from federation.domain.routing.expected.duration import Expected, bandwidth_of, expected
from federation.domain.routing.expected.quote import Quote, quote
from federation.domain.routing.facts import Facts
from federation.domain.routing.filters import FILTERS, Subject, reason_of
from federation.domain.routing.known.lent import left_units
from intertie.model.states import WaitReason
from intertie.model.task import Verdict, Weight


def verdict(demand: Demand, member: Member, facts: Facts) -> Verdict:
    """All filters and factors of one region for one demand."""
    summary = member.summary
    classes = summary.classes if summary is not None else ()
    variant, node = fitting.chosen(demand.shapes, classes)
    subject = Subject(demand, member, facts, variant, node)
    checks = tuple(row.check(subject) for row in FILTERS)
    failed = {check.name for check in checks if not check.holds}
    factors = _factors(subject)
    ahead = expected(demand, subject.region, node, facts)
    price = _quote(subject, ahead)
    known = None
    if demand.latency is not None:
        known = facts.latencies.p95(demand.latency.origin, subject.region)
    return Verdict(
        region=subject.region,
        feasible=not failed,
        checks=checks,
        weights=factors,
        units_now=int(factors[0].value),
        variant=variant,
        reason=reason_of(failed) if failed else None,
        rtt_p95_ms=known.p95_ms if known is not None else None,
        assumed=(*ahead.assumed, *(f"{f.name} {f.value:.3g}" for f in factors if f.assumed)),
        per_hour=price.per_hour,
        cost=price.total,
        success_ms=round(ahead.total_ms(0.0)),
    )


def _quote(subject: Subject, ahead: Expected) -> Quote:
    shape = subject.demand.shapes[max(subject.variant, 0)]
    return quote(shape, subject.facts.prices.of(subject.region), ahead.run_ms)


def _factors(s: Subject) -> tuple[Weight, ...]:
    demand, facts, summary = s.demand, s.facts, s.member.summary
    free = capacity = 0.0
    if s.node is not None and summary is not None:
        shape = demand.shapes[s.variant]
        free = fitting.free_units(shape, summary.classes)
        if summary.lending is not None:
            free = min(free, left_units(shape, summary.lending))
        capacity = fitting.capacity_units(shape, summary.classes)
    assert capacity >= 0 <= free, "room is counted from nothing up"
    success, success_assumed = facts.history.success(s.region, demand.kind, facts.now.utc_ms)
    near, near_assumed = _near(s)
    bandwidth, pull_assumed = bandwidth_of(s.region, facts)
    moved = bytes_to_move(demand.inputs, s.region)
    pull = float(weights.gravity(float(moved), bandwidth, float(demand.work.ms)))
    health = summary.health if summary is not None else 0.0
    room = float(weights.room(free, float(s.member.inflight), capacity))
    return (
        Weight("free_units", free),
        Weight("in_flight", float(s.member.inflight)),
        Weight("capacity", capacity),
        Weight("success", success, success_assumed),
        Weight("health", health),
        Weight("nearness", near, near_assumed),
        Weight("gravity", pull, pull_assumed and moved > 0),
        Weight("weight", room * float(weights.factor(success, health, near, pull))),
    )


def _near(s: Subject) -> tuple[float, bool]:
    bound = s.demand.latency
    if bound is None:
        return 1.0, False
    known = s.facts.latencies.p95(bound.origin, s.region)
    if known is None:
        return weights.L_LEAST, True
    return float(weights.nearness(known.p95_ms, float(bound.max_rtt))), False


def why_waiting(verdicts: Sequence[Verdict]) -> tuple[WaitReason, str]:
    """Why nothing can take a task: the reason that is nearest to being solved, and its facts."""
    if not verdicts:
        return WaitReason.NO_MATCHING_REGION, "no region has joined"
    if any(v.feasible for v in verdicts):
        return WaitReason.NO_CAPACITY, "every region that may and can run it is full"
    for reason in _NEAREST_FIRST:
        for v in verdicts:
            if v.reason is reason:
                return reason, f"{v.region}: {describe(v)}"
    told = "; ".join(f"{v.region}: {describe(v)}" for v in verdicts[:_TOLD])
    more = len(verdicts) - _TOLD
    return WaitReason.NO_MATCHING_REGION, told + (f"; and {more} more" if more > 0 else "")


_NEAREST_FIRST = (
    WaitReason.STALE,
    WaitReason.NO_CAPACITY,
    WaitReason.LATENCY,
    WaitReason.BUDGET,
    WaitReason.RESIDENCY,
)
_TOLD = 8


def describe(v: Verdict) -> str:
    """The checks that fail, for people."""
    return ", ".join(f"{c.name}: needs {c.need}, has {c.have}" for c in v.checks if not c.holds)
