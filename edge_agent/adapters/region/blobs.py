"""Blobs of the region as a node reads and writes them: resumed, verified, retried when it is away.

A region that is away is waited for: whoever must not wait cancels. Other faults are the caller's.
"""

import asyncio
import hashlib
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import grpc.aio

from intertie.api.federation.v1 import blob_service_pb2 as pb
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.errors import IntertieError, Reason, WorldError, error
from intertie.telemetry.logs import logger
from intertie.transport.failure import error_from_rpc, told_why

CHUNK_BYTES = 256 << 10
SMALL_BYTES = 256 << 10
"""Below this an upload is tried at once, without asking first whether the blob is there."""
MAX_STATS = 1_000
IDLE_S = 30.0
AT_ONCE = 4
FIRST_PAUSE_S, MOST_PAUSE_S = 0.2, 5.0
_PASSING = frozenset({Reason.RATE_LIMITED, Reason.INTERNAL})

T = TypeVar("T")

Call = Any
"""A grpc.aio.StreamUnaryCall; its stubs lack `write`."""

_log = logger(__name__)


class Source(Protocol):
    """Bytes to upload; `read` may block and is called on threads."""

    @property
    def sha256(self) -> str:
        """Digest of all bytes."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def read(self, offset: int, limit: int) -> bytes:
        """Some of them."""
        ...


class RegionBlobs:
    """See the module's text.

    Args:
        stub: the service on the current channel.
        rng: spreads retries.
    """

    def __init__(self, stub: Callable[[], BlobServiceStub], rng: random.Random) -> None:
        self._stub = stub
        self._rng = rng
        self._slots = asyncio.Semaphore(AT_ONCE)

    # --- reading ---------------------------------------------------------------------------------

    async def download(self, sha256: str, size: int, path: Path) -> None:
        """Bring a blob into a file that holds nothing or the beginning of it.

        Raises:
            IntertieError: NOT_FOUND, DIGEST_MISMATCH (the file is removed).
            OSError: the disk refused.
        """
        if await self._persist(lambda: self._receive(sha256, size, path)):
            return
        # The beginning may have been torn by a crash: its bytes come once more, from the first.
        if not await self._persist(lambda: self._receive(sha256, size, path)):
            raise error(
                Reason.DIGEST_MISMATCH,
                f"The region's bytes of blob {sha256} are not that blob.",
                remedy="Upload it again.",
            )

    async def _receive(self, sha256: str, size: int, path: Path) -> bool:
        """Go on at the end of the file; whether it is the blob then. Else it is removed."""
        async with self._slots:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                digest, offset = await asyncio.to_thread(_begun, fd, size)
                async for data in self._chunks(sha256, offset):
                    offset += len(data)
                    if offset > size:
                        break
                    digest.update(data)
                    await asyncio.to_thread(_write_all, fd, data)
            finally:
                os.close(fd)
        if offset == size and digest.hexdigest() == sha256:
            return True
        path.unlink(missing_ok=True)
        return False

    async def get(self, sha256: str, max_bytes: int) -> bytes:
        """A small blob.

        Raises:
            IntertieError: NOT_FOUND, TOO_LARGE, DIGEST_MISMATCH.
        """

        async def read() -> bytes:
            data = bytearray()
            async with self._slots:
                async for chunk in self._chunks(sha256, 0):
                    data += chunk
                    if len(data) > max_bytes:
                        raise error(Reason.TOO_LARGE, f"Blob {sha256} has over {max_bytes} bytes.")
            if hashlib.sha256(data).hexdigest() != sha256:
                raise error(Reason.DIGEST_MISMATCH, f"The bytes of blob {sha256} are others.")
            return bytes(data)

        return await self._persist(read)

    async def _chunks(self, sha256: str, offset: int) -> AsyncIterator[bytes]:
        call = self._stub().ReadBlob(pb.ReadBlobRequest(sha256=sha256, offset=offset))
        chunks = aiter(call)
        try:
            while True:
                yield (await asyncio.wait_for(anext(chunks), IDLE_S)).data
        except StopAsyncIteration:
            return
        finally:
            call.cancel()

    # --- writing ---------------------------------------------------------------------------------

    async def upload(self, sources: Sequence[Source]) -> None:
        """Bring blobs into the region's root; those that are there cost nothing.

        Raises:
            IntertieError: the region refuses.
            OSError: a source cannot be read.
        """
        distinct = list({source.sha256: source for source in sources}.values())
        large = [source for source in distinct if source.size > SMALL_BYTES or len(distinct) > 2]
        standing = await self._standing([source.sha256 for source in large])
        for source in distinct:
            offset = standing.get(source.sha256, 0)
            if offset is not None:
                await self._persist(partial(self._upload, source, offset))

    async def _standing(self, digests: Sequence[str]) -> dict[str, int | None]:
        """The offset to go on at, None for what is complete."""
        found: dict[str, int | None] = {}
        for start in range(0, len(digests), MAX_STATS):
            request = pb.StatBlobsRequest(sha256=digests[start : start + MAX_STATS])
            reply = await self._persist(partial(self._stat, request))
            found |= {b.sha256: None if b.exists else b.size_bytes for b in reply.blobs}
        return found

    async def _stat(self, request: pb.StatBlobsRequest) -> pb.StatBlobsResponse:
        reply: pb.StatBlobsResponse = await self._stub().StatBlobs(request)
        return reply

    async def _upload(self, source: Source, offset: int) -> None:
        try:
            await self._send(source, offset)
        except grpc.aio.AioRpcError as failure:
            fault = error_from_rpc(failure)
            expected = fault.metadata.get("expected_offset", "")
            if fault.reason is not Reason.OFFSET_MISMATCH or not expected.isdigit():
                raise
            await self._send(source, int(expected))

    async def _send(self, source: Source, offset: int) -> None:
        """Write chunk by chunk: what a request iterator raises, gRPC would keep to itself."""
        async with self._slots:
            call: Call = told_why(self._stub().UploadBlob())
            try:
                with suppress(asyncio.InvalidStateError):  # answered before it has all
                    async for request in _requests(source, offset):
                        await call.write(request)
                    await call.done_writing()
                await asyncio.wait_for(call, IDLE_S)
            finally:
                call.cancel()

    # --- both ------------------------------------------------------------------------------------

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try again for as long as the region is away or overloaded."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await attempt()
            except grpc.aio.AioRpcError as failure:
                fault = error_from_rpc(failure)
            except TimeoutError:
                fault = error(Reason.DEADLINE_EXCEEDED, "The region sent no byte in time.")
            if not (isinstance(fault, WorldError) or fault.reason in _PASSING):
                raise fault
            _log.info("blob service away", problem=fault.message, retry_in_s=pause_s)
            await asyncio.sleep(pause_s * (0.5 + self._rng.random()))
            pause_s = min(pause_s * 2, MOST_PAUSE_S)


async def _requests(source: Source, offset: int) -> AsyncIterator[pb.UploadBlobRequest]:
    first = True
    while first or offset < source.size:
        data = await asyncio.to_thread(source.read, offset, CHUNK_BYTES) if source.size else b""
        if source.size and not data:
            raise _shrunk(source)
        yield pb.UploadBlobRequest(
            sha256=source.sha256, size_bytes=source.size, offset=offset, data=data
        )
        offset += len(data)
        first = False


def _shrunk(source: Source) -> IntertieError:
    return error(
        Reason.DIGEST_MISMATCH,
        f"A file of {source.size} bytes became shorter while it was read.",
        remedy="Write files elsewhere and rename them when they are complete.",
    )


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


def _begun(fd: int, size: int) -> tuple[_Digest, int]:
    """The digest of what a file holds, and where it ends; one that is too long begins anew."""
    if os.fstat(fd).st_size > size:
        os.ftruncate(fd, 0)
    digest = hashlib.sha256()
    while data := os.read(fd, CHUNK_BYTES):
        digest.update(data)
    return digest, os.lseek(fd, 0, os.SEEK_CUR)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
