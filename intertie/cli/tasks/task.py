"""`intertie task ...`: what there is, what happens to it, and why."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, TypeVar

import typer

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output, Project, TaskId
from intertie.cli.policy.where import residency
from intertie.cli.printing import json_line, lines
from intertie.cli.tasks import files
from intertie.cli.tasks.ending import goes_on, wait_for, worst
from intertie.cli.tasks.plan_view import show_plan
from intertie.cli.tasks.resolve import resolve
from intertie.cli.tasks.views import EVENTS, RUNS, TASK, TASKS, event_line
from intertie.model.states import TaskState
from intertie.model.task import Plan, Run, Task, TaskEvent
from intertie.sdk.calls.watching import is_settled
from intertie.sdk.client import Client
from intertie.sdk.protojson import json_of

app = typer.Typer(no_args_is_help=True, help="See, watch, explain and end tasks.")
app.command("logs")(files.logs)
app.command("outputs")(files.outputs)
app.command("residency")(residency)

T = TypeVar("T")


@app.command("list")
def list_(
    ctx: typer.Context,
    state: Annotated[TaskState | None, typer.Option("--state", help="Only in this state.")] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="Repeatable.")
    ] = None,
    expression: Annotated[
        str, typer.Option("--filter", help='AIP-160: region = "eu" AND kind != "generic".')
    ] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 100,
    project: Project = "",
    output: Output = Format.TABLE,
) -> None:
    """List tasks, newest first."""
    parts = [f'state = "{state}"'] if state else []
    for pair in label or []:
        key, _, value = pair.partition("=")
        parts.append(f'labels.{key} = "{value}"')
    wanted = " AND ".join([*parts, *([expression] if expression else [])])

    async def ask() -> list[Task]:
        async with open_client(ctx, project) as client:
            return await _first(client.list_tasks(wanted), limit)

    TASKS.many(run(ask()), output)


@app.command()
def show(
    ctx: typer.Context, task_id: TaskId, project: Project = "", output: Output = Format.TABLE
) -> None:
    """Show one task."""

    async def ask() -> Task:
        async with open_client(ctx, project) as client:
            return await resolve(client, task_id)

    TASK.one(run(ask()), output)


@app.command()
def watch(
    ctx: typer.Context,
    task_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="None: all of the project.")
    ] = None,
    project: Project = "",
    output: Output = Format.TABLE,
) -> None:
    """Print changes as they happen, until all named tasks have ended."""

    async def follow() -> None:
        async with open_client(ctx, project) as client:
            names = [str((await resolve(client, text)).name) for text in task_ids or []]
            await _watch(client, names, output)

    run(follow(), lambda: "")


async def _watch(client: Client, names: list[str], output: Format) -> None:
    open_ = set(names)
    batches = client.watch_tasks(names, send_initial=bool(names))
    async with aclosing(batches) as stream:
        async for batch in stream:
            for event in batch.events:
                _print_event(event, output)
            open_ -= {str(task.name) for task in batch.tasks if is_settled(task)}
            if names and not open_:
                return


def _print_event(event: TaskEvent, output: Format) -> None:
    if output in (Format.JSON, Format.YAML):
        json_line(json_of(event))
    elif output is Format.NAME:
        lines([event.task])
    else:
        lines([event_line(event)])


@app.command()
def wait(
    ctx: typer.Context,
    task_ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Give up after SECONDS.")
    ] = None,
    propagate: Annotated[
        bool, typer.Option("--propagate-exit-code", help="Exit as the task's program did.")
    ] = False,
    project: Project = "",
    output: Output = Format.TABLE,
) -> None:
    """Wait until tasks have ended; the exit code is that of `submit --wait`."""
    names: list[str] = []

    async def until_ended() -> list[Task]:
        async with open_client(ctx, project) as client:
            names.extend([str((await resolve(client, text)).name) for text in task_ids])
            return await wait_for(client, names, timeout_s=timeout, quiet=False)

    ended = run(until_ended(), lambda: goes_on(names))
    TASKS.many(ended, output)
    raise typer.Exit(worst(ended, propagate=propagate))


@app.command()
def events(
    ctx: typer.Context, task_id: TaskId, project: Project = "", output: Output = Format.TABLE
) -> None:
    """List every change of a task, oldest first."""

    async def ask() -> list[TaskEvent]:
        async with open_client(ctx, project) as client:
            name = str((await resolve(client, task_id)).name)
            return [event async for event in client.list_task_events(name)]

    EVENTS.many(run(ask()), output)


@app.command()
def runs(
    ctx: typer.Context, task_id: TaskId, project: Project = "", output: Output = Format.TABLE
) -> None:
    """List the runs of a task, oldest first."""

    async def ask() -> list[Run]:
        async with open_client(ctx, project) as client:
            name = str((await resolve(client, task_id)).name)
            return [item async for item in client.list_runs(name)]

    RUNS.many(run(ask()), output)


@app.command()
def explain(
    ctx: typer.Context,
    task_id: TaskId,
    decision: Annotated[
        int,
        typer.Option(
            "--decision", min=0, metavar="N", help="Make the decision that began run N again."
        ),
    ] = 0,
    project: Project = "",
    output: Output = Format.TABLE,
) -> None:
    """Say per region why a task runs, waits or cannot run, and what would change that."""

    async def ask() -> Plan:
        async with open_client(ctx, project) as client:
            name = str((await resolve(client, task_id)).name)
            return await client.explain_task(name, decision=decision)

    show_plan(run(ask()), output)


@app.command()
def cancel(
    ctx: typer.Context,
    task_id: TaskId,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")] = "",
    wait_: Annotated[bool, typer.Option("--wait", help="Wait until nothing of it runs.")] = False,
    project: Project = "",
    output: Output = Format.TABLE,
) -> None:
    """End a task. It is CANCELLING until its region confirms that nothing runs."""

    async def ask() -> Task:
        async with open_client(ctx, project) as client:
            name = str((await resolve(client, task_id)).name)
            asked = await client.cancel_task(name, reason)
            if not wait_:
                return asked
            return (await wait_for(client, [name], timeout_s=None, quiet=False))[0]

    TASKS.many([run(ask())], output)


async def _first(items: AsyncIterator[T], limit: int) -> list[T]:
    found: list[T] = []
    async for item in items:
        found.append(item)
        if len(found) == limit:
            break
    return found
