"""PoolService: what a region's operator sees of the pool and does to it.

Reads are of what is committed. Mutations carry a request_id: repeated, they answer what they made.
Must not decide; that is the core's.
"""

import asyncio
import hashlib
import unicodedata
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.api.regional.v1 import pool_service_pb2_grpc as pb_grpc
from intertie.drive.effects import Replayed
from intertie.errors import Reason, error, invalid
from intertie.metering import records
from intertie.model.names import TaskName, shard_of, task_id
from intertie.model.spec import TaskSpec
from intertie.model.token import Token
from intertie.model.validate import validate, with_defaults
from intertie.pki.identity import Identity
from intertie.ports import IdSource, Store
from intertie.store.blobs import BlobStore
from intertie.store.codec import decoder
from intertie.store.pump import Pump
from intertie.transport.call import Context, caller
from intertie.wire.canonical import request_digest
from intertie.wire.tasks import spec_from_pb
from intertie.wire.tokens import Tokens
from regional.domain.core import DONE, LISTED, REQUESTS, RUN, SHARD, RegionCore
from regional.domain.events import Adjust, CreateNative, Evict, RemoveNode
from regional.domain.runs.run import RegionRun
from regional.server.lending_methods import LendingMethods
from regional.server.paging import Pages, check_reason, check_request_id, page_size
from regional.server.pool_messages import node_to_pb, run_to_pb

MAX_ADJUSTMENTS = 10_000
MAX_QUANTITY = 1 << 53

_decode = decoder(RegionRun)


class Log(Protocol):
    """What is asked of the metering log."""

    async def leaf(self, seq: int) -> bytes | None:
        """One leaf, None if the log is not that long."""
        ...

    async def is_taken(self, rid: str) -> bool:
        """Whether a record of this id is in the log or waits for it."""
        ...


class PoolServicer(LendingMethods, pb_grpc.PoolServiceServicer):
    """See the module's text.

    Args:
        pump: the core.
        store: where runs are.
        blobs: where files of native tasks must be.
        log: the metering log.
        tokens: seals page tokens.
        ids: makes the ids of native tasks and reclaims.
        region: our id.
        kill_ms: how long ending a task may take.
    """

    def __init__(
        self,
        pump: Pump,
        store: Store,
        blobs: BlobStore,
        log: Log,
        tokens: Tokens,
        ids: IdSource,
        region: str,
        kill_ms: int,
    ) -> None:
        super().__init__(pump, store, Pages(tokens), ids, kill_ms)
        self._blobs = blobs
        self._log = log
        self._region = region
        self._adjusting = asyncio.Lock()

    # --- nodes -----------------------------------------------------------------------------------

    async def ListNodes(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.ListNodesRequest, context: Context
    ) -> pb.ListNodesResponse:
        """Nodes in the order of their ids."""
        del context
        size = page_size(request.page_size)
        after = self._pages.opened("nodes", (), request.page_token)
        nodes = self._core().nodes
        names = sorted(name for name in nodes if name > after)
        more = names[size - 1] if len(names) > size else ""
        return pb.ListNodesResponse(
            nodes=[node_to_pb(nodes[name]) for name in names[:size]],
            next_page_token=self._pages.sealed("nodes", (), more),
        )

    async def GetNode(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.GetNodeRequest, context: Context
    ) -> pb.Node:
        """One node."""
        del context
        collection, _, name = request.name.partition("/")
        if collection != "nodes" or not name:
            raise invalid("name", f"{request.name[:80]!r} is not nodes/ID")
        node = self._core().nodes.get(name)
        if node is None:
            raise error(
                Reason.NOT_FOUND,
                f"Node {name[:63]} has not attached since this scheduler started.",
                remedy="List the nodes.",
            )
        return node_to_pb(node)

    async def RemoveNode(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.RemoveNodeRequest, context: Context
    ) -> pb.RemoveNodeResponse:
        """Declare a node dead."""
        del context
        check_request_id(request.request_id)
        check_reason(request.reason)
        collection, _, node = request.name.partition("/")
        if collection != "nodes" or not node:
            raise invalid("name", f"{request.name[:80]!r} is not nodes/ID")
        if not request.dead:
            raise invalid(
                "dead",
                "must be true: what ran there may then start elsewhere, beside it if it still runs",
                remedy="Switch the machine off, or start it anew, before you say so.",
            )
        digest = request_digest(request)

        def make(ticket: int) -> RemoveNode:
            return RemoveNode(
                ticket=ticket,
                node=node,
                reason=request.reason,
                request_id=request.request_id,
                request_digest=digest,
            )

        answer = await self._pump.ask(make, (REQUESTS, request.request_id, digest))
        runs = int(answer.result) if isinstance(answer, Replayed) else answer
        assert isinstance(runs, int), f"a {type(runs).__name__} as answer"
        return pb.RemoveNodeResponse(runs=runs)

    # --- runs ------------------------------------------------------------------------------------

    async def ListRuns(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.ListRunsRequest, context: Context
    ) -> pb.ListRunsResponse:
        """Runs, native and guest, newest first."""
        del context
        size = page_size(request.page_size)
        bound = (str(request.live_only),)
        before = self._pages.opened("runs", bound, request.page_token)
        kinds = (RUN,) if request.live_only else (RUN, DONE)
        found: dict[str, RegionRun] = {}
        for kind in kinds:
            rows = await self._store.list_rows(
                kind, LISTED, before=before, limit=size + 1, descending=True
            )
            found |= {row.ord: _decode(row.body) for row in rows}
        page = sorted(found, reverse=True)
        more = page[size - 1] if len(page) > size else ""
        runs = [found[order] for order in page[:size]]
        return pb.ListRunsResponse(
            runs=[run_to_pb(run) for run in runs if run.is_live or not request.live_only],
            next_page_token=self._pages.sealed("runs", bound, more),
        )

    async def CreateNativeTask(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.CreateNativeTaskRequest, context: Context
    ) -> pb.PoolRun:
        """Queue a task of the region's own."""
        del context
        check_request_id(request.request_id)
        spec = await self._spec(request)
        digest = request_digest(request)
        id_ = task_id(shard_of(self._region, request.request_id), self._ids.uuid7())
        principal = _principal(caller())

        def make(ticket: int) -> CreateNative:
            return CreateNative(
                ticket=ticket,
                task=str(TaskName(self._region, id_)),
                spec=spec,
                principal=principal,
                request_id=request.request_id,
                request_digest=digest,
            )

        return await self._run(self._pump.ask(make, (REQUESTS, request.request_id, digest)))

    async def EvictRun(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.EvictRunRequest, context: Context
    ) -> pb.PoolRun:
        """Stop one run."""
        del context
        check_request_id(request.request_id)
        TaskName.parse(request.task, "task")
        check_reason(request.reason)
        digest = request_digest(request)

        def make(ticket: int) -> Evict:
            return Evict(
                ticket=ticket,
                task=request.task,
                reason=request.reason,
                request_id=request.request_id,
                request_digest=digest,
            )

        return await self._run(self._pump.ask(make, (REQUESTS, request.request_id, digest)))

    async def _spec(self, request: pb.CreateNativeTaskRequest) -> TaskSpec:
        spec = spec_from_pb(request.spec)
        validate(spec)
        if spec.project and spec.project != self._region:
            raise invalid("spec.project", f"native tasks belong to {self._region} itself")
        if spec.array:
            raise invalid("spec.array", "native tasks are submitted one by one")
        digests = [file.sha256 for file in spec.run.files]
        for number, stat in enumerate(await self._blobs.stat(digests)):
            if not stat.exists:
                raise invalid(
                    f"spec.run.files[{number}].sha256",
                    f"the region has no blob {stat.sha256}",
                    remedy="Upload it to the region first.",
                )
        return with_defaults(spec)

    async def _run(self, answer: Awaitable[object]) -> pb.PoolRun:
        run = await answer
        if isinstance(run, Replayed):
            return run_to_pb(await self._made(run.result))
        assert isinstance(run, RegionRun), f"a {type(run).__name__} as answer"
        return run_to_pb(run)

    async def _made(self, key: str) -> RegionRun:
        """The run that a repeated request made, live or closed."""
        for kind in (RUN, DONE):
            body = await self._store.get(0, kind, key)
            if body is not None:
                return _decode(body)
        raise error(Reason.NOT_FOUND, f"The run {key} that this request made is gone.")

    # --- corrections -----------------------------------------------------------------------------

    async def CreateAdjustment(  # noqa: N802 - the name of the method in the protocol
        self, request: pb.CreateAdjustmentRequest, context: Context
    ) -> pb.CreateAdjustmentResponse:
        """Correct usage by a new record."""
        del context
        check_request_id(request.request_id)
        check_reason(request.reason)
        reason = unicodedata.normalize("NFC", request.reason)  # records hold no other form
        if not 0 < abs(request.quantity) < MAX_QUANTITY:
            raise invalid("quantity", f"{request.quantity} is no change that a record can hold")
        digest = request_digest(request)
        claim = (REQUESTS, request.request_id, digest)
        async with self._adjusting:  # or two corrections of one record would get one number
            original, record = await self._usage(request.seq)
            n = await self._next_number(record["rid"])
            key = _run_key(record)
            body = await self._store.get(SHARD, DONE, key)
            closed = _decode(body) if body is not None else None

            def make(ticket: int) -> Adjust:
                return Adjust(
                    ticket=ticket,
                    original=original,
                    run=key,
                    closed=closed,
                    n=n,
                    quantity=request.quantity,
                    reason=reason,
                    request_id=request.request_id,
                    request_digest=digest,
                )

            answer = await self._pump.ask(make, claim)
        made = answer.result if isinstance(answer, Replayed) else answer
        assert isinstance(made, str), f"a {type(made).__name__} as answer"
        return pb.CreateAdjustmentResponse(rid=made)

    async def _usage(self, seq: int) -> tuple[bytes, Mapping[str, Any]]:
        leaf = await self._log.leaf(seq) if seq >= 0 else None
        if leaf is None:
            raise error(
                Reason.NOT_FOUND,
                f"The metering log has no record {seq}.",
                remedy="Use the seq of a record of this region's log.",
            )
        record = records.parse_record(leaf)
        if record["kind"] != "usage":
            raise invalid("seq", f"record {seq} is a {record['kind']}; only usage is corrected")
        return leaf, record

    async def _next_number(self, rid: str) -> int:
        for n in range(1, MAX_ADJUSTMENTS):
            if not await self._log.is_taken(f"{rid}/adj/{n}"):
                return n
        raise error(
            Reason.QUOTA_EXCEEDED,
            f"{rid} was corrected {MAX_ADJUSTMENTS} times.",
            remedy="Correct another record.",
        )

    # --- pages -----------------------------------------------------------------------------------

    def _core(self) -> RegionCore:
        core = self._pump.drive.core
        if core is None:
            raise error(
                Reason.STORE_UNAVAILABLE,
                "The store is away.",
                remedy="Try again.",
                retry_after_ms=1_000,
            )
        assert isinstance(core, RegionCore), "the core of a region"
        return core


def _run_key(record: Mapping[str, Any]) -> str:
    """The key of the run that a record is of; all its placements are one run."""
    epoch = Token.parse(record["run"]).epoch
    return f"{TaskName(record['project'], record['task'])}@{epoch}"


def _principal(identity: Identity) -> str:
    """The opaque id of an operator in records."""
    return f"op-{hashlib.sha256(str(identity).encode()).hexdigest()[:24]}"
