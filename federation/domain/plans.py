"""Plan: what would happen to a spec, asked of the same code that routes, with offers that hold
nothing.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from federation.domain import router
from federation.domain.events import Send
from federation.domain.fleet import MS
from federation.domain.router import Demand
from intertie.drive.effects import Reply
from intertie.model.link import Offer, OfferRequest
from intertie.model.spec import TaskSpec
from intertie.model.states import WaitReason
from intertie.model.task import Check, Plan, Verdict

if TYPE_CHECKING:
    from federation.domain.core import FederationCore


@dataclass(slots=True)
class _Asked:
    """A plan that waits for offers."""

    ticket: int
    verdicts: list[Verdict]
    regions: set[str]
    until_ns: int
    offers: dict[str, Offer] = field(default_factory=dict)


class Plans:
    """The plans that wait for offers."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self._asked: dict[str, _Asked] = {}

    @property
    def deadline(self) -> int | None:
        """When the next plan is answered with what has come, as boot_ns."""
        return min((asked.until_ns for asked in self._asked.values()), default=None)

    def ask(self, ticket: int, spec: TaskSpec) -> None:
        """Give a verdict per region; ask those that could run it what they would offer now."""
        core = self._core
        demand = router.demand_of(spec, ())
        verdicts = core.offers.verdicts(demand)
        feasible = {v.region for v in verdicts if v.feasible}
        asked = _Asked(
            ticket, verdicts, feasible, core.now.boot_ns + core.timing.offer_wait_ms * MS
        )
        if not feasible:
            self._answer(asked)
            return
        id_ = core.offers.next_id("p")
        self._asked[id_] = asked
        for region in sorted(feasible):
            core.emit(Send(region=region, message=_question(id_, demand)))

    def answered(self, region: str, offer: Offer) -> bool:
        """A region's offer, if it is for a plan."""
        asked = self._asked.get(offer.id)
        if asked is None or region not in asked.regions:
            return False
        asked.offers[region] = offer
        if asked.regions <= asked.offers.keys():
            del self._asked[offer.id]
            self._answer(asked)
        return True

    def tick(self) -> None:
        """Answer the plans that have waited long enough."""
        for id_, asked in list(self._asked.items()):
            if asked.until_ns <= self._core.now.boot_ns:
                del self._asked[id_]
                self._answer(asked)

    def _answer(self, asked: _Asked) -> None:
        assert asked.offers.keys() <= asked.regions, "an offer that nobody asked for"
        verdicts = tuple(_with_offer(v, asked.offers.get(v.region)) for v in asked.verdicts)
        able = [v for v in verdicts if v.feasible and v.units_now]
        chosen = max(able, key=lambda v: (v.weights[-1].value, v.region)).region if able else ""
        remedy = "" if chosen else remedy_for(verdicts)
        self._core.emit(Reply(asked.ticket, Plan(verdicts=verdicts, chosen=chosen, remedy=remedy)))


def remedy_for(verdicts: tuple[Verdict, ...]) -> str:
    """The smallest change that would make it run: of the region that fails the fewest checks."""
    if not verdicts:
        return "No region has joined the federation."
    best = min(verdicts, key=lambda v: (sum(not c.holds for c in v.checks), v.region))
    if best.feasible:
        return f"{best.region} may and can run it and is full: it starts when something ends there."
    return f"{best.region} is nearest. {router.describe(best)}."


def _question(id_: str, demand: Demand) -> OfferRequest:
    return OfferRequest(
        id=id_,
        shapes=demand.shapes,
        count=1,
        hold_ms=0,
        within=demand.within,
        not_within=demand.not_within,
    )


def _with_offer(v: Verdict, offer: Offer | None) -> Verdict:
    if not v.feasible:
        return v
    if offer is None:
        return replace(v, units_now=0, assumed=("no answer in time: start time unknown",))
    if offer.refusal:
        return replace(
            v,
            feasible=False,
            units_now=0,
            reason=WaitReason.NO_CAPACITY,
            checks=(*v.checks, Check("offer", "an offer", offer.refusal, False)),
        )
    return replace(
        v, units_now=offer.units_now, expected_wait_ms=offer.expected_wait_ms, variant=offer.variant
    )
