"""Brings blobs that a node asks for and the region lacks from the federation's blob root.

One fetch per digest at a time, however many nodes ask; what has come stays if it breaks off, and is
checked against its digest before anybody reads it.
"""

import asyncio
from collections.abc import Callable, Sequence

import grpc.aio

from intertie.api.federation.v1 import blob_service_pb2 as pb
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.errors import IntertieError, Reason, error
from intertie.ports import Clock
from intertie.store.blobs import BlobStore
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc

FETCH_S = 3_600.0
"""Longest fetch of one blob."""

Stubs = Callable[[], Sequence[BlobServiceStub]]
"""Stubs of the replicas, in the order in which they are to be tried."""


class BlobSource:
    """See the module's text; `fetch` is the `missing` of the region's BlobService."""

    def __init__(self, blobs: BlobStore, stubs: Stubs, clock: Clock) -> None:
        self._blobs = blobs
        self._stubs = stubs
        self._clock = clock
        self._fetching: dict[str, asyncio.Task[None]] = {}

    async def fetch(self, sha256: str) -> None:
        """Return when the blob is here.

        Raises:
            IntertieError: NOT_FOUND, UNREACHABLE, or what the federation says.
        """
        task = self._fetching.get(sha256)
        if task is None:
            task = asyncio.create_task(self._fetch(sha256), name=f"fetch {sha256[:12]}")
            self._fetching[sha256] = task
            task.add_done_callback(lambda _: self._fetching.pop(sha256, None))
        # One of several waiters going away must not end the fetch of the others.
        await asyncio.shield(task)

    async def close(self) -> None:
        """Give up what is under way; it resumes when asked for again."""
        tasks = list(self._fetching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetch(self, sha256: str) -> None:
        problem = error(
            Reason.NOT_FOUND,
            f"There is no blob {sha256} here, and no federation to ask.",
            remedy="Upload it first.",
            metadata={"sha256": sha256},
        )
        for stub in self._stubs():
            try:
                await self._copy(stub, sha256)
            except grpc.aio.AioRpcError as failure:
                problem = error_from_rpc(failure)
            else:
                return
        raise problem

    async def _copy(self, stub: BlobServiceStub, sha256: str) -> None:
        stats = await stub.StatBlobs(pb.StatBlobsRequest(sha256=[sha256]))
        (stat,) = stats.blobs
        if not stat.exists:
            raise _missing(sha256)
        upload = await self._blobs.begin(sha256, stat.size_bytes, owner="federation")
        if upload.offset < upload.size:
            call = stub.ReadBlob(
                pb.ReadBlobRequest(sha256=sha256, offset=upload.offset),
                timeout=FETCH_S,
                metadata=clock_metadata(self._clock),
            )
            async for chunk in call:
                await upload.append(chunk.offset, chunk.data)
        await upload.finish()


def _missing(sha256: str) -> IntertieError:
    return error(
        Reason.NOT_FOUND,
        f"Neither the region nor the federation has the blob {sha256}.",
        remedy="Upload it again.",
        metadata={"sha256": sha256},
    )
