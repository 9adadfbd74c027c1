"""Drains: emptying a region, as a resource with progress.

    RUNNING -> DONE        no run is left there; with `leave` the region is LEFT then
            -> CANCELLED   by somebody, or because the region was cordoned, activated or removed

A drain goes on without whoever began it, and over restarts. From its first moment the region gets
no new task. What may move is sent away: runs that have not begun, and those of tasks that may be
interrupted or moved. The others are waited for, until the deadline if there is one. Nothing but the
region's own word ends a run, so a region that is out of touch is never drained, only waited for;
unfinished work is never called complete.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from federation.domain.events import Send
from federation.domain.fleet import MS
from intertie.drive.effects import Erase, Fail, Reply, Write
from intertie.errors import IntertieError, Reason, error
from intertie.model.link import CancelRun
from intertie.model.states import OnDisconnect, RegionState, TaskState
from intertie.model.task import Task

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

DRAIN = "drain"
"""Kind of the rows, in shard 0; their key is `region/id`."""

LOOK_MS = 500
ORDER_AGAIN_MS = 10_000
"""A region is told again to evict a run that is still there, for the word may have been lost."""

MAX_KEPT = 20
"""Drains of one region that are remembered: the newest."""


class DrainState(StrEnum):
    """How far a drain is."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """One drain. Instants in UTC ms; `deadline_ms` 0 = wait for ever.

    `guests` counts the runs at the start; how many are left is read from the region's tasks.
    """

    region: str
    id: str
    state: DrainState = DrainState.RUNNING
    guests: int = 0
    deadline_ms: int = 0
    leave: bool = False
    reason: str = ""
    creator: str = ""
    created_ms: int = 0
    ended_ms: int = 0

    @property
    def key(self) -> str:
        """Of its row."""
        return f"{self.region}/{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDrain:
    """Somebody drains a region; `id` comes from the request, so a repetition meets the first."""

    ticket: int
    region: str
    id: str
    reason: str
    actor: str
    wait_ms: int = 0
    leave: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelDrain:
    """Somebody ends a drain half-way."""

    ticket: int
    region: str
    id: str
    reason: str
    actor: str


class Drains:
    """See the module's text."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self.by_key: dict[str, Drain] = {}
        self._due: int | None = None
        self._ordered: dict[str, int] = {}

    @property
    def deadline(self) -> int | None:
        """When to look again, as boot_ns; None while no drain runs."""
        return self._due

    def load(self, drain: Drain) -> None:
        """Take over a stored one."""
        assert drain.key not in self.by_key, "a row is loaded once"
        self.by_key[drain.key] = drain
        self._schedule()

    # --- decisions -------------------------------------------------------------------------------

    def create(self, event: CreateDrain) -> None:
        """Begin; the same request again gives the same drain."""
        core, key = self._core, f"{event.region}/{event.id}"
        standing = self.by_key.get(key)
        if standing is not None:
            core.emit(Reply(event.ticket, standing))
            return
        refused = self._refusal(event.region)
        if refused is not None:
            core.emit(Fail(event.ticket, refused))
            return
        record = core.records[event.region]
        if record.state is not RegionState.DRAINING:
            core.states.set(record, RegionState.DRAINING, event.reason, event.actor)
        assert core.records[event.region].state is RegionState.DRAINING, "no new tasks from here on"
        assert event.wait_ms >= 0, "a deadline lies ahead"
        now_ms = core.now.utc_ms
        drain = Drain(
            region=event.region,
            id=event.id,
            guests=len(core.at_region.get(event.region, ())),
            deadline_ms=now_ms + event.wait_ms if event.wait_ms else 0,
            leave=event.leave,
            reason=event.reason,
            creator=event.actor,
            created_ms=now_ms,
        )
        self._write(drain)
        self._forget(event.region)
        self._work(drain)
        core.emit(Reply(event.ticket, self.by_key[key]))

    def cancel(self, event: CancelDrain) -> None:
        """End it half-way; the region stays cordoned, and what was sent away does not come back."""
        core = self._core
        drain = self.by_key.get(f"{event.region}/{event.id}")
        if drain is None:
            core.emit(Fail(event.ticket, _missing(event.region, event.id)))
            return
        if drain.state is DrainState.RUNNING:
            record = core.records[event.region]
            assert record.state is RegionState.DRAINING, "another decision would have ended it"
            core.states.set(record, RegionState.CORDONED, event.reason, event.actor)
            drain = self.by_key[drain.key]
            assert drain.state is DrainState.CANCELLED, "another decision ends a drain"
        elif drain.state is DrainState.DONE:
            core.emit(Fail(event.ticket, _over(drain)))
            return
        core.emit(Reply(event.ticket, drain))

    def overtaken(self, region: str) -> None:
        """The region is not draining any more: what runs of its drains is over."""
        for drain in self._running(region):
            self._end(drain, DrainState.CANCELLED)

    def _refusal(self, region: str) -> IntertieError | None:
        record = self._core.records.get(region)
        if record is None:
            return _missing(region)
        running = next(iter(self._running(region)), None)
        if running is not None:
            return error(
                Reason.ALREADY_EXISTS,
                f"regions/{region} is being drained ({running.id}).",
                remedy="Follow that one, or cancel it first.",
                metadata={"resource": f"regions/{region}/drains/{running.id}"},
            )
        if record.state not in (RegionState.ACTIVE, RegionState.CORDONED, RegionState.DRAINING):
            return error(
                Reason.WRONG_STATE,
                f"regions/{region} is {record.state}; only a member is drained.",
                metadata={"state": record.state},
            )
        return None

    # --- work ------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look at every drain that runs."""
        if self._due is None or self._core.now.boot_ns < self._due:
            return
        for drain in self._running():
            self._work(drain)
        self._schedule()

    def _work(self, drain: Drain) -> None:
        """Send away what may go; end it when nothing is left."""
        core = self._core
        assert drain.state is DrainState.RUNNING, "a drain that ended sends nobody away"
        left = sorted(core.at_region.get(drain.region, ()))
        if not left:
            self._end(drain, DrainState.DONE)
            if drain.leave:
                record = core.records[drain.region]
                core.states.set(record, RegionState.LEFT, drain.reason, drain.creator)
            return
        again_ns = core.now.boot_ns + ORDER_AGAIN_MS * MS
        for id_ in left:
            task = core.tasks[id_]
            due_ns = self._ordered.get(id_, 0)
            if core.now.boot_ns >= due_ns and self._is_to_go(drain, task):
                self._ordered[id_] = again_ns
                core.emit(Send(region=drain.region, message=_eviction(task, drain)))
        self._ordered = {i: at for i, at in self._ordered.items() if i in core.tasks}
        self._schedule()

    def waited_for(self, drain: Drain) -> int:
        """How many of the runs that are left may not be interrupted yet."""
        assert drain.state is DrainState.RUNNING, "a drain that ended waits for nobody"
        core = self._core
        left = (core.tasks[id_] for id_ in core.at_region.get(drain.region, ()))
        return sum(
            not self._is_to_go(drain, t) for t in left if t.state is not TaskState.CANCELLING
        )

    def _is_to_go(self, drain: Drain, task: Task) -> bool:
        assert task.spec is not None, "a live task holds its spec"
        if task.state is TaskState.CANCELLING:
            return False  # it ends anyhow, and its own order stands
        overdue = bool(drain.deadline_ms) and self._core.now.utc_ms >= drain.deadline_ms
        tolerance = task.spec.tolerance
        may_move = tolerance.interruptible or tolerance.on_disconnect is OnDisconnect.MOVE
        return overdue or may_move or task.state is TaskState.ASSIGNED

    def _running(self, region: str | None = None) -> list[Drain]:
        return [
            drain
            for drain in self.by_key.values()
            if drain.state is DrainState.RUNNING and region in (None, drain.region)
        ]

    def _end(self, drain: Drain, state: DrainState) -> None:
        assert drain.state is DrainState.RUNNING, "a drain ends once"
        left = self._core.at_region.get(drain.region)
        assert state is not DrainState.DONE or not left, "unfinished work is never called complete"
        self._write(replace(drain, state=state, ended_ms=self._core.now.utc_ms))

    def _write(self, drain: Drain) -> None:
        self.by_key[drain.key] = drain
        self._core.emit(Write(0, DRAIN, drain.key, drain))
        self._schedule()

    def _forget(self, region: str) -> None:
        mine = [drain for drain in self.by_key.values() if drain.region == region]
        for drain in newest_first(mine)[MAX_KEPT:]:
            del self.by_key[drain.key]
            self._core.emit(Erase(0, DRAIN, drain.key))

    def _schedule(self) -> None:
        running = bool(self._running())
        self._due = self._core.now.boot_ns + LOOK_MS * MS if running else None


def newest_first(drains: Iterable[Drain]) -> list[Drain]:
    """In the order of lists."""
    return sorted(drains, key=lambda drain: (drain.created_ms, drain.id), reverse=True)


def _eviction(task: Task, drain: Drain) -> CancelRun:
    assert task.region == drain.region, "a drain sends its own region's runs away"
    assert task.run is not None, "a task at a region has a run"
    why = f"{drain.region} is being drained: {drain.reason}"
    return CancelRun(task=str(task.name), epoch=task.epoch, reason=why, evict=True)


def _missing(region: str, id_: str = "") -> IntertieError:
    name = f"regions/{region}/drains/{id_}" if id_ else f"regions/{region}"
    return error(
        Reason.NOT_FOUND,
        f"There is no {name}.",
        remedy="List what there is (intertie region list).",
        metadata={"resource": name},
    )


def _over(drain: Drain) -> IntertieError:
    return error(
        Reason.WRONG_STATE,
        f"regions/{drain.region}/drains/{drain.id} is done; nothing is left to cancel.",
        remedy="Send the region tasks again (intertie region uncordon).",
        metadata={"state": drain.state},
    )
