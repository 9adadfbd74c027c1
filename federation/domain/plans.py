"""Plan: what would happen to a spec, asked of the same code that routes, with offers that hold
nothing.

A plan may suppose that things were otherwise. A region that the supposition touches is judged by
its summary alone: its own offer would be about the real world.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from federation.domain.events import AskPlan, Send
from federation.domain.fleet import MS
from federation.domain.routing.demand import Demand
from federation.domain.routing.expected.rank import ranked
from federation.domain.routing.remedies import remedy_for
from federation.domain.routing.supposing import WhatIf
from federation.domain.routing.verdicts import verdict
from intertie.drive.effects import Fail, Reply
from intertie.errors import invalid
from intertie.model.decision import Lot
from intertie.model.link import Offer, OfferRequest
from intertie.model.states import WaitReason
from intertie.model.task import Check, Plan, Verdict

if TYPE_CHECKING:
    from federation.domain.core import FederationCore


@dataclass(slots=True)
class _Asked:
    """A plan that waits for offers."""

    ticket: int
    demand: Demand
    what_if: WhatIf
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

    def ask(self, event: AskPlan) -> None:
        """Give a verdict per region; ask those that could run it what they would offer now."""
        core, what_if = self._core, event.what_if
        unknown = what_if.unknown(core.fleet.members)
        if unknown:
            fault = invalid("what_if", f"there is no region {', '.join(unknown)}")
            core.emit(Fail(event.ticket, fault))
            return
        demand = core.router.classes.of(event.spec, (), event.project)
        facts = core.router.facts(core.now, what_if)
        members = sorted(what_if.members(core.fleet.members).items())
        verdicts = [verdict(demand, member, facts) for _, member in members]
        asked = _Asked(
            event.ticket,
            demand,
            what_if,
            verdicts,
            {v.region for v in verdicts if v.feasible and not what_if.is_about(v.region)},
            core.now.boot_ns + core.timing.offer_wait_ms * MS,
        )
        if not asked.regions:
            self._answer(asked)
            return
        id_ = core.offers.next_id("p")
        self._asked[id_] = asked
        for region in sorted(asked.regions):
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
        verdicts = tuple(self._with_offer(asked, v) for v in asked.verdicts)
        chosen = self._chosen(asked, verdicts)
        members = asked.what_if.members(self._core.fleet.members)
        remedy = "" if chosen else remedy_for(asked.demand, verdicts, members)
        self._core.emit(Reply(asked.ticket, Plan(verdicts=verdicts, chosen=chosen, remedy=remedy)))

    def _chosen(self, asked: _Asked, verdicts: tuple[Verdict, ...]) -> str:
        """Who would get it: by the same order as offers are taken in."""
        core, demand = self._core, asked.demand
        lots: list[Lot] = []
        for v in verdicts:
            if not v.feasible or not v.units_now:
                continue
            offer = asked.offers.get(v.region) or _supposed(v)
            lots += core.router.lots(demand, core.fleet.members[v.region], offer, core.now)
        preferred = [lot for lot in lots if lot.region in demand.prefer]
        order = ranked(preferred or lots, demand.objective, demand.work.ms)
        return order[0].region if order else ""

    def _with_offer(self, asked: _Asked, v: Verdict) -> Verdict:
        if not v.feasible or asked.what_if.is_about(v.region):
            return v
        offer = asked.offers.get(v.region)
        if offer is None:
            assumed = (*v.assumed, "no answer in time: start time unknown")
            return replace(v, units_now=0, assumed=assumed)
        if offer.refusal:
            return replace(
                v,
                feasible=False,
                units_now=0,
                reason=WaitReason.NO_CAPACITY,
                checks=(*v.checks, Check("offer", "an offer", offer.refusal, False)),
            )
        return replace(
            v,
            units_now=offer.units_now,
            expected_wait_ms=offer.expected_wait_ms,
            variant=offer.variant,
        )


def _supposed(v: Verdict) -> Offer:
    """What a region would offer that was not asked."""
    return Offer(
        id="",
        units=1,
        units_now=1,
        expected_wait_ms=0,
        hold_ms=0,
        incarnation="",
        variant=v.variant,
    )


def _question(id_: str, demand: Demand) -> OfferRequest:
    return OfferRequest(
        id=id_,
        shapes=demand.shapes,
        count=1,
        hold_ms=0,
        within=demand.within,
        not_within=demand.not_within,
    )
