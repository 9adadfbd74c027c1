"""The filters: a table of named checks, each with what the task needs and what the region has.

Every region is checked by every filter, also after one has failed: `explain` shows them all. The
same filters over whole columns are in `candidates`; a property test holds the two together. A new
filter is a row here and a column there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from federation.domain.fleet import MS, Member
from federation.domain.routing.demand import Demand, unreachable
from federation.domain.routing.expected.duration import expected
from federation.domain.routing.expected.quote import quote
from federation.domain.routing.facts import Facts
from federation.domain.routing.fitting import show_classes, show_shape
from federation.domain.routing.known.latency import Estimated
from federation.domain.routing.known.lent import refusal
from intertie.model.money import Money
from intertie.model.pool import NodeClass
from intertie.model.states import RegionState, WaitReason
from intertie.model.task import Check
from intertie.residency import day_of, decide


@dataclass(frozen=True, slots=True)
class Subject:
    """What is judged: a region for a demand. `variant` -1 and no `node` if nothing there fits."""

    demand: Demand
    member: Member
    facts: Facts
    variant: int
    node: NodeClass | None

    @property
    def region(self) -> str:
        """Id of the region."""
        return self.member.hello.region


@dataclass(frozen=True, slots=True)
class Filter:
    """One row: its name, what it says, and why a task waits that nothing else keeps."""

    name: str
    judge: Callable[[Subject], tuple[str, str, bool]]
    reason: WaitReason

    def check(self, subject: Subject) -> Check:
        """The verdict of this filter."""
        assert (subject.node is None) == (subject.variant < 0), "a variant and its node go together"
        need, have, holds = self.judge(subject)
        return Check(self.name, need, have, holds)


def _state(s: Subject) -> tuple[str, str, bool]:
    if s.region in s.facts.down:
        return "an active region", "supposed to be down", False
    state = s.member.state
    return "an active region", state.lower(), state is RegionState.ACTIVE


def _reachable(s: Subject) -> tuple[str, str, bool]:
    member, facts = s.member, s.facts
    need = f"a summary younger than {facts.timing.summary_max_age_ms / 1000:g} s"
    if not member.link or member.summary is None:
        return need, "out of touch" if not member.link else "no summary yet", False
    age_ms = (facts.now.boot_ns - member.summary_ns) / MS
    if not member.summary.accepting:
        return need, "not accepting", False
    return need, f"{age_ms / 1000:.1f} s", age_ms <= facts.timing.summary_max_age_ms


def _placement(s: Subject) -> tuple[str, str, bool]:
    demand, need = s.demand, []
    if demand.only:
        need.append("one of " + ", ".join(demand.only))
    if demand.barred:
        need.append("none of " + ", ".join((*demand.never, *demand.excluded)))
    holds = (not demand.only or s.region in demand.only) and s.region not in demand.barred
    have = f"{s.region} (excluded)" if s.region in demand.excluded else s.region
    return " and ".join(need) or "any", have, holds


def _residency(s: Subject) -> tuple[str, str, bool]:
    within, not_within, need = s.demand.within, s.demand.not_within, []
    if within:
        need.append("within " + ", ".join(within))
    if not_within:
        need.append("not within " + ", ".join(not_within))
    if s.demand.want.sources:
        need.append("a transfer rule for " + ", ".join(i.name for i in s.demand.want.sources))
    path = s.member.hello.jurisdiction
    ruling = decide(s.facts.policy, s.demand.want, path, day_of(s.facts.now.utc_ms))
    have = path if ruling.allowed else f"{path} ({ruling.rule}: {ruling.reason})"
    return " and ".join(need) or "any", have, ruling.allowed


def _lending(s: Subject) -> tuple[str, str, bool]:
    terms = s.member.summary.lending if s.member.summary is not None else None
    need = f"a lender to {s.demand.kind}" + (f" of {s.demand.project}" if s.demand.project else "")
    if terms is None:
        return need, "lends to all", True
    refused = refusal(s.demand, terms)
    return need, refused or "lends to it", not refused


def _data(s: Subject) -> tuple[str, str, bool]:
    if not s.demand.inputs:
        return "no inputs", "-", True
    missing = unreachable(s.demand.inputs, s.region)
    have = "no copy of " + ", ".join(missing) if missing else "all of them, or where they are"
    return ", ".join(item.name for item in s.demand.inputs), have, not missing


def _capability(s: Subject) -> tuple[str, str, bool]:
    shapes = s.demand.shapes
    if s.node is not None:
        return show_shape(shapes[s.variant]), "a node that fits", True
    summary = s.member.summary
    have = show_classes(summary.classes) if summary is not None else ""
    return show_shape(shapes[0]), have or "no nodes", False


def _latency(s: Subject) -> tuple[str, str, bool]:
    bound = s.demand.latency
    if bound is None:
        return "any", "-", True
    need = f"p95 <= {bound.max_rtt} ms from {bound.origin}"
    known = s.facts.latencies.p95(bound.origin, s.region)
    if known is None:
        return need, "unmeasured", False
    is_estimated = isinstance(known, Estimated)
    have = f"{known.p95_ms:.1f} ms" + (" (estimated)" if is_estimated else "")
    holds = known.p95_ms <= bound.max_rtt and (bound.allow_estimated or not is_estimated)
    return need, have, holds


def _budget(s: Subject) -> tuple[str, str, bool]:
    total, per_hour = s.demand.total, s.demand.per_hour
    if total is None and per_hour is None:
        return "any", "-", True
    bounds = [f"{m} {of}" for m, of in ((total, "in all"), (per_hour, "an hour")) if m is not None]
    need = "at most " + " and ".join(bounds)
    shape = s.demand.shapes[max(s.variant, 0)]
    run_ms = expected(s.demand, s.region, s.node, s.facts).run_ms
    found = quote(shape, s.facts.prices.of(s.region), run_ms)
    if found.total is None or found.per_hour is None:
        return need, "no price list", False
    have = f"{found.total} in all, {found.per_hour} an hour"
    return need, have, _covers(total, found.total) and _covers(per_hour, found.per_hour)


def _covers(bound: Money | None, price: Money) -> bool:
    """A price in another currency is no price: nobody here knows what it is worth."""
    if bound is None:
        return True
    return bound.currency == price.currency and price.total_nanos <= bound.total_nanos


FILTERS: tuple[Filter, ...] = (
    Filter("state", _state, WaitReason.NO_MATCHING_REGION),
    Filter("reachable", _reachable, WaitReason.STALE),
    Filter("placement", _placement, WaitReason.NO_MATCHING_REGION),
    Filter("residency", _residency, WaitReason.RESIDENCY),
    Filter("lending", _lending, WaitReason.NO_MATCHING_REGION),
    Filter("data", _data, WaitReason.NO_MATCHING_REGION),
    Filter("capability", _capability, WaitReason.NO_MATCHING_REGION),
    Filter("latency", _latency, WaitReason.LATENCY),
    Filter("budget", _budget, WaitReason.BUDGET),
)
"""In the order in which they are shown."""

BY_NAME = {row.name: row for row in FILTERS}


def reason_of(failed: set[str]) -> WaitReason:
    """Why a region cannot take a task that fails these filters."""
    assert failed, "a reason for nothing"
    if "residency" in failed:
        return WaitReason.RESIDENCY
    if len(failed) == 1:
        return BY_NAME[failed.pop()].reason
    return WaitReason.NO_MATCHING_REGION
