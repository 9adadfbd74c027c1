"""What regions say, what their silence means, and when a run may be given to another.

Order of trust: the word of the region that holds the newest epoch; a digest; silence. Silence
alone never moves a run before both its `move_after` and every lease of that region are over
(safety.md).
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from federation.domain import lifecycle
from federation.domain.events import Heard, LinkDown, LinkUp, Send
from federation.domain.fleet import MS, Member
from federation.domain.payers import region_refusal
from federation.domain.region_record import refusal
from federation.domain.states import gone
from intertie.drive.effects import Fail, Reply
from intertie.model.link import (
    AssignAck,
    CancelRun,
    DigestEntry,
    DigestRequest,
    FromFederation,
    LeaseGrant,
    LeaseRenew,
    Offer,
    RunClosed,
    RunDigest,
    RunUpdate,
)
from intertie.model.names import TaskName
from intertie.model.pool import Summary
from intertie.model.states import OnDisconnect, Outcome, RunState, TaskState
from intertie.model.task import Task
from intertie.model.token import Token

if TYPE_CHECKING:
    from federation.domain.core import FederationCore

_LIVE = frozenset({TaskState.ASSIGNED, TaskState.RUNNING})
_NEVER = 2**63
_REFUSED_FOR_GOOD = frozenset({"RESIDENCY_VIOLATION", "NOT_LENT"})


class Regions:
    """See the module's text."""

    def __init__(self, core: "FederationCore") -> None:
        self._core = core
        self._digest: dict[str, dict[str, DigestEntry]] = {}
        self._digests = 0
        self._silent: dict[str, int] = {}
        self._due: int | None = None

    @property
    def deadline(self) -> int | None:
        """When the next silence becomes news or the next digest is due, as boot_ns."""
        return self._due

    def watch_silence_from_start(self) -> None:
        """After a restart: regions that hold tasks and have not attached yet are silent."""
        for region, ids in self._core.at_region.items():
            if ids:
                self._silent[region] = self._core.now.boot_ns
        self._schedule()

    # --- links -----------------------------------------------------------------------------------

    def up(self, event: LinkUp) -> None:
        """A region attached: its digest will say which of its tasks it really has."""
        core, region = self._core, event.hello.region
        record = core.records.get(region)
        refused = gone(record) or refusal(record, event.hello)
        refused = refused or region_refusal(region, core.projects | core.open.keys())
        if refused is not None:
            core.emit(Fail(event.ticket, refused))
            return
        core.emit(Send(region=region, message=event.welcome, link=event.link))
        core.emit(Reply(event.ticket, None))
        core.fleet.attach(event.link, event.hello, core.now)
        core.remember(event.hello)
        core.states.mark(region)
        self._silent.pop(region, None)
        self._ask_digest(region)
        core.queue.hurry(core.now.boot_ns)
        self._schedule()

    def down(self, event: LinkDown) -> None:
        """A stream ended. Nothing is moved; the clock of silence starts."""
        if self._core.fleet.detach(event.link, event.region):
            self._silent[event.region] = self._core.now.boot_ns
            self._core.offers.forget_region(event.region)
            self._schedule()

    def heard(self, event: Heard) -> None:
        """A message of a region, by its present link only."""
        core = self._core
        member = core.fleet.members.get(event.region)
        if member is None or member.link != event.link:
            return
        member = core.fleet.update(member, heard_ns=core.now.boot_ns)
        match event.message:
            case LeaseRenew(seq=seq):
                self._renew(event.region, seq)
            case Summary() as summary:
                self._summary(member, summary)
            case Offer() as offer:
                if not core.plans.answered(event.region, offer):
                    core.offers.answered(member, offer)
            case AssignAck() as ack:
                self._acked(event.region, ack)
            case RunUpdate() as update:
                self._updated(event.region, update)
            case RunDigest() as digest:
                self._digest_part(event.region, digest)
            case _:
                raise AssertionError(f"a {type(event.message).__name__} is not for the core")

    def _renew(self, region: str, seq: int) -> None:
        """Grant a lease; how long it is at most is durable before it leaves."""
        core, lease_ms = self._core, self._core.timing.lease_ms
        longest_ms = core.records[region].lease_ms
        over_ns = core.fleet.started_ns + core.timing.lease_over_ms(longest_ms) * MS
        if lease_ms > longest_ms or (lease_ms < longest_ms and core.now.boot_ns >= over_ns):
            core.write_region(replace(core.records[region], lease_ms=lease_ms))
        core.fleet.granted(region, core.now)
        self._send(region, LeaseGrant(seq=seq, lease_ms=lease_ms))

    def _summary(self, member: Member, summary: Summary) -> None:
        core = self._core
        if summary.incarnation != member.hello.incarnation:
            return
        if member.summary is not None and summary.revision < member.summary.revision:
            return
        core.fleet.update(member, summary=summary, summary_ns=core.now.boot_ns, inflight=0)
        core.queue.hurry(core.now.boot_ns)

    # --- runs ------------------------------------------------------------------------------------

    def _task_of(self, region: str, name: str) -> Task | None:
        task = self._core.tasks.get(TaskName.parse(name).id)
        return task if task is not None and task.region == region else None

    def _acked(self, region: str, ack: AssignAck) -> None:
        core, task = self._core, self._task_of(region, ack.task)
        if task is None or task.epoch != ack.epoch or ack.accepted:
            return
        run = task.run
        accepted = run is None or run.state is not RunState.ASSIGNED
        if accepted and task.state is not TaskState.CANCELLING:
            return  # a refusal of a repeated assignment frees nothing
        after = lifecycle.rejected(task, ack.reason, ack.message, core.now.utc_ms)
        if ack.reason in _REFUSED_FOR_GOOD and not after.is_final:
            after = lifecycle.excluding(after, region)
        assert task.spec is not None, "a live task holds its spec"
        demand = core.router.classes.of(task.spec, after.excluded, task.project)
        core.router.rejections.note(demand, region, core.now.boot_ns)
        core.change(task, after, "REJECTED", region, ack.message)

    def _updated(self, region: str, update: RunUpdate) -> None:
        core, task = self._core, self._task_of(region, update.task)
        if task is None or task.epoch != update.token.epoch:
            self._not_ours(region, update.task, update.token, update.state)
            return
        if update.state is RunState.ENDED:
            after = lifecycle.ended(task, update, core.now.utc_ms)
            if update.outcome is Outcome.REJECTED and not after.is_final:
                after = lifecycle.excluding(after, region)  # a node of it found that it may not
            reason = str(update.outcome)
            core.change(task, after, reason, region, update.message)
            self._send(region, RunClosed(task=update.task, token=update.token))
            return
        after = lifecycle.reported(task, update, core.now.utc_ms)
        if after.run == task.run and after.state is task.state:
            return
        core.change(task, after, update.state.value, region, update.message)
        if task.state is TaskState.CANCELLING:
            self._cancel_again(task)

    def _not_ours(self, region: str, name: str, token: Token, state: RunState) -> None:
        """A run that was replaced, or whose task is over: close it, or stop it."""
        if state is RunState.ENDED:
            self._send(region, RunClosed(task=name, token=token))
            return
        stop = CancelRun(task=name, epoch=token.epoch, reason="a newer run exists", superseded=True)
        self._send(region, stop)

    def _cancel_again(self, task: Task) -> None:
        stop = CancelRun(task=str(task.name), epoch=task.epoch, reason=task.cancel_reason)
        self._send(task.region, stop)

    # --- digests ---------------------------------------------------------------------------------

    def _ask_digest(self, region: str) -> None:
        core = self._core
        self._digests += 1
        self._digest[region] = {}
        member = core.fleet.members[region]
        core.fleet.update(member, digest=self._digests, digest_ns=core.now.boot_ns)
        self._send(region, DigestRequest(id=self._digests))

    def _digest_part(self, region: str, part: RunDigest) -> None:
        member = self._core.fleet.members[region]
        if part.id != member.digest:
            return
        entries = self._digest.setdefault(region, {})
        entries.update((entry.task, entry) for entry in part.entries)
        if part.last:
            del self._digest[region]
            self._reconcile(region, entries)

    def _reconcile(self, region: str, entries: dict[str, DigestEntry]) -> None:
        """Repair what was lost in either direction."""
        core = self._core
        for id_ in sorted(core.at_region.get(region, ())):
            task = core.tasks[id_]
            entry = entries.pop(str(task.name), None)
            if entry is not None and entry.token.epoch == task.epoch:
                self._known_to_region(task, entry)
                continue
            if entry is not None:
                self._not_ours(region, entry.task, entry.token, entry.state)
            self._unknown_to_region(task)
        for entry in entries.values():
            self._not_ours(region, entry.task, entry.token, entry.state)

    def _known_to_region(self, task: Task, entry: DigestEntry) -> None:
        """Both have the run: repeat what may have been lost on the way."""
        core, run = self._core, task.run
        assert run is not None, "a task at a region has a run"
        if task.state is TaskState.CANCELLING:
            self._cancel_again(task)
            return
        if entry.state is not run.state or entry.token != run.token:
            core.offers.send_again(task)
        if task.state is TaskState.UNKNOWN and entry.state is not RunState.ENDED:
            after = lifecycle.found(task, entry.state, core.now.utc_ms)
            core.change(task, after, "IN_TOUCH", task.region)

    def _unknown_to_region(self, task: Task) -> None:
        """The region has no such run: it never accepted it, for it commits before it answers."""
        core, run = self._core, task.run
        assert run is not None, "a task at a region has a run"
        if task.state is TaskState.CANCELLING:
            self._cancel_again(task)
        elif run.state is RunState.ASSIGNED:
            core.offers.send_again(task)
        else:
            self._missing(task)

    def _missing(self, task: Task) -> None:
        """A region without its state: as silence, for its nodes may still run what it forgot.

        A `move` run is given up at a digest after every lease is over; others wait for a person.
        """
        core = self._core
        message = f"{task.region} no longer knows a run that it had accepted"
        if task.state is not TaskState.UNKNOWN:
            after = lifecycle.moved(task, TaskState.UNKNOWN, core.now.utc_ms)
            core.change(task, after, "MISSING", core.replica, message)
            return
        waited_ms = core.now.utc_ms - task.updated_ms
        lease_ms = max(core.timing.lease_ms, core.records[task.region].lease_ms)
        if _is_move(task) and waited_ms >= core.timing.lease_over_ms(lease_ms):
            core.change(task, lifecycle.lost(task, core.now.utc_ms, message), "LOST", core.replica)

    # --- silence ---------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look at silent regions, and ask for the digests that are due."""
        core = self._core
        now_ns = core.now.boot_ns
        for region, member in list(core.fleet.members.items()):
            if member.link and now_ns - member.digest_ns >= core.timing.digest_every_ms * MS:
                self._ask_digest(region)
        for region, due_ns in sorted(self._silent.items()):
            if due_ns <= now_ns:
                self._look_at(region)
                self._silent[region] = self._next_look(region)
        self._schedule()

    def _look_at(self, region: str) -> None:
        core = self._core
        lost_ns = core.fleet.lost_since(region)
        assert lost_ns is not None, f"{region} is attached and counted as silent"
        if core.now.boot_ns < lost_ns + core.timing.unknown_after_ms * MS:
            return
        member = core.fleet.members.get(region)
        assert member is None or not member.link, "a region with a link is not silent"
        if member is not None and not member.unknown:
            core.fleet.update(member, unknown=True)
        for id_ in sorted(core.at_region.get(region, ())):
            self._silent_task(core.tasks[id_])

    def _silent_task(self, task: Task) -> None:
        core = self._core
        if task.state in _LIVE:
            after = lifecycle.moved(task, TaskState.UNKNOWN, core.now.utc_ms)
            core.change(task, after, "OUT_OF_TOUCH", core.replica, f"{task.region} is silent")
            task = after
        if _is_move(task) and core.now.boot_ns >= self.move_due(task):
            message = f"{task.region} was silent until its lease was over"
            core.change(task, lifecycle.lost(task, core.now.utc_ms, message), "LOST", core.replica)

    def move_due(self, task: Task) -> int:
        """The boot_ns from which the run of a `move` task may be given to another."""
        core = self._core
        assert task.spec is not None, "a live task holds its spec"
        lost_ns = core.fleet.lost_since(task.region)
        since = lost_ns if lost_ns is not None else core.now.boot_ns
        wanted = since + task.spec.tolerance.move_after * MS
        return max(wanted, core.fleet.may_reassign_at(task.region))

    def _schedule(self) -> None:
        core = self._core
        dues = [
            member.digest_ns + core.timing.digest_every_ms * MS
            for member in core.fleet.members.values()
            if member.link
        ]
        dues.extend(due_ns for due_ns in self._silent.values() if due_ns != _NEVER)
        self._due = min(dues, default=None)

    def _next_look(self, region: str) -> int:
        """When the silence of a region next becomes news, as boot_ns."""
        core = self._core
        lost_ns = core.fleet.lost_since(region)
        assert lost_ns is not None, f"{region} is attached and counted as silent"
        unknown_ns = lost_ns + core.timing.unknown_after_ms * MS
        if core.now.boot_ns < unknown_ns:
            return unknown_ns
        held = (core.tasks[id_] for id_ in core.at_region.get(region, ()))
        return min((self.move_due(task) for task in held if _is_move(task)), default=_NEVER)

    def _send(self, region: str, message: FromFederation) -> None:
        self._core.emit(Send(region=region, message=message))


def _is_move(task: Task) -> bool:
    assert task.spec is not None, "a live task holds its spec"
    return task.spec.tolerance.on_disconnect is OnDisconnect.MOVE
