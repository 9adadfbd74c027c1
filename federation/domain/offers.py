"""Rounds of offers: ask the drawn regions, wait, hand out tasks, let the rest go.

Why offers at all: a summary is old when it arrives, and several replicas send to the same region.
A fresh offer with a short hold keeps tasks from piling up where a summary said there was room.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from federation.domain import lifecycle, router
from federation.domain.events import GrantRead, ReadGrant, Send, SendAssignment
from federation.domain.fleet import MS, Member
from federation.domain.grants import grant_of
from federation.domain.queue import Round, Waiting
from federation.domain.router import Demand
from intertie.drive.effects import Write
from intertie.errors import IntertieError, Reason, error
from intertie.metering.grant import Grant, grant_sha256
from intertie.model.link import Offer, OfferRelease, OfferRequest
from intertie.model.names import shard_of_id
from intertie.model.states import TaskState, WaitReason
from intertie.model.task import Task, Verdict, Wait
from intertie.model.validate import shapes
from intertie.ports import Now

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

MAX_UNITS = 256
"""Most units that one round asks for."""
LOCAL_RETRIES = 2
"""How often a region may place a run again by itself, see contract.md (retries)."""
_BACKOFF_MS = 200
_BACKOFF_MOST_MS = 10_000


class Offers:
    """The rounds of all classes of waiting tasks."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self._rounds: dict[str, Waiting] = {}
        self._next = 0

    # --- questions that change nothing -----------------------------------------------------------

    def verdicts(self, demand: Demand, now: Now | None = None) -> list[Verdict]:
        """The verdict of every region, in the order of their ids."""
        core, now = self._core, now or self._core.now
        members = sorted(core.fleet.members.items())
        return [router.verdict(demand, m, now, core.timing) for _, m in members]

    def has_match(self, demand: Demand) -> bool:
        """Whether any of today's members could ever run it, were it reachable and free."""
        return any(
            all(c.holds for c in v.checks if c.name != "reachable") for v in self.verdicts(demand)
        )

    def unmatched(self, demand: Demand) -> IntertieError:
        """The error of a client that asked to fail when nothing matches."""
        _, detail = router.why_waiting(self.verdicts(demand))
        return error(
            Reason.NO_MATCHING_REGION,
            f"No region could ever run this: {detail}.",
            remedy="Ask for less, or leave fail_if_unmatched out to wait for a region that can.",
        )

    def next_id(self, prefix: str) -> str:
        """An id for an OfferRequest, unique in this life of the core."""
        self._next += 1
        return f"{prefix}{self._next}"

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
            if current.is_complete:
                self._close(waiting, current)

    def _begin(self, waiting: Waiting) -> None:
        assert waiting.round is None, "one round of a class at a time"
        assert waiting.tasks, "a round for nobody"
        core = self._core
        verdicts = self.verdicts(waiting.demand)
        drawn = tuple(router.draw(verdicts, core.rng))
        if not drawn:
            self._wait(waiting, *router.why_waiting(verdicts))
            return
        current = Round(
            id=self.next_id("o"),
            regions=drawn,
            until_ns=core.now.boot_ns + core.timing.offer_wait_ms * MS,
        )
        waiting.round = current
        self._rounds[current.id] = waiting
        request = OfferRequest(
            id=current.id,
            shapes=waiting.demand.shapes,
            count=min(len(waiting.tasks), MAX_UNITS),
            hold_ms=core.timing.hold_ms,
            within=waiting.demand.within,
            not_within=waiting.demand.not_within,
            excluded=waiting.demand.excluded,
        )
        for region in drawn:
            self._send(region, request)

    def _close(self, waiting: Waiting, current: Round) -> None:
        assert waiting.round is current, "the round that ends is the present one"
        del self._rounds[current.id]
        offers = sorted(
            current.offers.items(), key=lambda o: (-o[1].units_now, o[1].expected_wait_ms, o[0])
        )
        given = 0
        for region, offer in offers:
            taken = self._hand_out(waiting, region, offer)
            given += taken
            if taken < offer.units:
                self._send(region, OfferRelease(id=offer.id))
        refusals = "; ".join(f"{r}: {o.refusal}" for r, o in offers if o.refusal)
        if given:
            waiting.tries, waiting.due_ns, waiting.wait = 0, self._core.now.boot_ns, None
        else:
            self._wait(waiting, WaitReason.NO_CAPACITY, refusals or "no region has room now")
        self._core.queue.end_round(waiting)

    def _hand_out(self, waiting: Waiting, region: str, offer: Offer) -> int:
        member = self._core.fleet.members.get(region)
        if member is None or not member.link or member.hello.incarnation != offer.incarnation:
            return 0
        ids = [id_ for id_, _ in zip(waiting.tasks, range(offer.units), strict=False)]
        for id_ in ids:
            self._assign(self._core.tasks[id_], member, offer)
        self._core.fleet.update(member, inflight=member.inflight + len(ids))
        return len(ids)

    def _assign(self, task: Task, member: Member, offer: Offer) -> None:
        core = self._core
        region = member.hello.region
        assert region not in task.excluded, "an excluded region is never chosen again (I10)"
        after = lifecycle.assigned(
            task, region, member.hello.jurisdiction, offer.variant, core.now.utc_ms
        )
        grant = self._grant(after)
        after = lifecycle.granted(after, grant.sha256)
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
        return grant_of(task, shape, digest, _local_retries(task), core.price_version)

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
