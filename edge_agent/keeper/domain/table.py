"""The decision core of the keeper: who may start, who must stop, when, and what is known of it.

Pure: `handle(event, now) -> effects`; `now` is a reading of the boot clock in nanoseconds. It must
not touch a process, a file or a clock.

Rules it keeps (safety.md):
- a token at or below the highest seen for its task starts nothing; the same start again is answered
  with what became of it;
- a higher token kills the older run first and starts nothing until that death is verified;
- at its deadline a run is told to stop, and killed early enough for its death to be verified within
  T_kill of it, whatever else was agreed with it;
- an end is reported only when nothing of the run is left.
"""

from collections.abc import Callable
from typing import Any, Final

from edge_agent.keeper import protocol
from edge_agent.keeper.domain.ending import ending_of
from edge_agent.keeper.domain.events import (
    DiskUsed,
    Drop,
    Effect,
    Event,
    ExecFailed,
    Executed,
    Exited,
    Extend,
    Forget,
    Key,
    Note,
    Notice,
    Refuse,
    Release,
    Reply,
    Save,
    Shutdown,
    Spawn,
    Spawned,
    SpawnFailed,
    Start,
    Stop,
    Sweep,
    Swept,
    Terminate,
    Tick,
)
from edge_agent.keeper.domain.record import MS, Exit, Run
from edge_agent.keeper.report import (
    BY_DEADLINE,
    BY_DISK,
    BY_SELF,
    BY_SHUTDOWN,
    BY_START_FAILURE,
    BY_STOP,
    BY_SUPERSEDED,
    BY_TIMEOUT,
    ENDED,
    RUNNING,
    STARTING,
    STOPPING,
    Ended,
    StartFault,
)
from edge_agent.keeper.spec import Token, task_of

MAX_RUNS: Final = 1024
FENCES_KEPT: Final = 4096
"""Fences of tasks that have no run here any more; the oldest go first. The region and the link
fence as well: this is the last of three."""
SWEEP_FIRST_NS: Final = 2 * MS
SWEEP_LONGEST_NS: Final = 200 * MS


class Table:
    """All runs of a node and the fences of their tasks."""

    def __init__(
        self,
        boot_id: str,
        *,
        t_kill_ms: int,
        runs: tuple[Run, ...] = (),
        fences: dict[str, Token] | None = None,
    ) -> None:
        self.boot_id = boot_id
        self.t_kill_ns = t_kill_ms * MS
        self.draining = False
        self.runs: dict[Key, Run] = {}
        self.fences: dict[str, Token] = dict(fences or {})
        self._live: set[Key] = set()
        self._by_task: dict[str, set[Key]] = {}
        self._effects: list[Effect] = []
        self._handlers: dict[type, Callable[[Any, int], None]] = {
            Start: self._start,
            Extend: self._extend,
            Stop: self._stop,
            Forget: self._forget,
            Shutdown: self._shutdown,
            Spawned: self._spawned,
            SpawnFailed: self._spawn_failed,
            Executed: self._executed,
            ExecFailed: self._exec_failed,
            Exited: self._exited,
            Swept: self._swept,
            DiskUsed: self._disk_used,
            Tick: self._tick,
        }
        for run in runs:
            self._raise_fence(task_of(run.key.run), run.key.token)
            self._put(run)

    def handle(self, event: Event, now: int) -> list[Effect]:
        """Decide. The only mutator."""
        assert not self._effects
        self._handlers[type(event)](event, now)
        effects, self._effects = self._effects, []
        return effects

    def next_due(self) -> int | None:
        """When a Tick is needed next."""
        instants = (self.runs[key].due_at(self.t_kill_ns) for key in self._live)
        return min((instant for instant in instants if instant is not None), default=None)

    @property
    def live(self) -> frozenset[Key]:
        """Runs that have not ended."""
        return frozenset(self._live)

    # -- requests ---------------------------------------------------------------------------------

    def _start(self, event: Start, now: int) -> None:
        admission = event.admission
        key = admission.key
        task = task_of(key.run)
        known = self.runs.get(key)
        if known is not None:
            self._emit(Reply(event.tag, known.view(self.boot_id).to_body()))
            return
        fault = self._admission_fault(event, task, now)
        if fault is not None:
            self._emit(Refuse(event.tag, fault))
            return
        for other in sorted(self._by_task.get(task, ())):
            if self.runs[other].live:
                self._stop_run(self.runs[other], BY_SUPERSEDED, f"by token {key.token}", now)
        self._raise_fence(task, key.token)
        run = Run(
            admission,
            accepted_at=now,
            deadline_at=admission.deadline_boot_ns,
            waiting=self._held(task),
        )
        self._put(run)
        self._emit(Save(key, durable=True))
        self._emit(Reply(event.tag, run.view(self.boot_id).to_body()))
        if not run.waiting:
            self._emit(Spawn(key))

    def _admission_fault(self, event: Start, task: str, now: int) -> protocol.ProtocolFault | None:
        token, deadline = event.admission.key.token, event.admission.deadline_boot_ns
        fence = self.fences.get(task)
        if fence is not None and token <= fence:
            return protocol.ProtocolFault(
                protocol.STALE_TOKEN, f"token {token} is not above {fence}, the last seen", "token"
            )
        if self.draining:
            return protocol.ProtocolFault(
                protocol.SHUTTING_DOWN, "this keeper is stopping: start the run elsewhere"
            )
        if deadline is not None and deadline <= now:
            return protocol.ProtocolFault(
                protocol.DEADLINE_PASSED,
                "the lease is over already: renew it first",
                "deadline_boot_ns",
            )
        if len(self.runs) >= MAX_RUNS:
            return protocol.ProtocolFault(
                protocol.TABLE_FULL, f"{MAX_RUNS} runs are kept: forget those that ended"
            )
        return None

    def _extend(self, event: Extend, now: int) -> None:  # noqa: ARG002 - one shape of handler
        if event.boot_id != self.boot_id:
            fault = protocol.ProtocolFault(
                protocol.BOOT_MISMATCH, f"the boot clock here is of {self.boot_id}", "boot_id"
            )
            self._emit(Refuse(event.tag, fault))
            return
        extended = 0
        for key in sorted(self._live):
            run = self.runs[key]
            named = event.runs is None or key.run in event.runs
            if not named or run.next_deadline is None:
                continue
            if event.deadline_boot_ns > run.next_deadline:
                self._put(run._replace(deadline_at=event.deadline_boot_ns))
                self._emit(Save(key, durable=False))
            extended += 1
        self._emit(Reply(event.tag, {"extended": extended}))

    def _stop(self, event: Stop, now: int) -> None:
        order = event.order
        named = sorted(
            key for key in self._by_task.get(task_of(order.run), ()) if key[0] == order.run
        )
        ours = [key for key in named if key.token <= order.token]
        if not named:
            fault = protocol.ProtocolFault(protocol.NOT_FOUND, "no such run on this node", "run")
            self._emit(Refuse(event.tag, fault))
            return
        if not ours:
            fault = protocol.ProtocolFault(
                protocol.STALE_TOKEN, f"the run is held under {named[-1].token}", "token"
            )
            self._emit(Refuse(event.tag, fault))
            return
        for key in ours:
            run = self.runs[key]
            if run.live:
                grace_ms = run.admission.grace_ms if order.grace_ms is None else order.grace_ms
                self._stop_run(run, BY_STOP, order.reason, now, order.notice_ms, grace_ms)
        self._emit(Reply(event.tag, self.runs[ours[-1]].view(self.boot_id).to_body()))

    def _forget(self, event: Forget, now: int) -> None:  # noqa: ARG002 - one shape of handler
        run = self.runs.get(event.key)
        if run is None:
            self._emit(Reply(event.tag, {"forgotten": False}))
        elif run.live:
            fault = protocol.ProtocolFault(protocol.NOT_ENDED, "stop the run first", "run")
            self._emit(Refuse(event.tag, fault))
        else:
            self._remove(run)
            self._emit(Drop(run.key, run.mark))
            self._emit(Reply(event.tag, {"forgotten": True}))

    def _shutdown(self, event: Shutdown, now: int) -> None:  # noqa: ARG002 - one shape of handler
        self.draining = True
        for key in sorted(self._live):
            run = self.runs[key]
            grace_ms = run.admission.grace_ms
            self._stop_run(run, BY_SHUTDOWN, "the keeper is stopping", now, 0, grace_ms)

    # -- what happened ----------------------------------------------------------------------------

    def _spawned(self, event: Spawned, now: int) -> None:
        run = self.runs[event.key]
        timeout_ms = run.admission.timeout_ms
        self._put(
            run._replace(
                pid=event.pid,
                pid_ticks=event.pid_ticks,
                started_at=now,
                timeout_at=None if timeout_ms is None else now + timeout_ms * MS,
            )
        )

    def _spawn_failed(self, event: SpawnFailed, now: int) -> None:
        run = self.runs[event.key]
        if run.live:
            self._end_unstarted(run._replace(start_fault=event.fault), BY_START_FAILURE, "", now)

    def _executed(self, event: Executed, now: int) -> None:  # noqa: ARG002 - one shape of handler
        run = self.runs[event.key]
        if run.state == STARTING:
            self._put(run.moved(RUNNING))
            self._emit(Save(event.key, durable=False))
            self._emit(Note("started", event.key))

    def _exec_failed(self, event: ExecFailed, now: int) -> None:  # noqa: ARG002 - one shape
        run = self.runs[event.key]
        by = run.by or BY_START_FAILURE
        self._put(run._replace(start_fault=event.fault, by=by))

    def _exited(self, event: Exited, now: int) -> None:
        run = self.runs[event.key]
        run = run._replace(
            exit=Exit(event.code, event.signal, event.cpu_ns, event.max_rss_bytes),
            by=run.by or BY_SELF,
        )
        if run.state != STOPPING:
            run = run.moved(STOPPING)
        self._kill(run, now)

    def _swept(self, event: Swept, now: int) -> None:
        run = self.runs[event.key]
        if not run.live:
            return
        run = run._replace(leftovers=max(run.leftovers, event.leftovers))
        if event.left == 0 and run.exit is not None:
            assert event.final is not None, "a sweep after the exit measures what was used"
            self._end(run, ending_of(run, event.final, now))
            return
        pause = min(SWEEP_FIRST_NS << min(run.sweeps, 16), SWEEP_LONGEST_NS)
        self._put(run._replace(sweeps=run.sweeps + 1, sweep_at=now + pause))

    def _disk_used(self, event: DiskUsed, now: int) -> None:
        run = self.runs.get(event.key)
        if run is None or run.state not in (STARTING, RUNNING):
            return
        limit = run.admission.limits.disk_bytes
        if limit is not None and event.used_bytes > limit:
            reason = f"{event.used_bytes} bytes in its directory, {limit} allowed"
            self._stop_run(run, BY_DISK, reason, now)

    def _tick(self, event: Tick, now: int) -> None:  # noqa: ARG002 - one shape of handler
        for key in sorted(self._live):
            run = self.runs[key]
            if not run.live:
                continue
            if run.overdue(now):
                self._end_lease(run, now)
            elif run.state == STOPPING:
                self._tick_stopping(run, now)
            elif run.timeout_at is not None and run.timeout_at <= now:
                reason = f"longer than {run.admission.timeout_ms} ms"
                self._stop_run(run, BY_TIMEOUT, reason, now, 0, run.admission.grace_ms)

    def _tick_stopping(self, run: Run, now: int) -> None:
        if run.kill_at is not None and run.kill_at <= now:
            self._kill(run, now)
            return
        if run.term_at is not None and run.term_at <= now:
            run = run._replace(term_at=None)
            self._put(run)
            self._emit(Terminate(run.key))
        if run.killing_since is None:
            return
        proof_due_at = run.proof_due_at(self.t_kill_ns)
        if not run.unkillable and proof_due_at is not None and proof_due_at <= now:
            run = run._replace(unkillable=True)
            self._put(run)
            self._emit(Note("unkillable", run.key))
            self._give_up_waiting(task_of(run.key.run), now)
        if run.sweep_at is not None and run.sweep_at <= now:
            self._put(run._replace(sweep_at=None))
            self._emit(Sweep(run.key))

    # -- moves ------------------------------------------------------------------------------------

    def _stop_run(
        self, run: Run, by: str, reason: str, now: int, notice_ms: int = 0, grace_ms: int = 0
    ) -> None:
        """Begin to stop, or hasten a stop that is under way. The first cause stays the cause."""
        if run.pid is None and (run.waiting or run.state == STARTING):
            self._end_unstarted(run, by, reason, now)
            return
        term_at, kill_at = now + notice_ms * MS, now + (notice_ms + grace_ms) * MS
        if run.state == STOPPING:
            if run.killing_since is not None:
                return
            assert run.kill_at is not None
            pending = None if run.term_at is None else min(run.term_at, term_at)
            run = run._replace(term_at=pending, kill_at=min(run.kill_at, kill_at))
        else:
            by = run.by or by  # a program that could not be executed comes first
            run = run.moved(STOPPING, by=by, reason=reason, term_at=term_at, kill_at=kill_at)
        self._put(run)
        self._emit(Save(run.key, durable=False))
        assert run.kill_at is not None
        self._emit(Notice(run.key, by, reason, run.term_at or now, run.kill_at))
        self._tick_stopping(run, now)

    def _end_lease(self, run: Run, now: int) -> None:
        """The grace counts from the deadline, not from now: who looks late, kills at once."""
        run = run._replace(lease_over=True)
        self._put(run)
        left_ms = max(run.lease_kill_at(self.t_kill_ns) - now, 0) // MS
        self._stop_run(run, BY_DEADLINE, "deadline", now, 0, left_ms)

    def _kill(self, run: Run, now: int) -> None:
        since = now if run.killing_since is None else run.killing_since
        self._put(run._replace(term_at=None, kill_at=None, killing_since=since, sweep_at=None))
        self._emit(Sweep(run.key))

    def _end_unstarted(self, run: Run, by: str, reason: str, now: int) -> None:
        fault = run.start_fault if by == BY_START_FAILURE else None
        self._end(run, Ended(by=by, reason=reason, boot_ns=now, start_fault=fault))

    def _end(self, run: Run, ended: Ended) -> None:
        self._put(run.moved(ENDED, ended=ended, waiting=False, sweep_at=None))
        self._emit(Release(run.key, run.mark))
        self._emit(Save(run.key, durable=True))
        self._emit(Note("ended", run.key))
        self._start_waiting(task_of(run.key.run))

    def _start_waiting(self, task: str) -> None:
        if self._held(task):
            return
        for key in sorted(self._by_task.get(task, ())):
            run = self.runs[key]
            if run.live and run.waiting:
                self._put(run._replace(waiting=False))
                self._emit(Spawn(key))
                return

    def _give_up_waiting(self, task: str, now: int) -> None:
        for key in sorted(self._by_task.get(task, ())):
            run = self.runs[key]
            if run.live and run.waiting:
                message = "the run that this one replaces does not die"
                fault = StartFault("predecessor", "EBUSY", message)
                self._end_unstarted(run._replace(start_fault=fault), BY_START_FAILURE, "", now)

    # -- bookkeeping ------------------------------------------------------------------------------

    def _emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def _held(self, task: str) -> bool:
        return any(self.runs[key].holds for key in self._by_task.get(task, ()))

    def _put(self, run: Run) -> None:
        self.runs[run.key] = run
        self._by_task.setdefault(task_of(run.key.run), set()).add(run.key)
        if run.live:
            self._live.add(run.key)
        else:
            self._live.discard(run.key)

    def _remove(self, run: Run) -> None:
        task = task_of(run.key.run)
        del self.runs[run.key]
        self._by_task[task].discard(run.key)
        if not self._by_task[task]:
            del self._by_task[task]
            self.fences[task] = self.fences.pop(task)
        excess = len(self.fences) - len(self._by_task) - FENCES_KEPT
        if excess > 0:
            idle = (name for name in self.fences if name not in self._by_task)
            for name in [name for name, _ in zip(idle, range(excess), strict=False)]:
                del self.fences[name]

    def _raise_fence(self, task: str, token: Token) -> None:
        self.fences[task] = max(token, self.fences.get(task, token))
