"""Reading what tasks wrote: logs by offset, outputs into files that are whole or not there.

A stream that breaks goes on at the next byte. A download is checked against its digest before it
gets its name; paths come from another machine, so each is checked before a file is made.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.errors import IntertieError, Reason, error
from intertie.model.texts import relative_path_fault
from intertie.sdk.calls.uploading import OnProgress, Progress
from intertie.sdk.connection import Connection
from intertie.sdk.resources import LogChunk, TaskOutput

STREAMS = ("stdout", "stderr")


async def read_log(
    connection: Connection,
    name: str,
    *,
    run: int,
    stream: str = "stdout",
    offset: int = 0,
    tail_bytes: int = 0,
    follow: bool = False,
    rank: int = 0,
    patience_s: float | None = None,
) -> AsyncGenerator[LogChunk, None]:
    """Stream one log of one run.

    Args:
        connection: to the federation.
        name: full name of the task.
        run: number of the run.
        stream: `stdout` or `stderr`.
        offset: absolute offset to begin at.
        tail_bytes: if above 0, begin this many bytes before the end instead.
        follow: go on until the run has ended, also over broken connections.
        rank: rank in a gang.
        patience_s: how long the stream may stay broken.
    """
    if patience_s is None and not follow:
        patience_s = connection.patience.retry_s
    next_offset, tail = offset, tail_bytes

    async def reopen() -> AsyncGenerator[pb.ReadTaskLogsResponse, None]:
        request = pb.ReadTaskLogsRequest(
            name=name,
            run=run,
            rank=rank,
            stream=stream,
            offset=next_offset,
            tail_bytes=tail,
            follow=follow,
        )
        opened = connection.stream(TaskServiceStub, "ReadTaskLogs", request)
        async with aclosing(opened) as responses:
            async for response in responses:
                yield response

    async with aclosing(connection.resumed(reopen, patience_s=patience_s)) as responses:
        async for response in responses:
            next_offset, tail = response.offset + len(response.data), 0
            yield LogChunk(run, stream, response.offset, response.data)


async def download(
    connection: Connection,
    name: str,
    output: TaskOutput,
    folder: Path,
    on_progress: OnProgress | None = None,
) -> Path:
    """Write one output of a task to its path below `folder`, whole or not at all."""
    if fault := relative_path_fault(output.path):
        raise error(Reason.INVALID_FIELD, f"The output has a path that is not usable: {fault}.")
    target = folder / output.path
    await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise error(
            Reason.INVALID_FIELD,
            f"{target} lies outside of {folder}, through a link.",
            remedy="Download into an empty folder.",
        )
    partial = target.with_name(f".{target.name}.part")
    try:
        await _fill(connection, name, output, partial, on_progress)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


async def _fill(
    connection: Connection,
    name: str,
    output: TaskOutput,
    partial: Path,
    on_progress: OnProgress | None,
) -> None:
    offset = 0

    async def reopen() -> AsyncGenerator[pb.ReadTaskOutputResponse, None]:
        request = pb.ReadTaskOutputRequest(name=name, path=output.path, offset=offset)
        opened = connection.stream(TaskServiceStub, "ReadTaskOutput", request)
        async with aclosing(opened) as responses:
            async for response in responses:
                yield response

    hasher = hashlib.sha256()
    with partial.open("wb") as file:
        async with aclosing(connection.resumed(reopen)) as responses:
            async for response in responses:
                if response.offset != offset:
                    raise _broken(output, f"bytes of offset {response.offset}, not {offset}")
                hasher.update(response.data)
                await asyncio.to_thread(file.write, response.data)
                offset += len(response.data)
                if on_progress is not None:
                    on_progress(Progress(offset, output.size))
    if offset != output.size or hasher.hexdigest() != output.sha256:
        raise _broken(output, f"{offset} bytes with another digest than its {output.size}")


def _broken(output: TaskOutput, got: str) -> IntertieError:
    return error(
        Reason.DIGEST_MISMATCH,
        f"Output {output.path}: the region sent {got}.",
        remedy="Try again; if it stays so, tell the region's operator.",
    )
