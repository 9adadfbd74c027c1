"""`intertie pool submit-native`: a task of the region's own; and, if asked, wait to its end.

A region's server gives states and ends, no output: `--follow` is not offered here.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated

import typer

from intertie.cli.calling import open_pool, run
from intertie.cli.options import Format, Output
from intertie.cli.pools.views import RUNS
from intertie.cli.printing import lines, notice
from intertie.cli.tasks.specs import Changes, TaskFile, read_task
from intertie.cli.tasks.submit import upload_progress
from intertie.errors import Exit
from intertie.model.states import Outcome
from intertie.sdk.resources import PoolRun

_CODES: Mapping[Outcome, int] = {
    Outcome.SUCCEEDED: Exit.OK,
    Outcome.CANCELLED: Exit.TASK_CANCELLED,
    Outcome.EVICTED: Exit.TASK_CANCELLED,
    Outcome.TIMED_OUT: Exit.TASK_TIMED_OUT,
}
"""All other outcomes are failures."""


@dataclass(slots=True)
class _RunLines:
    """Tells each change of a run on stderr, once."""

    quiet: bool
    told: tuple[object, ...] = ()

    def __call__(self, run: PoolRun) -> None:
        now = (run.state, run.token, run.node)
        if self.quiet or now == self.told:
            return
        self.told = now
        ended = run.outcome.value if run.outcome is not None else run.state.value
        where = f" on {run.node}" if run.node and run.outcome is None else ""
        why = f" ({run.message})" if run.message else ""
        notice(f"{run.task.rpartition('/')[2]}: {ended}{where}{why}")


def exit_code(ended: PoolRun, *, propagate: bool) -> int:
    """The exit code of an ended run; with `propagate` its program's own."""
    if propagate and ended.exit_code:
        return ended.exit_code
    if ended.outcome is None:
        return Exit.OK
    return _CODES.get(ended.outcome, Exit.TASK_FAILED)


def submit_native(
    ctx: typer.Context,
    file: TaskFile,
    changes: Changes = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Give up waiting after SECONDS.")
    ] = None,
    propagate: Annotated[
        bool, typer.Option("--propagate-exit-code", help="Exit as the task's program did.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print names only.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Submit a task of the region's own, which no federation sees or bills.

    Its files go to the region alone. With --wait the exit code is 0 if it succeeded, 10 failed,
    11 cancelled or evicted, 13 over its time. Ctrl-C leaves it running.
    """
    given = read_task(file, changes)
    names: list[str] = []

    async def all_of_it() -> PoolRun:
        async with open_pool(ctx) as client:
            with ExitStack() as stack:
                shown = upload_progress(stack)
                made = await client.create_native_task(
                    given.spec, base=given.base, on_progress=shown
                )
            names.append(made.task)
            if not wait:
                return made
            if not quiet:
                notice(f"submitted {made.task}")
            return await client.wait_run(made.task, timeout_s=timeout, on_run=_RunLines(quiet))

    last = run(all_of_it(), lambda: _goes_on(names))
    if quiet:
        lines([last.task])
    else:
        RUNS.one(last, output)
    raise typer.Exit(exit_code(last, propagate=propagate) if wait else Exit.OK)


def _goes_on(names: list[str]) -> str:
    if not names:
        return "interrupted before anything was submitted"
    task = names[0].rpartition("/")[2]
    return f"interrupted; the task goes on. Stop it: intertie run evict {task} --reason WHY"


def add_to(pool: typer.Typer) -> None:
    """Add the command."""
    pool.command("submit-native")(submit_native)
