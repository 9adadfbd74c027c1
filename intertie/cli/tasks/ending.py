"""Waiting for tasks on the terminal, and the exit code that tells how they ended."""

from collections.abc import Iterable, Mapping, Sequence

from intertie.cli.printing import notice
from intertie.cli.tasks.views import display_name, why
from intertie.errors import Exit
from intertie.model.states import FailureClass, TaskState
from intertie.model.task import Task
from intertie.sdk.client import Client

_CODES: Mapping[TaskState, int] = {
    TaskState.SUCCEEDED: Exit.OK,
    TaskState.FAILED: Exit.TASK_FAILED,
    TaskState.CANCELLED: Exit.TASK_CANCELLED,
    TaskState.PARKED: Exit.TASK_PARKED,
}
_SIGNALLED = 128


def exit_code(task: Task, *, propagate: bool = False) -> int:
    """The exit code of a settled task (contract.md); with `propagate` its program's own."""
    code = _CODES[task.state]
    if task.state is TaskState.FAILED and task.failure_class is FailureClass.TIME_LIMIT:
        code = Exit.TASK_TIMED_OUT
    if propagate and task.exit_code:
        return task.exit_code
    if propagate and task.state is TaskState.FAILED and task.run and task.run.signal:
        return _SIGNALLED + task.run.signal
    return code


def worst(tasks: Iterable[Task], *, propagate: bool = False) -> int:
    """The exit code of the first task that did not succeed, 0 if all did."""
    codes = [exit_code(task, propagate=propagate) for task in tasks]
    return next((code for code in codes if code != Exit.OK), Exit.OK)


class StateLines:
    """Tells each change of state on stderr, once.

    Args:
        quiet: tell nothing.
        ends: also tell how a task ended; False where its last output is to come first.
    """

    def __init__(self, *, quiet: bool = False, ends: bool = True) -> None:
        self._quiet = quiet
        self._ends = ends
        self._told: dict[str, tuple[object, ...]] = {}

    def __call__(self, task: Task) -> None:
        """Take in the present state of a task."""
        run = task.run
        told = (task.state, run.n if run else 0, run.state if run else None, run and run.node)
        if self._quiet or self._told.get(task.id) == told or (task.is_final and not self._ends):
            return
        self._told[task.id] = told
        notice(state_line(task))


def state_line(task: Task) -> str:
    """A task's state as one line."""
    run = task.run
    where = ""
    if run is not None and not task.is_final:
        where = f" run {run.n} {run.state.lower()} at {run.region}"
        where += f" on {run.node}" if run.node else ""
    name = display_name(task) or task.id
    reason = why(task)
    return f"{name}: {task.state}{where}{f' ({reason})' if reason else ''}"


async def wait_for(
    client: Client,
    names: Sequence[str],
    *,
    timeout_s: float | None,
    quiet: bool,
    ends: bool = True,
) -> list[Task]:
    """Wait until all are settled, telling changes on stderr; in the order of the names."""
    tell = StateLines(quiet=quiet, ends=ends)
    found = await client.wait_all(names, timeout_s=timeout_s, on_task=tell)
    return [found[name] for name in names]


def goes_on(names: Sequence[str]) -> str:
    """What to tell after Ctrl-C: the tasks go on."""
    if not names:
        return "interrupted before anything was submitted"
    first = names[0].rpartition("/")[2]
    subject = "the task goes on" if len(names) == 1 else f"the {len(names)} tasks go on"
    return (
        f"interrupted; {subject}. Go on watching: intertie task watch {first};"
        f" end it: intertie task cancel {first}"
    )
