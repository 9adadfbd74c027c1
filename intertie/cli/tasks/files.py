"""`intertie task logs` and `task outputs`: what a task wrote."""

import sys
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output, Project, TaskId
from intertie.cli.printing import lines, progress_is_shown
from intertie.cli.tasks.resolve import resolve
from intertie.cli.tasks.views import OUTPUTS
from intertie.errors import IntertieError, Reason, error
from intertie.sdk.calls.reading import STREAMS
from intertie.sdk.calls.uploading import Progress as Received
from intertie.sdk.client import Client
from intertie.sdk.resources import LogChunk, TaskOutput

_BYTES_OF_A_LINE = 200
"""How many bytes are fetched for each line of --tail; lines that are longer are cut off."""


def write_chunk(chunk: LogChunk) -> None:
    """Write bytes of a log as they are: stderr to stderr, the rest to stdout."""
    target = sys.stderr if chunk.stream == "stderr" else sys.stdout
    target.buffer.write(chunk.data)
    target.buffer.flush()


def logs(
    ctx: typer.Context,
    task_id: TaskId,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the task has ended, over all runs.")
    ] = False,
    tail: Annotated[int, typer.Option("--tail", min=0, help="The last N lines only.")] = 0,
    stderr: Annotated[bool, typer.Option("--stderr", help="The error stream, not stdout.")] = False,
    number: Annotated[int, typer.Option("--run", min=0, help="Run N; 0 is the newest.")] = 0,
    project: Project = "",
) -> None:
    """Print what a task wrote, byte for byte."""
    stream = STREAMS[1] if stderr else STREAMS[0]

    async def read() -> None:
        async with open_client(ctx, project) as client:
            name = str((await resolve(client, task_id)).name)
            if follow and not number and not tail:
                async with aclosing(client.follow_logs(name, [stream])) as chunks:
                    async for chunk in chunks:
                        _out(chunk.data)
                return
            await _read(client, name, stream, number, tail, follow=follow)

    run(read(), lambda: "interrupted; the task goes on")


async def _read(
    client: Client, name: str, stream: str, number: int, tail: int, *, follow: bool
) -> None:
    offset = 0
    if tail:
        lines, offset = await _tail(client, name, stream, number, tail, may_wait=follow)
        _out(lines)
        if not follow:
            return
    chunks = client.log_chunks(name, run=number, stream=stream, offset=offset, follow=follow)
    async with aclosing(chunks) as opened:
        async for chunk in opened:
            _out(chunk.data)


async def _tail(
    client: Client, name: str, stream: str, number: int, count: int, *, may_wait: bool
) -> tuple[bytes, int]:
    """The last lines of what was written so far, and the offset where more will follow.

    `may_wait`: a task without a run has none yet, for which a follower waits.
    """
    held, offset = b"", 0
    chunks = client.log_chunks(name, run=number, stream=stream, tail_bytes=count * _BYTES_OF_A_LINE)
    try:
        async with aclosing(chunks) as opened:
            async for chunk in opened:
                held += chunk.data
                offset = chunk.offset + len(chunk.data)
    except IntertieError as fault:
        if not may_wait or fault.reason is not Reason.NOT_FOUND:
            raise
    return b"".join(held.splitlines(keepends=True)[-count:]), offset


def _out(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def outputs(
    ctx: typer.Context,
    task_id: TaskId,
    download: Annotated[
        Path | None, typer.Option("--download", metavar="DIR", help="Write them below DIR.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--path", help="Only this output. Repeatable.")
    ] = None,
    project: Project = "",
    output: Output = Format.TABLE,
) -> None:
    """List the results of a task, or download them."""

    async def work() -> tuple[list[TaskOutput], list[Path]]:
        async with open_client(ctx, project) as client:
            name = str((await resolve(client, task_id)).name)
            found = [item async for item in client.list_outputs(name)]
            chosen = _chosen(found, only or [])
            if download is None:
                return chosen, []
            return chosen, await _download(client, name, chosen, download)

    found, written = run(work())
    if download is not None and output is Format.TABLE:
        lines(str(path) for path in written)
    else:
        OUTPUTS.many(found, output)


def _chosen(found: list[TaskOutput], only: list[str]) -> list[TaskOutput]:
    known = {item.path for item in found}
    for path in only:
        if path not in known:
            raise error(
                Reason.NOT_FOUND,
                f"The task has no output {path!r}; it has: {', '.join(sorted(known)) or 'none'}.",
                remedy="Give one of these.",
            )
    return [item for item in found if not only or item.path in only]


async def _download(
    client: Client, name: str, chosen: list[TaskOutput], folder: Path
) -> list[Path]:
    written = []
    with ExitStack() as stack:
        bar: Progress | None = None
        if progress_is_shown():
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            stack.enter_context(bar)
        for item in chosen:
            row = bar.add_task(item.path, total=item.size) if bar is not None else None

            def shown(got: Received, bar: Progress | None = bar, row: object = row) -> None:
                if bar is not None and row is not None:
                    bar.update(row, completed=got.done)  # type: ignore[arg-type]  # TaskID is an int

            written.append(await client.download_output(name, item, folder, shown))
    return written
