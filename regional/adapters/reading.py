"""Reads logs and outputs for the federation: of live runs from their node, of ended ones from the
blob root.

Offsets of a log are absolute: a bounded log loses its oldest bytes, so a read may begin later than
it was asked for, and says where. Must not decide who may read.
"""

import asyncio
from collections.abc import Awaitable, Callable

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model.agentlink import AgentBytes, AgentRead
from intertie.model.link import Bytes, ReadBytes
from intertie.model.names import TaskName, order_of_id
from intertie.model.states import RunState
from intertie.model.task import StoredFile
from intertie.ports import Store, StoreUnavailableError
from intertie.store.blobs import BlobStore
from intertie.store.codec import decoder
from regional.domain.core import DONE, LISTED, RUN
from regional.domain.run import RegionRun

MAX_CHUNK = 64 << 10
MAX_WAIT_MS = 30_000
MAX_READS = 512
"""Chunks that are read at once; more are refused and asked for again."""
STREAMS = ("stdout", "stderr")
_ON_NODE = frozenset({RunState.STARTING, RunState.RUNNING, RunState.STOPPING, RunState.STAGING})

AskNode = Callable[[str, AgentRead], Awaitable[AgentBytes]]

_decode = decoder(RegionRun)


class RunReader:
    """See the module's text.

    Args:
        store: where runs are.
        blobs: the region's blob root.
        ask_node: reads a chunk of a live log on a node.
    """

    def __init__(self, store: Store, blobs: BlobStore, ask_node: AskNode) -> None:
        self._store = store
        self._blobs = blobs
        self._ask_node = ask_node
        self._reading = 0

    async def read(self, request: ReadBytes) -> Bytes:
        """The chunk, or the error, as the message that answers."""
        self._reading += 1
        try:
            if self._reading > MAX_READS:
                raise error(Reason.RATE_LIMITED, f"{MAX_READS} reads are under way.")
            return await self._read(request)
        except IntertieError as fault:
            return _refused(request, fault.reason, fault.message)
        except StoreUnavailableError:
            return _refused(request, Reason.STORE_UNAVAILABLE, "The region's disk does not answer.")
        finally:
            self._reading -= 1

    async def _read(self, request: ReadBytes) -> Bytes:
        if request.offset < 0 or request.limit < 1:
            raise invalid("offset, limit", "must be at least 0 and 1")
        if not request.path and request.stream not in STREAMS:
            raise invalid("stream", f"{request.stream[:40]!r} is none of {', '.join(STREAMS)}")
        run = await self._run(request)
        if request.path:
            return await self._output(run, request)
        if run.state is RunState.ENDED:
            return await self._kept(_file(run.logs, request.stream), request)
        if run.state not in _ON_NODE:
            await asyncio.sleep(min(request.wait_ms, MAX_WAIT_MS) / 1000)
            return _chunk(request, b"", request.offset, final=False)
        return await self._live(run, request)

    async def _run(self, request: ReadBytes) -> RegionRun:
        """The committed run of this number, live or closed."""
        id_ = order_of_id(TaskName.parse(request.task, "task").id)
        for kind in (RUN, DONE):
            rows = await self._store.list_rows(
                kind, LISTED, after=id_, before=f"{id_}/", limit=100, descending=True
            )
            for row in rows:
                run = _decode(row.body)
                if run.task == request.task and run.token.epoch.n == request.run:
                    return run
        raise error(
            Reason.NOT_FOUND,
            f"This region has no run {request.run} of {request.task}.",
            remedy="List the runs of the task.",
        )

    async def _live(self, run: RegionRun, request: ReadBytes) -> Bytes:
        answer = await self._ask_node(
            run.node,
            AgentRead(
                id=0,
                task=run.task,
                run=request.run,
                stream=request.stream,
                offset=request.offset,
                limit=min(request.limit, MAX_CHUNK),
                wait_ms=min(request.wait_ms, MAX_WAIT_MS),
            ),
        )
        if answer.error:
            return _refused(request, _reason(answer.error), answer.error_message)
        return Bytes(
            id=request.id,
            data=answer.data,
            offset=answer.offset,
            next_offset=answer.next_offset,
            final=False,  # only the run's end says that nothing follows
        )

    async def _output(self, run: RegionRun, request: ReadBytes) -> Bytes:
        if run.state is not RunState.ENDED:
            raise error(
                Reason.WRONG_STATE,
                f"Run {request.run} of {request.task} has not ended, so it has no outputs yet.",
                remedy="Wait for its end.",
            )
        file = _file(run.outputs, request.path)
        if file is None:
            raise error(
                Reason.NOT_FOUND,
                f"Run {request.run} of {request.task} left no output {request.path[:200]!r}.",
                remedy="List its outputs.",
            )
        return await self._kept(file, request)

    async def _kept(self, file: StoredFile | None, request: ReadBytes) -> Bytes:
        if file is None:
            return _chunk(request, b"", request.offset, final=True)
        offset = max(request.offset, file.start)
        end = file.start + file.size
        if offset >= end:
            return _chunk(request, b"", min(offset, end), final=True)
        limit = min(request.limit, MAX_CHUNK, end - offset)
        parts = [part async for part in self._blobs.read(file.sha256, offset - file.start, limit)]
        data = b"".join(parts)
        return _chunk(request, data, offset, final=offset + len(data) >= end)


def _file(files: tuple[StoredFile, ...], path: str) -> StoredFile | None:
    return next((file for file in files if file.path == path), None)


def _chunk(request: ReadBytes, data: bytes, offset: int, *, final: bool) -> Bytes:
    return Bytes(
        id=request.id, data=data, offset=offset, next_offset=offset + len(data), final=final
    )


def _refused(request: ReadBytes, reason: Reason, message: str) -> Bytes:
    return Bytes(
        id=request.id,
        data=b"",
        offset=request.offset,
        next_offset=request.offset,
        final=False,
        error=reason.value,
        error_message=message,
    )


def _reason(text: str) -> Reason:
    return Reason(text) if text in Reason.__members__ else Reason.INTERNAL
