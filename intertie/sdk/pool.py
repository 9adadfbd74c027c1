"""The client of a region's own server, for its operator: nodes, runs, native tasks, corrections."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self

from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.api.regional.v1.pool_service_pb2_grpc import PoolServiceStub
from intertie.clock import SystemIds
from intertie.errors import Reason, error
from intertie.model.lending import Lending, Quantity, Reclaim
from intertie.model.spec import TaskSpec
from intertie.ports import IdSource
from intertie.sdk.calls.packing import pack
from intertie.sdk.calls.uploading import OnProgress, Uploader
from intertie.sdk.connection import Connection, Endpoint, OnRetry, Patience
from intertie.sdk.contexts import load_contexts
from intertie.sdk.resources import LENDING, NODE, POOL_RUN, QUANTITY, RECLAIM, Node, PoolRun
from intertie.wire.tasks import spec_to_pb

PAGE = 200
LOOK_EVERY_S = 0.5


class PoolClient:
    """See the module's text. For one event loop.

    Args:
        endpoint: where the region is and which operator we are.
        ids: makes request_ids.
        patience: deadlines and how long to retry.
        on_retry: told why a call is tried again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ids: IdSource | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> None:
        self._connection = Connection(endpoint, patience=patience, on_retry=on_retry)
        self._ids = ids or SystemIds()

    @classmethod
    def from_context(
        cls,
        name: str = "",
        *,
        config: Path | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> Self:
        """A client of the region that a context names."""
        endpoint = load_contexts(config).get(name).pool()
        return cls(endpoint, patience=patience, on_retry=on_retry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; idempotent."""
        await self._connection.close()

    async def list_nodes(self) -> AsyncIterator[Node]:
        """Nodes of the pool, by id."""
        request = pb.ListNodesRequest(page_size=PAGE)
        async for page in self._connection.pages(PoolServiceStub, "ListNodes", request):
            for node in page.nodes:
                yield NODE.from_pb(node)

    async def get_node(self, id_: str) -> Node:
        """A node by its id."""
        return NODE.from_pb(await self._unary("GetNode", pb.GetNodeRequest(name=f"nodes/{id_}")))

    async def remove_node(self, id_: str, reason: str) -> int:
        """Declare that a node is dead and stays away; how many runs were there.

        Only when no process of a task can live there any longer: what ran there starts elsewhere.
        """
        request = pb.RemoveNodeRequest(
            name=f"nodes/{id_}", dead=True, reason=reason, request_id=self._ids.uuid7()
        )
        return int((await self._unary("RemoveNode", request)).runs)

    async def list_runs(self, *, live_only: bool = False) -> AsyncGenerator[PoolRun]:
        """Runs of the pool, native and guest, newest first."""
        request = pb.ListRunsRequest(page_size=PAGE, live_only=live_only)
        async for page in self._connection.pages(PoolServiceStub, "ListRuns", request):
            for run in page.runs:
                yield POOL_RUN.from_pb(run)

    async def create_native_task(
        self,
        spec: TaskSpec,
        *,
        base: Path | None = None,
        request_id: str = "",
        on_progress: OnProgress | None = None,
    ) -> PoolRun:
        """Submit a task of the region's own; its files go to the region's blob root.

        Args:
            spec: what to run.
            base: the folder that `run.workdir` and `run.files` are relative to; here if absent.
            request_id: a UUID; the same id and spec give the same run. Made if absent.
            on_progress: told how far the upload is.
        """
        packed = pack(spec, base or Path())
        await Uploader(self._connection, on_progress).upload(packed.blobs)
        request = pb.CreateNativeTaskRequest(
            spec=spec_to_pb(packed.spec), request_id=request_id or self._ids.uuid7()
        )
        return POOL_RUN.from_pb(await self._unary("CreateNativeTask", request))

    async def wait_run(
        self,
        task: str,
        *,
        timeout_s: float | None = None,
        on_run: Callable[[PoolRun], None] | None = None,
    ) -> PoolRun:
        """The newest run of a task once it has ended.

        Args:
            task: full name of the task.
            timeout_s: how long to wait; for ever if absent.
            on_run: told the run each time it is looked at.

        Raises:
            IntertieError: NOT_FOUND, DEADLINE_EXCEEDED after `timeout_s`.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    found = await self._newest(task)
                    if on_run is not None:
                        on_run(found)
                    if found.outcome is not None:
                        return found
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError:
            raise error(
                Reason.DEADLINE_EXCEEDED,
                f"The run of {task} has not ended after {timeout_s:g} s.",
                remedy="It goes on: see it with intertie run list --live.",
            ) from None

    async def _newest(self, task: str) -> PoolRun:
        async with aclosing(self.list_runs()) as runs:
            async for found in runs:
                if found.task == task:
                    return found
        raise error(Reason.NOT_FOUND, f"The region knows no run of {task}.")

    async def evict_run(self, task: str, reason: str) -> PoolRun:
        """Stop a run; a guest's returns to the federation."""
        request = pb.EvictRunRequest(task=task, reason=reason, request_id=self._ids.uuid7())
        return POOL_RUN.from_pb(await self._unary("EvictRun", request))

    async def get_lending_policy(self) -> Lending:
        """What the region lends."""
        return LENDING.from_pb(await self._unary("GetLendingPolicy", pb.GetLendingPolicyRequest()))

    async def set_lending_policy(self, policy: Lending, reason: str, etag: str = "") -> Lending:
        """Replace what the region lends, if it is still at the revision `etag`."""
        request = pb.SetLendingPolicyRequest(
            policy=LENDING.to_pb(policy), etag=etag, reason=reason, request_id=self._ids.uuid7()
        )
        return LENDING.from_pb(await self._unary("SetLendingPolicy", request))

    async def create_reclaim(
        self, quantity: Quantity, reason: str, *, deadline_ms: int, lasts_ms: int = 0
    ) -> Reclaim:
        """Take an amount back from guests within the deadline.

        Args:
            quantity: how much.
            reason: why; guests are told.
            deadline_ms: how long guests may still hold it.
            lasts_ms: after how long it is lent again by itself, 0 = never.
        """
        request = pb.CreateReclaimRequest(
            quantity=QUANTITY.to_pb(quantity), reason=reason, request_id=self._ids.uuid7()
        )
        request.deadline.FromMilliseconds(deadline_ms)
        if lasts_ms:
            request.lasts.FromMilliseconds(lasts_ms)
        return RECLAIM.from_pb(await self._unary("CreateReclaim", request))

    async def get_reclaim(self, name: str) -> Reclaim:
        """A reclaim by its name."""
        return RECLAIM.from_pb(await self._unary("GetReclaim", pb.GetReclaimRequest(name=name)))

    async def list_reclaims(self) -> AsyncIterator[Reclaim]:
        """All reclaims, the newest first."""
        request = pb.ListReclaimsRequest(page_size=PAGE)
        async for page in self._connection.pages(PoolServiceStub, "ListReclaims", request):
            for reclaim in page.reclaims:
                yield RECLAIM.from_pb(reclaim)

    async def cancel_reclaim(self, name: str) -> Reclaim:
        """Lend again what a reclaim took back."""
        request = pb.CancelReclaimRequest(name=name, request_id=self._ids.uuid7())
        return RECLAIM.from_pb(await self._unary("CancelReclaim", request))

    async def create_adjustment(self, seq: int, quantity: int, reason: str) -> str:
        """Correct the usage record `seq` by a signed quantity; the id of the new record."""
        request = pb.CreateAdjustmentRequest(
            seq=seq, quantity=quantity, reason=reason, request_id=self._ids.uuid7()
        )
        answer = await self._unary("CreateAdjustment", request)
        return str(answer.rid)

    async def _unary(self, method: str, request: object) -> Any:  # noqa: ANN401 - the method's answer
        return await self._connection.unary(PoolServiceStub, method, request)
