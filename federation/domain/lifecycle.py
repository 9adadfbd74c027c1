"""How one task moves: pure functions from a task and what happened to the changed task.

Each returns the new `Task` (with its run replaced or added) and never touches anything else; the
core turns the difference into writes, log entries and messages. The table of allowed moves is in
`intertie.model.states`.
"""

from intertie.model.link import RunUpdate
from intertie.model.states import FailureClass, Outcome, RunState, TaskState, check_task
from intertie.model.task import CheckpointRef, Run, Task
from intertie.model.token import Token
from intertie.values import changed

RETRIED = frozenset(
    {
        FailureClass.HARDWARE,
        FailureClass.COMMUNICATION,
        FailureClass.IO,
        FailureClass.ENVIRONMENT,
        FailureClass.OOM_DEVICE,
        FailureClass.HANG,
        FailureClass.UNKNOWN,
    }
)
"""Failures that another node may not have. The others (USER, OOM_HOST, TIME_LIMIT) would only
repeat.
"""

NOT_THE_TASK = frozenset({Outcome.EVICTED, Outcome.RECLAIMED, Outcome.PREEMPTED, Outcome.REJECTED})
"""Outcomes that do not count as an attempt of the task."""

MAX_RUNS = 32
"""Runs that a task remembers: the newest."""

LIVE_STATE: dict[RunState, TaskState] = {
    RunState.ASSIGNED: TaskState.ASSIGNED,
    RunState.QUEUED: TaskState.ASSIGNED,
    RunState.STAGING: TaskState.ASSIGNED,
    RunState.STARTING: TaskState.ASSIGNED,
    RunState.RUNNING: TaskState.RUNNING,
    RunState.STOPPING: TaskState.RUNNING,
}


def moved(task: Task, state: TaskState, now_ms: int, **changes: object) -> Task:
    """The task in another (or the same) state, with further changes and a new version."""
    if state is not task.state:
        check_task(task.state, state)
    ended = now_ms if state.name in {"SUCCEEDED", "FAILED", "CANCELLED"} else task.ended_ms
    return changed(
        task,
        state=state,
        updated_ms=now_ms,
        ended_ms=ended,
        version=task.version + 1,
        **changes,
    )


def assigned(task: Task, region: str, jurisdiction: str, variant: int, now_ms: int) -> Task:
    """The task with a new run under the next epoch. Commit before it is sent."""
    assert task.state is TaskState.PENDING, "one owner at a time: only a waiting task is assigned"
    assert task.run is None or task.run.state is RunState.ENDED, "the run before has not ended"
    epoch = task.epoch.next()
    run = Run(
        n=epoch.n,
        token=Token(epoch, 0),
        region=region,
        jurisdiction=jurisdiction,
        variant=variant,
        assigned_ms=now_ms,
    )
    return moved(
        task,
        TaskState.ASSIGNED,
        now_ms,
        epoch=epoch,
        region=region,
        runs=(*task.runs[1 - MAX_RUNS :], run),
        attempts=task.attempts + 1,
    )


def granted(task: Task, grant_sha256: str) -> Task:
    """The task whose newest run cites this grant."""
    return changed(task, runs=(*task.runs[:-1], changed(_newest(task), grant_sha256=grant_sha256)))


def decided(task: Task, decision: str) -> Task:
    """The task whose newest run names the decision that sent it there."""
    return changed(task, runs=(*task.runs[:-1], changed(_newest(task), decision=decision)))


def found(task: Task, state: RunState, now_ms: int) -> Task:
    """The task of unknown state after its region's digest named its run as live."""
    assert task.state is TaskState.UNKNOWN, "only an unknown state is found out by a digest"
    return moved(task, LIVE_STATE[state], now_ms)


def reported(task: Task, update: RunUpdate, now_ms: int) -> Task:
    """The task after its region's word on the present run that is not its end."""
    assert update.token.epoch == task.epoch, "an update of an older run"
    run = _merged(_newest(task), update)
    state = task.state if task.state is TaskState.CANCELLING else LIVE_STATE[update.state]
    return moved(
        task,
        state,
        now_ms,
        runs=(*task.runs[:-1], run),
        checkpoint=_best(task, update),
        backoff=0 if state is TaskState.RUNNING else task.backoff,
    )


def ended(task: Task, update: RunUpdate, now_ms: int) -> Task:
    """The task after the end of its present run: final, or waiting for another run."""
    assert update.token.epoch == task.epoch, "an update of an older run"
    assert update.state is RunState.ENDED, "an update that is no end"
    assert update.outcome is not None, "an end without an outcome"
    run = _merged(_newest(task), update)
    # Each placement inside the region is an attempt; the first was counted with the assignment.
    task = changed(task, attempts=task.attempts + max(0, update.placements - 1))
    changes: dict[str, object] = {
        "runs": (*task.runs[:-1], run),
        "checkpoint": _best(task, update),
        "exit_code": update.exit_code,
        "failure_class": update.failure_class,
        "message": update.message,
    }
    return _after_end(task, update.outcome, update.failure_class, now_ms, changes)


def lost(task: Task, now_ms: int, message: str) -> Task:
    """The task after its run was given up: the region is silent and every lease is over."""
    assert _newest(task).state is not RunState.ENDED, "a run that ended cannot be lost"
    run = changed(
        _newest(task),
        state=RunState.ENDED,
        outcome=Outcome.LOST,
        ended_ms=now_ms,
        cause="region",
        message=message,
    )
    changes: dict[str, object] = {"runs": (*task.runs[:-1], run), "message": message}
    return _after_end(task, Outcome.LOST, None, now_ms, changes)


def rejected(task: Task, reason: str, message: str, now_ms: int) -> Task:
    """The task after its region refused the assignment: it waits again, and remembers."""
    assert _newest(task).state is not RunState.ENDED, "a run that ended cannot be refused"
    run = changed(
        _newest(task),
        state=RunState.ENDED,
        outcome=Outcome.REJECTED,
        ended_ms=now_ms,
        cause="region",
        message=f"{reason}: {message}",
    )
    changes: dict[str, object] = {"runs": (*task.runs[:-1], run)}
    return _after_end(task, Outcome.REJECTED, None, now_ms, changes)


def excluding(task: Task, region: str) -> Task:
    """The waiting task, never to be sent to this region again."""
    return changed(task, excluded=tuple(sorted({*task.excluded, region})))


def _after_end(
    task: Task,
    outcome: Outcome,
    failure: FailureClass | None,
    now_ms: int,
    changes: dict[str, object],
) -> Task:
    if outcome is Outcome.SUCCEEDED:
        return moved(task, TaskState.SUCCEEDED, now_ms, **changes)
    if task.state is TaskState.CANCELLING:
        return moved(task, TaskState.CANCELLED, now_ms, **changes)
    attempts = task.attempts - (1 if outcome in NOT_THE_TASK else 0)
    assert attempts >= 0, "more taken back than tried"
    changes["attempts"] = attempts
    if outcome is Outcome.TIMED_OUT:
        changes["failure_class"] = FailureClass.TIME_LIMIT
        return moved(task, TaskState.FAILED, now_ms, **changes)
    if outcome is Outcome.FAILED and failure not in RETRIED:
        return moved(task, TaskState.FAILED, now_ms, **changes)
    assert task.spec is not None, "a live task holds its spec"
    if attempts >= task.spec.tolerance.max_attempts and outcome not in NOT_THE_TASK:
        return moved(task, TaskState.FAILED, now_ms, **changes)
    changes |= {"region": "", "exit_code": None, "backoff": task.backoff + 1}
    return moved(task, TaskState.PENDING, now_ms, **changes)


def _newest(task: Task) -> Run:
    run = task.run
    assert run is not None, "an assigned task has a run"
    return run


def _merged(run: Run, update: RunUpdate) -> Run:
    """The run with all that the update says; the update is the whole state at its region."""
    assert run.token.epoch == update.token.epoch, "an update of another run"
    return changed(
        run,
        token=update.token,
        state=update.state,
        outcome=update.outcome,
        node=update.node or run.node,
        placements=update.placements,
        started_ms=update.started_ms,
        ended_ms=update.ended_ms,
        exit_code=update.exit_code,
        signal=update.signal,
        failure_class=update.failure_class,
        cause=update.cause,
        message=update.message,
        useful_ms=update.useful_ms,
        lost_ms=update.lost_ms,
        reclaimed_ms=update.reclaimed_ms,
        resumed_step=update.resumed_step,
        checkpoint=update.checkpoint,
        outputs=update.outputs,
        logs=update.logs,
        excluded=update.excluded,
    )


def _best(task: Task, update: RunUpdate) -> CheckpointRef | None:
    """The committed checkpoint across epochs: a newer token wins, then a higher step (I4)."""
    new, old = update.checkpoint, task.checkpoint
    if new is None or (old is not None and (old.token, old.step) >= (new.token, new.step)):
        return old
    return new
