"""What reads add to a task: why it waits, and what each region says to it. Never stored.

Reads the core and changes nothing.
"""

from typing import TYPE_CHECKING

from federation.domain.fleet import MS
from federation.domain.routing.decisions import differences, since_then
from federation.domain.routing.remedies import remedy_for
from intertie.model.decision import Decision
from intertie.model.states import OnDisconnect, TaskState, WaitReason
from intertie.model.task import Plan, Task, Wait
from intertie.ports import Now

if TYPE_CHECKING:
    from federation.domain.core import FederationCore


def wait_of(core: "FederationCore", task: Task, now: Now) -> Wait | None:
    """Why a live task does not run, at this moment."""
    if task.state is TaskState.PENDING:
        return core.queue.wait_of(task.id)
    run = task.run
    if task.state is TaskState.ASSIGNED and run is not None:
        return Wait(
            reason=WaitReason.QUEUED_IN_REGION,
            detail=f"{run.region} has it as {run.state.value}",
            since_ms=run.assigned_ms,
        )
    if task.state is TaskState.UNKNOWN:
        return _unknown(core, task, now)
    if task.state is TaskState.CANCELLING:
        return _cancelling(core, task)
    return None


def explain(core: "FederationCore", task: Task, now: Now) -> Plan:
    """Per region why a live task may or may not run there, and what would change it."""
    assert task.spec is not None, "a live task holds its spec"
    demand = core.router.classes.of(task.spec, task.excluded, task.project)
    verdicts = tuple(core.router.verdicts(demand, now))
    waits = task.state is TaskState.PENDING
    return Plan(
        verdicts=verdicts,
        chosen=task.region,
        remedy=remedy_for(demand, verdicts, core.fleet.members) if waits else "",
        state=task.state,
        wait=wait_of(core, task, now),
    )


def explain_decision(core: "FederationCore", task: Task, decision: Decision) -> Plan:
    """A past decision as it was kept, made again, and compared with the world of now."""
    runs = (run for run in task.runs if run.decision == decision.id)
    return Plan(
        verdicts=(),
        chosen=next((run.region for run in runs), ""),
        state=task.state,
        decision=decision,
        differences=differences(decision),
        since_then=since_then(decision, core.fleet.members, core.router.inputs()),
    )


def _cancelling(core: "FederationCore", task: Task) -> Wait:
    """A task is cancelled when its region has said that nothing runs any longer, not before."""
    run = task.run
    assert run is not None, "a task that holds no run is cancelled at once"
    if core.fleet.lost_since(task.region) is not None:
        return Wait(
            reason=WaitReason.STALE,
            detail=f"{task.region} is out of touch; it hears of the cancellation when it is back",
            since_ms=task.updated_ms,
            next="the region answers",
        )
    if run.message:
        return Wait(
            reason=WaitReason.STALE,
            detail=run.message,
            since_ms=task.updated_ms,
            next="the node answers, or comes back as another boot or with another keeper",
        )
    return Wait(
        reason=WaitReason.QUEUED_IN_REGION,
        detail=f"{run.region} has it as {run.state.value}",
        since_ms=task.updated_ms,
        next="the region says that nothing runs any longer",
    )


def _unknown(core: "FederationCore", task: Task, now: Now) -> Wait:
    assert task.spec is not None, "a live task holds its spec"
    detail = f"{task.region} is out of touch; nothing was restarted"
    if task.spec.tolerance.on_disconnect is OnDisconnect.STAY:
        return Wait(reason=WaitReason.STALE, detail=detail, next="the region answers")
    due = core.regions.move_due(task)
    return Wait(
        reason=WaitReason.STALE,
        detail=detail,
        next="the region answers, or a new run starts elsewhere",
        next_ms=now.utc_ms + max(0, (due - now.boot_ns) // MS),
    )
