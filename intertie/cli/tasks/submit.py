"""`intertie submit`: pack, upload, create; and, if asked, follow and wait to the end."""

from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output, Project
from intertie.cli.printing import lines, notice, progress_is_shown, structured
from intertie.cli.tasks.ending import goes_on, state_line, wait_for, worst
from intertie.cli.tasks.files import write_chunk
from intertie.cli.tasks.specs import Changes, Given, TaskFile, read_task
from intertie.cli.tasks.views import TASK, TASKS
from intertie.errors import invalid
from intertie.model.task import Task
from intertie.sdk.calls.packing import pack
from intertie.sdk.calls.together import together
from intertie.sdk.calls.uploading import OnProgress
from intertie.sdk.calls.uploading import Progress as Sent
from intertie.sdk.client import Client
from intertie.sdk.protojson import json_of


@dataclass(slots=True)
class Submission:
    """What is submitted and how; `names` grows as tasks are created."""

    given: Given
    count: int
    wait: bool
    follow: bool
    timeout_s: float | None
    quiet: bool
    fail_if_unmatched: bool
    names: list[str] = field(default_factory=list)


def submit(
    ctx: typer.Context,
    file: TaskFile,
    changes: Changes = None,
    name: Annotated[str, typer.Option("--name", help="Display name, instead of the file's.")] = "",
    project: Project = "",
    count: Annotated[int, typer.Option("--count", min=1, max=100_000, help="How many.")] = 1,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Print its output as it is written; waits too.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Give up waiting after SECONDS.")
    ] = None,
    propagate: Annotated[
        bool, typer.Option("--propagate-exit-code", help="Exit as the task's program did.")
    ] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print names only.")] = False,
    validate_only: Annotated[
        bool, typer.Option("--validate-only", help="Have everything checked, create nothing.")
    ] = False,
    fail_if_unmatched: Annotated[
        bool, typer.Option("--fail-if-unmatched", help="Fail if no region could ever run it.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Submit a task.

    With --wait the exit code is 0 if it succeeded, 10 failed, 11 cancelled, 12 parked, 13 over its
    time. Ctrl-C leaves it running.
    """
    given = read_task(file, [*(changes or ()), *([f"name={name}"] if name else ())])
    if follow and (count > 1 or given.spec.array > 1):
        raise invalid("--follow", "follows one task", remedy="Use intertie task logs for each.")
    if validate_only:
        _validate(ctx, given, project, output)
        return
    work = Submission(given, count, wait or follow, follow, timeout, quiet, fail_if_unmatched)

    async def all_of_it() -> list[Task]:
        async with open_client(ctx, project) as client:
            return await _submit(client, work, output)

    ended = run(all_of_it(), lambda: goes_on(work.names))
    raise typer.Exit(worst(ended, propagate=propagate))


def _validate(ctx: typer.Context, given: Given, project: str, output: Format) -> None:
    async def check() -> None:
        async with open_client(ctx, project) as client:
            spec = await client.validate_task(given.spec, base=given.base)
        if output in (Format.JSON, Format.YAML):
            structured(json_of(spec), output)
        else:
            lines([f"{spec.name or 'the task'} is valid"])

    run(check())


async def _submit(client: Client, work: Submission, output: Format) -> list[Task]:
    with ExitStack() as stack:
        shown = upload_progress(stack)
        if work.count == 1:
            created = await _create_one(client, work, shown)
        else:
            created = []
            await _create_many(client, work, shown)
    if not work.wait:
        _print_submitted(created, work, output)
        return []
    if not work.quiet:
        notice(f"submitted {', '.join(work.names[:3])}{', ...' if len(work.names) > 3 else ''}")
    ended = await (_follow if work.follow else _wait)(client, work)
    if not work.follow or output is not Format.TABLE:
        _print_ended(ended, work, output)
    return ended


async def _wait(client: Client, work: Submission) -> list[Task]:
    return await wait_for(client, work.names, timeout_s=work.timeout_s, quiet=work.quiet)


async def _follow(client: Client, work: Submission) -> list[Task]:
    """Print the output as it comes, tell states meanwhile, and the end after the last of it."""

    async def copy() -> list[Task]:
        async with aclosing(client.follow_logs(work.names[0])) as chunks:
            async for chunk in chunks:
                write_chunk(chunk)
        return []

    waiting = wait_for(client, work.names, timeout_s=work.timeout_s, quiet=work.quiet, ends=False)
    _, ended = await together([copy(), waiting])
    if not work.quiet:
        notice(state_line(ended[0]))
    return ended


async def _create_one(client: Client, work: Submission, shown: OnProgress | None) -> list[Task]:
    """One task, or all tasks of one array."""
    first = await client.create_task(
        work.given.spec,
        base=work.given.base,
        fail_if_unmatched=work.fail_if_unmatched,
        on_progress=shown,
    )
    created = [first]
    if first.group:
        created = [task async for task in client.list_tasks(f'group = "{first.group}"')]
        created.sort(key=lambda task: task.index)
    work.names += [str(task.name) for task in created]
    return created


async def _create_many(client: Client, work: Submission, shown: OnProgress | None) -> None:
    packed = pack(work.given.spec, work.given.base)
    await client.upload(packed, shown)
    results = await client.create_tasks([packed.spec] * work.count)
    work.names += [result.task for result in results if result.task]
    refused = [result.error for result in results if result.error is not None]
    if refused:
        notice(f"{len(refused)} of {work.count} tasks were refused, the others are submitted")
        raise refused[0]


def _print_submitted(created: Sequence[Task], work: Submission, output: Format) -> None:
    structure = output in (Format.JSON, Format.YAML) and not work.quiet
    if structure and len(created) == 1:
        TASK.one(created[0], output)
    elif structure and created:
        TASKS.many(created, output)
    elif structure:
        structured({"tasks": [{"name": name} for name in work.names]}, output)
    elif output is Format.NAME or work.quiet or len(work.names) > 1:
        lines(work.names)
    else:
        lines([f"submitted {work.names[0]}"])


def _print_ended(ended: Sequence[Task], work: Submission, output: Format) -> None:
    if work.quiet:
        lines(str(task.name) for task in ended)
    elif len(ended) == 1:
        TASK.one(ended[0], output)
    else:
        TASKS.many(ended, output)


def upload_progress(stack: ExitStack) -> OnProgress | None:
    """A bar on stderr while files are sent, if somebody looks."""
    if not progress_is_shown():
        return None
    bar = Progress(
        TextColumn("uploading"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("uploading", visible=False)
    stack.enter_context(bar)

    def shown(sent: Sent) -> None:
        bar.update(task, completed=sent.done, total=sent.total, visible=sent.total > 0)

    return shown
