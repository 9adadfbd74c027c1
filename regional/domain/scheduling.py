"""Placement of the queue on nodes, and offers to the federation.

A run that does not fit lets others pass, which cannot delay native work: it is looked at first
every time. Node: best fit by devices, then cpu, then memory. Holds of offers are kept in memory
only: they are promises of seconds, and the federation asks again.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from intertie.model.link import Offer, OfferRequest
from intertie.model.pool import Shape
from intertie.model.states import RunState
from regional.domain.lending.rules import Quota
from regional.domain.nodes.rooms import Room, best, count, rooms
from regional.domain.queue import Queue
from regional.domain.runs.run import RegionRun

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

MS = 1_000_000
MAX_HOLDS = 1_000
"""Offers held at once; beyond, offers are made and not held."""
_SLACK_UNITS = 256
"""Most units by which the length of the queue is judged."""


@dataclass(slots=True)
class _Hold:
    shape: Shape
    units: int
    until_ns: int


class Scheduling:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self._queue = Queue()
        self._holds: dict[str, _Hold] = {}
        self._dirty = True
        self._mean_ms = 1_000.0

    @property
    def queued(self) -> int:
        """Runs that wait."""
        return len(self._queue)

    def index(self, run: RegionRun) -> None:
        """Keep the queue true to a run's state."""
        waits = run.key in self._queue
        if run.state is RunState.QUEUED and not waits:
            self._queue.add(run)
            self._dirty = True
        elif run.state is not RunState.QUEUED and waits:
            self._queue.remove(run.key)

    def freed(self) -> None:
        """Something became free, or a node came: look again, and tell the federation."""
        self._dirty = True
        self._core.upward.summary_soon()

    def ended(self, run_ms: int) -> None:
        """Learn how long runs take here, for the expected wait."""
        self._mean_ms += 0.1 * (run_ms - self._mean_ms)

    # --- placement -------------------------------------------------------------------------------

    def place(self) -> None:
        """Place what fits, in order."""
        if not self._dirty or not len(self._queue):
            return
        self._dirty = False
        left = rooms(self._core.nodes.values())
        if not left:
            return
        may_move = self._may_move()
        quota = self._core.lender.quota()
        turn = self._queue.lines()
        for demand, key in turn:
            run = self._core.runs[key]
            assert run.shape == demand.shape, "a line holds runs of one demand"
            shape = self._lent(run, quota)
            room = best(left, shape, demand.excluded) if shape is not None else None
            if shape is None or room is None or (demand.is_move and not may_move):
                turn.pass_over()
                continue
            if quota is not None and not run.native:
                quota.take(run.project, shape)
            self._core.downward.start(run, room.node, room.take(shape))

    def _lent(self, run: RegionRun, quota: Quota | None) -> Shape | None:
        """What to look for for a run; None if the owner lends it nothing now."""
        if run.native or quota is None:
            return run.shape
        if not quota.units(run.project, run.shape, 1):
            return None
        return self._core.lender.shape(run.shape)

    def _may_move(self) -> bool:
        """A `move` run needs a lease to live on."""
        return self._core.upward.lease_left_ms() > self._core.timing.kill_ms

    # --- offers ----------------------------------------------------------------------------------

    def offer(self, request: OfferRequest) -> Offer:
        """What the region can do now for a demand, held if asked."""
        core = self._core
        self._drop_old_holds()
        ruling = core.residence.offers(request)
        if not ruling.allowed:
            return self._answer(request, -1, 0, 0, f"residency: {ruling.reason}")
        whole = [Room.whole(node) for node in core.nodes.values() if node.takes_work]
        quota = core.lender.quota()
        for variant, asked in enumerate(request.shapes):
            shape = core.lender.shape(asked)
            if shape is not None and any(room.fits(shape) for room in whole):
                lent = quota.units("", shape, request.count) if quota else request.count
                if not lent:
                    return self._answer(request, variant, 0, 0, "nothing more is lent now")
                return self._offer(replace(request, count=lent), variant, shape, whole)
        return self._answer(request, -1, 0, 0, "no node could ever run it")

    def _offer(self, request: OfferRequest, variant: int, shape: Shape, whole: list[Room]) -> Offer:
        core = self._core
        now = 0
        if not len(self._queue):
            left = rooms(core.nodes.values())
            for hold in self._holds.values():
                count(left, hold.shape, hold.units)
            now = count(left, shape, request.count)
        # A short queue keeps nodes busy between two rounds of the federation.
        queue = min(2 * count(whole, shape, _SLACK_UNITS), core.site.max_queue)
        beyond = 0 if now else sum(hold.units for hold in self._holds.values())
        units = min(request.count, now + max(0, queue - self.queued - beyond))
        assert 0 <= now <= request.count, "no more starts now than was asked for"
        assert now <= units <= request.count, "what starts now is a part of what is offered"
        if request.hold_ms and units and len(self._holds) < MAX_HOLDS:
            until = core.now.boot_ns + request.hold_ms * MS
            self._holds[request.id] = _Hold(shape, min(units, max(now, 1)), until)
        return self._answer(request, variant, units, now)

    def used(self, offer: str) -> None:
        """One unit of an offer was assigned."""
        hold = self._holds.get(offer)
        if hold is not None:
            assert hold.units > 0, "an empty hold is let go"
            hold.units -= 1
            if hold.units <= 0:
                del self._holds[offer]

    def release(self, offer: str) -> None:
        """An offer was not taken, or not wholly."""
        self._holds.pop(offer, None)

    def _answer(
        self, request: OfferRequest, variant: int, units: int, now: int, refusal: str = ""
    ) -> Offer:
        assert variant >= 0 or not units, "an offer is for a variant"
        wait_ms = 0 if now else int(self._mean_ms * (1 + self.queued / max(1, self._running())))
        return Offer(
            id=request.id,
            units=units,
            units_now=now,
            expected_wait_ms=wait_ms,
            hold_ms=request.hold_ms if request.id in self._holds else 0,
            incarnation=self._core.site.incarnation,
            variant=variant,
            refusal=refusal or ("" if units else "its queue is full"),
        )

    def _running(self) -> int:
        return self._core.running

    def _drop_old_holds(self) -> None:
        now_ns = self._core.now.boot_ns
        self._holds = {k: h for k, h in self._holds.items() if h.until_ns > now_ns}
