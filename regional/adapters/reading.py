"""Reads logs and outputs for the federation: of live runs from their node, of ended ones from the
blob root.

Offsets of a log are absolute: a bounded log loses its oldest bytes, so a read may begin later than
it was asked for, and says where; a negative offset counts from the end. Must not decide who may
read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model.agentlink import AgentBytes, AgentRead
from intertie.model.link import Bytes, ReadBytes
from intertie.model.names import TaskName, order_of_id
from intertie.model.states import RunState
from intertie.model.task import StoredFile
from intertie.ports import Store, StoreUnavailableError
from intertie.store.blobs import BlobStore
from intertie.store.codec import decoder
from regional.adapters.egress import Egress
from regional.domain.core import DONE, LISTED, RUN
from regional.domain.runs.run import RegionRun

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
        egress: judges whether bytes of a run may leave for whoever asks.
    """

    def __init__(self, store: Store, blobs: BlobStore, ask_node: AskNode, egress: Egress) -> None:
        self._store = store
        self._blobs = blobs
        self._ask_node = ask_node
        self._egress = egress
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
        if request.limit < 1:
            raise invalid("limit", "must be at least 1")
        if not request.path and request.stream not in STREAMS:
            raise invalid("stream", f"{request.stream[:40]!r} is none of {', '.join(STREAMS)}")
        run = await self._run(request)
        self._egress.check(run, request)
        if request.path:
            return await self._output(run, request)
        if run.state in _ON_NODE:
            answer = await self._live(run, request)
            if answer.error != Reason.NOT_FOUND:
                return answer
            run = await self._run(request)  # its node has forgotten it, or not heard of it yet
            if run.state in _ON_NODE and run.has_begun:
                return answer
        if run.state is RunState.ENDED:
            return await self._kept(_pieces(run.logs, request.stream), request)
        await asyncio.sleep(min(request.wait_ms, MAX_WAIT_MS) / 1000)
        return _chunk(request, b"", max(request.offset, 0), final=False)

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
        files = _pieces(run.outputs, request.path)
        if not files:
            raise error(
                Reason.NOT_FOUND,
                f"Run {request.run} of {request.task} left no output {request.path[:200]!r}.",
                remedy="List its outputs.",
            )
        return await self._kept(files, request)

    async def _kept(self, pieces: Sequence[StoredFile], request: ReadBytes) -> Bytes:
        """A chunk of the first piece that has bytes from the offset on: between them is a gap."""
        end = _end(pieces[-1]) if pieces else 0
        wanted = request.offset if request.offset >= 0 else max(0, end + request.offset)
        piece = next((piece for piece in pieces if wanted < _end(piece)), None)
        if piece is None:
            return _chunk(request, b"", min(wanted, end), final=True)
        offset = max(wanted, piece.start)
        limit = min(request.limit, MAX_CHUNK, _end(piece) - offset)
        read = self._blobs.read(piece.sha256, offset - piece.start, limit)
        data = b"".join([part async for part in read])
        return _chunk(request, data, offset, final=offset + len(data) >= end)


def _pieces(files: tuple[StoredFile, ...], path: str) -> list[StoredFile]:
    """What is kept under a path, in order: of a bounded log the beginning and the end."""
    return sorted((f for f in files if f.path == path and f.size), key=lambda f: f.start)


def _end(piece: StoredFile) -> int:
    return piece.start + piece.size


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
