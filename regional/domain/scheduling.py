"""The queue of a region and its placement on nodes.

Order: native, guaranteed, normal, opportunistic; inside, first come first served. A run that does
not fit lets smaller ones pass (backfill), which cannot delay native work: it is looked at first
every time. Node: best fit by devices, then cpu, then memory. Holds of offers are kept in memory
only: they are promises of seconds, and the federation asks again.
"""

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from intertie.model.link import Offer, OfferRequest
from intertie.model.pool import Shape
from intertie.model.states import RunState
from regional.domain import pool
from regional.domain.pool import Room
from regional.domain.run import RegionRun

if TYPE_CHECKING:
    from regional.domain.core import RegionCore

MS = 1_000_000
_SCAN = 512
"""Most queued runs that one pass looks at."""


@dataclass(slots=True)
class _Hold:
    shape: Shape
    units: int
    until_ns: int


class Scheduling:
    """See the module's text."""

    def __init__(self, core: "RegionCore") -> None:
        self._core = core
        self._queue: list[tuple[int, int, str]] = []
        self._queued: dict[str, tuple[int, int, str]] = {}
        self._holds: dict[str, _Hold] = {}
        self._dirty = True
        self._mean_ms = 1_000.0

    @property
    def deadline(self) -> int | None:
        """Holds need no timer: they are dropped when looked at."""
        return None

    @property
    def queued(self) -> int:
        """Runs that wait."""
        return len(self._queue)

    def index(self, run: RegionRun) -> None:
        """Keep the queue true to a run's state."""
        entry = self._queued.get(run.key)
        if run.state is RunState.QUEUED and entry is None:
            entry = (run.rank, run.queued_ms, run.key)
            self._queued[run.key] = entry
            bisect.insort(self._queue, entry)
            self._dirty = True
        elif run.state is not RunState.QUEUED and entry is not None:
            del self._queued[run.key]
            self._queue.pop(bisect.bisect_left(self._queue, entry))

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
        if not self._dirty or not self._queue:
            return
        self._dirty = False
        rooms = pool.rooms(self._core.nodes.values())
        if not rooms:
            return
        failed: set[tuple[Shape, tuple[str, ...]]] = set()
        for _, _, key in self._queue[:_SCAN]:
            run = self._core.runs[key]
            if (run.shape, run.excluded) in failed or not self._may_start(run):
                continue
            if not self._place(run, rooms):
                failed.add((run.shape, run.excluded))

    def _may_start(self, run: RegionRun) -> bool:
        """A `move` run needs a lease to live on."""
        return not run.is_move or self._core.upward.lease_left_ms() > self._core.timing.kill_ms

    def _place(self, run: RegionRun, rooms: list[Room]) -> bool:
        room = pool.best(rooms, run.shape, run.excluded)
        if room is None:
            return False
        self._core.downward.start(run, room.node, room.take(run.shape))
        return True

    # --- offers ----------------------------------------------------------------------------------

    def offer(self, request: OfferRequest) -> Offer:
        """What the region can do now for a demand, held if asked."""
        core = self._core
        self._drop_old_holds()
        for variant, shape in enumerate(request.shapes):
            if not any(_could_ever(node_room, shape) for node_room in self._whole_rooms()):
                continue
            rooms = pool.rooms(core.nodes.values())
            for hold in self._holds.values():
                pool.count(rooms, hold.shape, hold.units)
            now = 0 if self._queue else pool.count(rooms, shape, request.count)
            slack = max(0, self._slack(shape) - self.queued - self._held_beyond(now))
            units = min(request.count, now + slack)
            if request.hold_ms and units:
                until = core.now.boot_ns + request.hold_ms * MS
                self._holds[request.id] = _Hold(shape, min(units, max(now, 1)), until)
            return self._answer(request, variant, units, now)
        return self._answer(request, -1, 0, 0, "no node could ever run it")

    def used(self, offer: str) -> None:
        """One unit of an offer was assigned."""
        hold = self._holds.get(offer)
        if hold is not None:
            hold.units -= 1
            if hold.units <= 0:
                del self._holds[offer]

    def release(self, offer: str) -> None:
        """An offer was not taken, or not wholly."""
        self._holds.pop(offer, None)

    def _answer(
        self, request: OfferRequest, variant: int, units: int, now: int, refusal: str = ""
    ) -> Offer:
        wait_ms = 0 if now else int(self._mean_ms * (1 + self.queued / max(1, self._running())))
        return Offer(
            id=request.id,
            units=units,
            units_now=now,
            expected_wait_ms=wait_ms,
            hold_ms=request.hold_ms if units else 0,
            incarnation=self._core.site.incarnation,
            variant=variant,
            refusal=refusal or ("" if units else "its queue is full"),
        )

    def _slack(self, shape: Shape) -> int:
        """How many units may wait here: a short queue keeps nodes busy between two rounds."""
        whole = self._whole_rooms()
        return min(2 * pool.count(whole, shape, 256), self._core.site.max_queue)

    def _held_beyond(self, now: int) -> int:
        return sum(hold.units for hold in self._holds.values()) if not now else 0

    def _whole_rooms(self) -> list[Room]:
        return [
            Room(
                node.id,
                node.hello.capability.cpu,
                node.hello.capability.memory,
                node.hello.capability.disk,
                [d for d in node.hello.capability.devices if d.healthy],
                node.hello.capability.architecture,
                node.hello.capability.software,
            )
            for node in self._core.nodes.values()
            if node.link
        ]

    def _running(self) -> int:
        return sum(len(node.runs) for node in self._core.nodes.values())

    def _drop_old_holds(self) -> None:
        now_ns = self._core.now.boot_ns
        self._holds = {k: h for k, h in self._holds.items() if h.until_ns > now_ns}


def _could_ever(room: Room, shape: Shape) -> bool:
    return room.fits(shape)
