"""Answers reads of live logs: by offset, waiting a while for bytes that are not there yet.

A read that waits looks at the file now and then; a run that nobody reads costs nothing. Logs of
runs that are forgotten are in the region's blob root, not here.
"""

import asyncio
from collections.abc import Callable

from edge_agent.adapters.files.folders import RunFolders
from edge_agent.keeper.logs import Chunk, LogReader
from intertie.errors import Reason
from intertie.model.agentlink import AgentBytes, AgentRead

MAX_CHUNK_BYTES = 64 << 10
MAX_WAIT_MS = 30_000
MAX_READS = 256
LOOK_EVERY_S = 0.1
STREAMS = ("stdout", "stderr")

Find = Callable[[str, int], tuple[RunFolders, bool] | None]
"""(task, run) -> its folders, and whether it may still print; None if unknown."""


class LogReads:
    """Reads that are under way. For one event loop.

    Args:
        find: where the logs of a run are.
        answer: takes each chunk.
    """

    def __init__(self, find: Find, answer: Callable[[AgentBytes], None]) -> None:
        self._find = find
        self._answer = answer
        self._reading: set[asyncio.Task[None]] = set()

    def read(self, request: AgentRead) -> None:
        """Begin to answer one read."""
        if len(self._reading) >= MAX_READS:
            self._answer(refused(request, Reason.RATE_LIMITED, f"{MAX_READS} reads wait here"))
            return
        task = asyncio.create_task(self._read(request))
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    def stop(self) -> None:
        """Whoever asked is gone."""
        for task in self._reading:
            task.cancel()

    async def _read(self, request: AgentRead) -> None:
        try:
            self._answer(await self._wait(request))
        except OSError as fault:
            self._answer(refused(request, Reason.STORE_UNAVAILABLE, f"cannot be read: {fault}"))

    async def _wait(self, request: AgentRead) -> AgentBytes:
        if request.stream not in STREAMS or request.limit < 1:
            return refused(request, Reason.INVALID_FIELD, "stream, offset or limit is no such")
        left_s = min(request.wait_ms, MAX_WAIT_MS) / 1000
        while True:
            found = self._find(request.task, request.run)
            if found is None:
                return refused(request, Reason.NOT_FOUND, "the run is not on this node")
            folders, prints = found
            limit = min(request.limit, MAX_CHUNK_BYTES)
            log = LogReader(folders.log(request.stream))
            offset = request.offset if request.offset >= 0 else max(0, log.end() + request.offset)
            chunk = log.read(offset, limit)
            if chunk.data or not prints or left_s <= 0:
                return _answer(request, chunk, final=not chunk.data and not prints)
            await asyncio.sleep(min(LOOK_EVERY_S, left_s))
            left_s -= LOOK_EVERY_S


def _answer(request: AgentRead, chunk: Chunk, *, final: bool) -> AgentBytes:
    return AgentBytes(
        id=request.id,
        data=chunk.data,
        offset=chunk.offset,
        next_offset=chunk.next_offset,
        final=final,
    )


def refused(request: AgentRead, reason: Reason, message: str) -> AgentBytes:
    """The answer to a read that cannot be served."""
    return AgentBytes(
        id=request.id,
        data=b"",
        offset=request.offset,
        next_offset=request.offset,
        final=False,
        error=reason.value,
        error_message=message,
    )
