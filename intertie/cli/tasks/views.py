"""Tasks, runs, events and outputs as columns."""

from intertie.cli.printing import Column, View
from intertie.cli.shown import age, duration, instant, number, short, size
from intertie.model.states import TaskState
from intertie.model.task import Run, Task, TaskEvent
from intertie.sdk.protojson import json_of
from intertie.sdk.resources import TaskOutput


def display_name(task: Task) -> str:
    """What people call it; an index after the name in an array."""
    name = task.spec.name if task.spec else ""
    return f"{name}[{task.index}]" if task.group else name


_UNDER_WAY = frozenset({TaskState.ASSIGNED, TaskState.RUNNING})


def why(task: Task) -> str:
    """Why it waits, or how it ended; what ended an earlier run is told by that run."""
    if task.wait is not None:
        return f"{task.wait.reason}: {task.wait.detail}" if task.wait.detail else task.wait.reason
    if task.failure_class is not None:
        return f"{task.failure_class}: {task.message}" if task.message else task.failure_class
    return "" if task.state in _UNDER_WAY else task.message


def _next(task: Task) -> str:
    if task.wait is None or not task.wait.next:
        return ""
    due = f" at {instant(task.wait.next_ms)}" if task.wait.next_ms else ""
    return f"{task.wait.next}{due}"


def _node(task: Task) -> str:
    return task.run.node if task.run else ""


def _checkpoint(task: Task) -> str:
    found = task.checkpoint
    return f"step {found.step}, {size(found.size)}" if found else ""


TASKS: View[Task] = View(
    "tasks",
    (
        Column("NAME", display_name),
        Column("ID", lambda task: task.id),
        Column("STATE", lambda task: task.state),
        Column("REGION", lambda task: task.region),
        Column("AGE", lambda task: age(task.created_ms)),
        Column("EXIT", lambda task: number(task.exit_code)),
        Column("WHY", lambda task: short(why(task))),
        Column("NODE", _node, wide=True),
        Column("ATTEMPTS", lambda task: str(task.attempts), wide=True),
        Column("CHECKPOINT", _checkpoint, wide=True),
        Column("CREATED", lambda task: instant(task.created_ms), wide=True),
        Column("ENDED", lambda task: instant(task.ended_ms), wide=True),
        Column("GROUP", lambda task: task.group, wide=True),
    ),
    lambda task: str(task.name),
    json_of,
)

TASK: View[Task] = View(
    "tasks",
    (
        Column("task", lambda task: str(task.name)),
        Column("display name", display_name),
        Column("state", lambda task: task.state),
        Column("why", why),
        Column("next", _next),
        Column("region", lambda task: task.region),
        Column("node", _node),
        Column("exit code", lambda task: number(task.exit_code)),
        Column("attempts", lambda task: str(task.attempts)),
        Column("excluded", lambda task: ", ".join(task.excluded)),
        Column("checkpoint", _checkpoint),
        Column("created", lambda task: instant(task.created_ms)),
        Column("updated", lambda task: instant(task.updated_ms)),
        Column("ended", lambda task: instant(task.ended_ms)),
        Column("group", lambda task: task.group),
        Column("cancelled because", lambda task: task.cancel_reason),
    ),
    lambda task: str(task.name),
    json_of,
)


def _ended(run: Run) -> str:
    return run.outcome.value if run.outcome else ""


RUNS: View[Run] = View(
    "runs",
    (
        Column("RUN", lambda run: str(run.n)),
        Column("STATE", lambda run: run.state),
        Column("OUTCOME", _ended),
        Column("REGION", lambda run: run.region),
        Column("NODE", lambda run: run.node),
        Column("EXIT", lambda run: number(run.exit_code)),
        Column("USEFUL", lambda run: duration(run.useful_ms)),
        Column("LOST", lambda run: duration(run.lost_ms)),
        Column("RESUMED", lambda run: f"step {run.resumed_step}" if run.resumed_step else ""),
        Column("WHY", lambda run: short(_run_why(run))),
        Column("TOKEN", lambda run: str(run.token), wide=True),
        Column("PLACEMENTS", lambda run: str(run.placements), wide=True),
        Column("JURISDICTION", lambda run: run.jurisdiction, wide=True),
        Column("STARTED", lambda run: instant(run.started_ms), wide=True),
        Column("ENDED", lambda run: instant(run.ended_ms), wide=True),
        Column("EXCLUDED", lambda run: ", ".join(run.excluded), wide=True),
    ),
    lambda run: str(run.n),
    json_of,
)


def _run_why(run: Run) -> str:
    parts = [run.failure_class.value if run.failure_class else "", run.cause, run.message]
    return ": ".join(part for part in parts if part)


EVENTS: View[TaskEvent] = View(
    "events",
    (
        Column("TIME", lambda event: instant(event.at_ms)),
        Column("FROM", lambda event: event.before.value if event.before else ""),
        Column("TO", lambda event: event.after),
        Column("RUN", lambda event: number(event.run or None)),
        Column("RUN STATE", lambda event: event.run_state.value if event.run_state else ""),
        Column("REASON", lambda event: event.reason),
        Column("MESSAGE", lambda event: short(event.message)),
        Column("ACTOR", lambda event: event.actor, wide=True),
    ),
    lambda event: event.after.value,
    json_of,
)

OUTPUTS: View[TaskOutput] = View(
    "outputs",
    (
        Column("PATH", lambda output: output.path),
        Column("SIZE", lambda output: size(output.size)),
        Column("RUN", lambda output: str(output.run)),
        Column("SHA256", lambda output: output.sha256, wide=True),
    ),
    lambda output: output.path,
    json_of,
)


def event_line(event: TaskEvent) -> str:
    """One change as a line of a stream."""
    run = f" run {event.run}" if event.run else ""
    inner = f" ({event.run_state.lower()})" if event.run_state else ""
    rest = " ".join(part for part in (event.reason, short(event.message, 100)) if part)
    task = event.task.rpartition("/")[2]
    return f"{instant(event.at_ms)}  {task}  {event.after}{run}{inner}  {rest}".rstrip()
