"""Rounds of offers: ask the drawn regions, wait, hand out tasks, let the rest go.

Why offers at all: a summary is old when it arrives, and several replicas send to the same region.
A fresh offer with a short hold keeps tasks from piling up where a summary said there was room.
A link has credit for so many offers at a time; a class that prefers some regions asks these first,
and the others when the preferred ones have given it nothing for `spill_after`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from federation.domain import lifecycle
from federation.domain.events import GrantRead, ReadGrant, Send, SendAssignment
from federation.domain.fleet import MS, Member
from federation.domain.grants import grant_of
from federation.domain.queue import Round, Waiting
from federation.domain.routing.decisions import DECISION
from federation.domain.routing.demand import Demand
from federation.domain.routing.expected.rank import ranked
from federation.domain.routing.verdicts import why_waiting
from intertie.drive.effects import Write
from intertie.errors import IntertieError, Reason, error
from intertie.metering.grant import Grant, grant_sha256
from intertie.model.decision import Decision, Lot
from intertie.model.link import Offer, OfferRelease, OfferRequest
from intertie.model.names import order_of_id, shard_of_id
from intertie.model.states import RegionState, TaskState, WaitReason
from intertie.model.task import Task, Wait
from intertie.model.validate import shapes

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

MAX_UNITS = 256
"""Most units that one round asks for."""
CREDITS = 32
"""Offers that a region may owe a replica at a time: a slow region is not asked ever more."""
LOCAL_RETRIES = 2
"""How often a region may place a run again by itself, see contract.md (retries)."""
_BACKOFF_MS = 200
_BACKOFF_MOST_MS = 10_000
_TOLD = 8
"""Regions that are looked at to say why a class waits."""


class Offers:
    """The rounds of all classes of waiting tasks."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self._rounds: dict[str, Waiting] = {}
        self._owed: Counter[str] = Counter()
        self._next = 0

    # --- questions that change nothing -----------------------------------------------------------

    def has_match(self, demand: Demand) -> bool:
        """Whether any of today's members could ever run it, were it reachable and free."""
        return self._core.router.could_ever(demand, self._core.now)

    def unmatched(self, demand: Demand) -> IntertieError:
        """The error of a client that asked to fail when nothing matches."""
        _, detail = self._why_nothing(demand)
        return error(
            Reason.NO_MATCHING_REGION,
            f"No region could ever run this: {detail}.",
            remedy="Ask for less, or leave fail_if_unmatched out to wait for a region that can.",
        )

    def next_id(self, prefix: str) -> str:
        """An id for an OfferRequest, unique in this life of the core."""
        self._next += 1
        return f"{prefix}{self._next}"

    def _why_nothing(self, demand: Demand) -> tuple[WaitReason, str]:
        return why_waiting(self._core.router.nearest(demand, self._core.now, _TOLD))

    # --- rounds ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Begin and end the rounds that are due."""
        now_ns = self._core.now.boot_ns
        for waiting in self._core.queue.classes():
            if waiting.round is not None and waiting.round.until_ns <= now_ns:
                self._close(waiting, waiting.round)
            if waiting.round is None and waiting.tasks and waiting.due_ns <= now_ns:
                self._begin(waiting)

    def answered(self, member: Member, offer: Offer) -> None:
        """A region answers; offers of ended rounds are let go."""
        waiting = self._rounds.get(offer.id)
        current = waiting.round if waiting is not None else None
        region = member.hello.region
        if waiting is None or current is None or region not in current.regions:
            if offer.units:
                self._send(region, OfferRelease(id=offer.id))
            return
        current.offers[region] = _within(offer, len(waiting.demand.shapes))
        if current.is_complete:
            self._close(waiting, current)

    def forget_region(self, region: str) -> None:
        """A region's link broke: no round waits for it any longer."""
        for waiting in self._core.queue.classes():
            current = waiting.round
            if current is None or region not in current.regions:
                continue
            current.regions = tuple(r for r in current.regions if r != region)
            current.offers.pop(region, None)
            self._owed[region] -= 1
            if current.is_complete:
                self._close(waiting, current)

    def _begin(self, waiting: Waiting) -> None:
        assert waiting.round is None, "one round of a class at a time"
        assert waiting.tasks, "a round for nobody"
        core, demand = self._core, waiting.demand
        preferred = core.router.has_preference(demand) and not self._has_spilled(waiting)
        closed = [region for region, owed in self._owed.items() if owed >= CREDITS]
        drawn = core.router.draw(demand, core.now, preferred=preferred, closed=closed)
        if not drawn.regions:
            self._wait(waiting, *self._why_nothing(demand))
            return
        current = Round(
            id=self.next_id("o"),
            regions=drawn.regions,
            until_ns=core.now.boot_ns + core.timing.offer_wait_ms * MS,
            drawn=drawn,
            preferred=preferred,
        )
        waiting.round = current
        self._rounds[current.id] = waiting
        request = OfferRequest(
            id=current.id,
            shapes=demand.shapes,
            count=min(len(waiting.tasks), MAX_UNITS),
            hold_ms=core.timing.hold_ms,
            within=demand.within,
            not_within=demand.not_within,
            excluded=demand.excluded,
        )
        for region in drawn.regions:
            self._owed[region] += 1
            self._send(region, request)

    def _has_spilled(self, waiting: Waiting) -> bool:
        """Whether the preferred regions have given nothing for as long as the class would wait."""
        if not waiting.hungry_ns:
            return False
        waited_ns = self._core.now.boot_ns - waiting.hungry_ns
        return waited_ns >= waiting.demand.spill_after_ms * MS

    def _close(self, waiting: Waiting, current: Round) -> None:
        assert waiting.round is current, "the round that ends is the present one"
        del self._rounds[current.id]
        for region in current.regions:
            self._owed[region] -= 1
            assert self._owed[region] >= 0, "more offers came than were asked for"
        lots = self._ranked(waiting, current)
        given = self._choose(waiting, current, lots)
        for region, offer in sorted(current.offers.items()):
            taken = given.get(region, 0)
            if taken < offer.units:
                self._send(region, OfferRelease(id=offer.id))
            self._remember(waiting.demand, region, offer, taken)
        if given:
            waiting.tries, waiting.due_ns, waiting.wait = 0, self._core.now.boot_ns, None
            waiting.hungry_ns = waiting.hungry_ns if not current.preferred else 0
        else:
            self._got_nothing(waiting, current)
        self._core.queue.end_round(waiting)

    def _got_nothing(self, waiting: Waiting, current: Round) -> None:
        refusals = "; ".join(f"{r}: {o.refusal}" for r, o in current.offers.items() if o.refusal)
        if current.preferred and not waiting.hungry_ns:
            waiting.hungry_ns = self._core.now.boot_ns
        self._wait(waiting, WaitReason.NO_CAPACITY, refusals or "no region has room now")
        if current.preferred:  # the others are tried as soon as the class would wait no longer
            spills_ns = waiting.hungry_ns + waiting.demand.spill_after_ms * MS
            waiting.due_ns = max(self._core.now.boot_ns, min(waiting.due_ns, spills_ns))

    def _remember(self, demand: Demand, region: str, offer: Offer, taken: int) -> None:
        memory = self._core.router.rejections
        if taken:
            memory.forgive(demand, region)
        elif not offer.units:
            memory.note(demand, region, self._core.now.boot_ns)

    # --- the choice ------------------------------------------------------------------------------

    def _ranked(self, waiting: Waiting, current: Round) -> list[Lot]:
        """The lots of all offers that still stand, the best first."""
        core, demand = self._core, waiting.demand
        lots: list[Lot] = []
        for region, offer in current.offers.items():
            member = core.fleet.members.get(region)
            if member is None or not member.link or member.hello.incarnation != offer.incarnation:
                continue
            if member.state is not RegionState.ACTIVE:
                continue  # decided since it was asked
            lots += core.router.lots(demand, member, offer, core.now)
        if current.preferred and demand.prefer:
            # To wait at a preferred region is not better than to wait for it here.
            lots = [lot for lot in lots if lot.wait_ms <= demand.spill_after_ms]
        return ranked(lots, demand.objective, demand.work.ms)

    def _choose(self, waiting: Waiting, current: Round, lots: Sequence[Lot]) -> dict[str, int]:
        """Hand out tasks lot by lot; how many each region got. The decision is kept."""
        if not lots:
            return {}
        core, units = self._core, len(waiting.tasks)
        first = next(iter(waiting.tasks), "")
        if not first:
            return {}
        decision = f"{first}/{core.tasks[first].epoch.next().n}"
        taken: list[Lot] = []
        given: dict[str, int] = {}
        for lot in lots:
            count = self._hand_out(waiting, lot, current.offers[lot.region], decision)
            taken.append(replace(lot, taken=count))
            if count:
                given[lot.region] = given.get(lot.region, 0) + count
        kept = Decision(
            id=decision,
            at_ms=core.now.utc_ms,
            seed=current.drawn.seed,
            count=waiting.demand.draws,
            objective=waiting.demand.objective,
            work_ms=waiting.demand.work.ms,
            inputs=core.router.inputs(),
            candidates=current.drawn.candidates,
            drawn=current.drawn.regions,
            lots=tuple(taken),
            units=units,
        )
        shard = shard_of_id(first)
        core.emit(Write(shard, DECISION, decision, kept, "", order_of_id(first)))
        return given

    def _hand_out(self, waiting: Waiting, lot: Lot, offer: Offer, decision: str) -> int:
        member = self._core.fleet.members[lot.region]
        ids = [id_ for id_, _ in zip(waiting.tasks, range(lot.units), strict=False)]
        for id_ in ids:
            self._assign(self._core.tasks[id_], member, offer, decision)
        self._core.fleet.update(member, inflight=member.inflight + len(ids))
        return len(ids)

    def _assign(self, task: Task, member: Member, offer: Offer, decision: str) -> None:
        core = self._core
        region = member.hello.region
        assert region not in task.excluded, "an excluded region is never chosen again (I10)"
        after = lifecycle.assigned(
            task, region, member.hello.jurisdiction, offer.variant, core.now.utc_ms
        )
        grant = self._grant(after)
        after = lifecycle.decided(lifecycle.granted(after, grant.sha256), decision)
        core.change(task, after, "ASSIGNED", core.replica, f"to {region}")
        self._send_assignment(after, offer.id, grant)

    def send_again(self, task: Task) -> None:
        """Send the newest run of a task again: the region answers with all that it knows of it.

        Its grant is read back from the store: a (task, epoch) has one grant, whatever the prices
        or this version's idea of a cap have become since.
        """
        run = task.run
        assert run is not None, "an assigned task has a run"
        assert run.grant_sha256, "an assignment cites its grant"
        shard = shard_of_id(task.id)
        self._core.emit(
            ReadGrant(task=task.id, epoch=task.epoch, shard=shard, sha256=run.grant_sha256)
        )

    def grant_read(self, event: GrantRead) -> None:
        """A grant has come back from the store; the task may have moved on meanwhile."""
        task = self._core.tasks.get(event.task)
        if task is None or task.epoch != event.epoch or not task.region:
            return
        if task.state is not TaskState.CANCELLING:
            self._emit_assignment(task, "", event.grant)

    def _grant(self, task: Task) -> Grant:
        run = task.run
        assert run is not None, "an assigned task has a run"
        assert task.spec is not None, "a live task holds its spec"
        shape = shapes(task.spec)[max(run.variant, 0)]
        core = self._core
        digest = core.spec_digest(task.spec)
        prices = core.price_version_of(run.region)
        return grant_of(task, shape, digest, _local_retries(task), prices, core.router.policy)

    def _send_assignment(self, task: Task, offer: str, grant: Grant) -> None:
        data = grant.encode()
        digest = grant_sha256(data)
        # Records cite it by its digest alone: the scope finds it without knowing its shard.
        self._core.emit(Write(shard_of_id(task.id), "grant", digest, data, digest, task.id))
        self._emit_assignment(task, offer, data)

    def _emit_assignment(self, task: Task, offer: str, grant: bytes) -> None:
        self._core.emit(
            SendAssignment(
                task=task,
                grant=grant,
                offer=offer,
                local_retries=_local_retries(task),
                shard_epoch=self._core.shard_epochs.get(shard_of_id(task.id), 0),
            )
        )

    def _wait(self, waiting: Waiting, reason: WaitReason, detail: str) -> None:
        core = self._core
        backoff_ms = min(_BACKOFF_MS * 2**waiting.tries, _BACKOFF_MOST_MS)
        backoff_ms = int(backoff_ms * (0.5 + core.rng.random()))
        waiting.tries = min(waiting.tries + 1, 10)
        waiting.due_ns = core.now.boot_ns + backoff_ms * MS
        since = waiting.wait.since_ms if waiting.wait else core.now.utc_ms
        waiting.wait = Wait(
            reason=reason,
            detail=detail,
            since_ms=since,
            next="looks for a region again",
            next_ms=core.now.utc_ms + backoff_ms,
        )

    def _send(self, region: str, message: OfferRequest | OfferRelease) -> None:
        self._core.emit(Send(region=region, message=message))


def _local_retries(task: Task) -> int:
    assert task.spec is not None, "a live task holds its spec"
    return max(0, min(LOCAL_RETRIES, task.spec.tolerance.max_attempts - task.attempts))


def _within(offer: Offer, variants: int) -> Offer:
    """The offer inside what was asked: no region decides how much, or for which variant."""
    if not -1 <= offer.variant < variants:  # -1 is the spec itself
        return replace(
            offer, units=0, units_now=0, refusal=offer.refusal or "no variant of the task"
        )
    return replace(offer, units=min(offer.units, MAX_UNITS))
