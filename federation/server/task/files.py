"""Logs and outputs of tasks, relayed from their region chunk by chunk; never stored here.

Must not read ahead of the client: one chunk is asked for when the one before was taken.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Protocol

from federation.server.policy.egress import Egress
from federation.server.task.changes import Changes
from federation.server.task.lists import outputs_of, run_of
from federation.server.task.reads import Tasks, not_found
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import invalid
from intertie.model.link import Bytes, ReadBytes
from intertie.model.names import TaskName
from intertie.model.states import RunState
from intertie.model.task import Run, StoredFile, Task
from intertie.transport.call import caller

CHUNK = 64 << 10
FOLLOW_WAIT_MS = 5_000
PAUSE_S = 0.1
"""After an answer without bytes: a region that does not wait must not make us ask in a circle."""
STREAMS = ("stdout", "stderr")


class Relay(Protocol):
    """Asks a region for bytes; the id of the question is the relay's to choose."""

    async def read(self, region: str, question: ReadBytes) -> Bytes:
        """The region's answer, or the error that it tells; REGION_OUT_OF_TOUCH without a link."""
        ...


class Files:
    """Serves ReadTaskLogs and ReadTaskOutput."""

    def __init__(self, tasks: Tasks, changes: Changes, relay: Relay, egress: Egress) -> None:
        self._tasks = tasks
        self._changes = changes
        self._relay = relay
        self._egress = egress

    async def logs(self, request: pb.ReadTaskLogsRequest) -> AsyncIterator[pb.ReadTaskLogsResponse]:
        """Stream one log of one run; with `follow`, until the run has ended."""
        name = TaskName.parse(request.name)
        stream = request.stream or STREAMS[0]
        if stream not in STREAMS:
            raise invalid("stream", f"{stream[:40]!r} is neither stdout nor stderr")
        for field, value in (("offset", request.offset), ("tail_bytes", request.tail_bytes)):
            if value < 0:
                raise invalid(field, "must not be negative")
        run = await self._run(name, request)
        relay, reader = await self._may_read(name, run)
        # Only who keeps a log knows where it ends: a negative offset counts from there.
        offset = -request.tail_bytes or request.offset
        while True:
            has_ended = await self._has_ended(name, run.n)  # asked first: what follows is its all
            wait_ms = FOLLOW_WAIT_MS if request.follow else 0
            asked = _question(name, run, offset, stream=stream, rank=request.rank, wait_ms=wait_ms)
            answer = await self._relay.read(run.region, replace(asked, relay=relay, reader=reader))
            if answer.data:
                yield pb.ReadTaskLogsResponse(data=answer.data, offset=answer.offset)
            if answer.final or (not answer.data and (has_ended or not request.follow)):
                return
            offset = answer.next_offset
            if not answer.data:
                await asyncio.sleep(PAUSE_S)

    async def output(
        self, request: pb.ReadTaskOutputRequest
    ) -> AsyncIterator[pb.ReadTaskOutputResponse]:
        """Stream one result."""
        name = TaskName.parse(request.name)
        task = await self._tasks.get(name)
        file, run = _output(task, request.path)
        if not 0 <= request.offset <= file.size:
            raise invalid("offset", f"{request.offset} is not between 0 and {file.size}")
        relay, reader = await self._may_read(name, run)
        offset = request.offset
        while offset < file.size:
            asked = _question(name, run, offset, path=file.path)
            answer = await self._relay.read(run.region, replace(asked, relay=relay, reader=reader))
            if answer.data:
                yield pb.ReadTaskOutputResponse(data=answer.data, offset=answer.offset)
            if answer.final or not answer.data:
                return
            offset = answer.next_offset

    async def _run(self, name: TaskName, request: pb.ReadTaskLogsRequest) -> Run:
        """The run that is asked for; a follower of a task that waits gets its first one."""
        task = await self._tasks.get(name)
        while request.follow and not request.run and task.run is None and not task.is_final:
            await self._changes.wait(FOLLOW_WAIT_MS / 1000)
            task = await self._tasks.get(name)
        return run_of(task, request.run)

    async def _may_read(self, name: TaskName, run: Run) -> tuple[str, str]:
        """The places on the way of the bytes, for the region; RESIDENCY_VIOLATION if one may not
        have them.
        """
        who = caller()
        self._egress.check(await self._tasks.get(name), run.region, who)
        return self._egress.relay, self._egress.reader(who)

    async def _has_ended(self, name: TaskName, n: int) -> bool:
        run = run_of(await self._tasks.get(name), n)
        return run.state is RunState.ENDED


def _output(task: Task, path: str) -> tuple[StoredFile, Run]:
    for file, run in outputs_of(task):
        if file.path == path:
            return file, run
    raise not_found(f"output {path[:120]!r} of {task.name}")


def _question(
    name: TaskName,
    run: Run,
    offset: int,
    *,
    stream: str = "",
    rank: int = 0,
    path: str = "",
    wait_ms: int = 0,
) -> ReadBytes:
    return ReadBytes(
        id=0,
        task=str(name),
        run=run.n,
        rank=rank,
        stream=stream,
        path=path,
        offset=offset,
        limit=CHUNK,
        wait_ms=wait_ms,
    )
