"""Following a task's logs over all its runs: when it moves, the logs of the next run come next."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.errors import IntertieError, Reason
from intertie.model.names import TaskName
from intertie.model.task import Task
from intertie.sdk.calls.reading import STREAMS, read_log
from intertie.sdk.calls.together import merged
from intertie.sdk.calls.watching import is_settled, watch
from intertie.sdk.connection import Connection, is_unavailable
from intertie.sdk.resources import LogChunk
from intertie.wire.tasks import task_from_pb

_PAUSE_S = 0.5


async def follow(
    connection: Connection, name: TaskName, streams: Sequence[str] = STREAMS
) -> AsyncGenerator[LogChunk, None]:
    """Stream the logs of all runs of a task, until it is settled and all is read."""
    seen = 0
    parent = f"projects/{name.project}"
    batches = watch(connection, parent, tasks=[str(name)], send_initial=True)
    async with aclosing(batches) as watching:
        async for batch in watching:
            for task in batch.tasks:
                for run in task.runs:
                    if run.n <= seen:
                        continue
                    seen = run.n
                    async for chunk in _run(connection, name, run.n, streams):
                        yield chunk
                newest = await _get(connection, name) if task.runs else task
                if is_settled(newest) and (newest.run is None or newest.run.n <= seen):
                    return


async def _run(
    connection: Connection, name: TaskName, run: int, streams: Sequence[str]
) -> AsyncIterator[LogChunk]:
    sources = [_stream(connection, name, run, stream) for stream in streams]
    async for chunk in merged(sources):
        yield chunk


async def _stream(
    connection: Connection, name: TaskName, run: int, stream: str
) -> AsyncGenerator[LogChunk, None]:
    """One log of one run, also one that is not there yet; until all of it is read.

    Given up when a newer run has taken over, or when the task has ended and nothing was kept.
    """
    offset = 0
    clock = connection.clock
    settled_ns: int | None = None
    was_settled = False
    while True:
        reading = read_log(
            connection, str(name), run=run, stream=stream, offset=offset, follow=True, patience_s=0
        )
        try:
            async with aclosing(reading) as chunks:
                async for chunk in chunks:
                    offset = chunk.offset + len(chunk.data)
                    yield chunk
                return
        except IntertieError as problem:
            absent = problem.reason is Reason.NOT_FOUND
            if not absent and not is_unavailable(problem):
                raise
            task = await _get(connection, name)
            if task.run is not None and task.run.n > run:
                return
            if absent and was_settled:  # known before the read: what was kept is there by then
                return
            was_settled = is_settled(task)
            now_ns = clock.now().boot_ns
            settled_ns = (settled_ns or now_ns) if was_settled else None
            waited_s = (now_ns - settled_ns) / 1e9 if settled_ns is not None else 0.0
            if waited_s > connection.patience.retry_s:
                raise
        await asyncio.sleep(0 if was_settled and absent else _PAUSE_S)


async def _get(connection: Connection, name: TaskName) -> Task:
    request = pb.GetTaskRequest(name=str(name))
    return task_from_pb(await connection.unary(TaskServiceStub, "GetTask", request))
