"""Uploading blobs: what is there already is skipped, what was begun goes on, some at a time.

The server keeps the bytes of an upload that broke, so a retry asks where it stands and sends the
rest. Must not hold a file in memory.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from intertie.api.federation.v1 import blob_service_pb2 as pb
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.errors import IntertieError, Reason, error
from intertie.model.spec import FileRef
from intertie.sdk.calls.together import together
from intertie.sdk.connection import Connection, is_unavailable

CHUNK = 512 << 10
AT_ONCE = 4
MAX_STATS = 1_000
_SLOWEST_BYTES_PER_S = 64 << 10
"""Below that an upload counts as stuck."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an upload or download is, in bytes."""

    done: int
    total: int


OnProgress = Callable[[Progress], None]


class Uploader:
    """Brings files into the blob root behind a connection."""

    def __init__(self, connection: Connection, on_progress: OnProgress | None = None) -> None:
        self._connection = connection
        self._on_progress = on_progress
        self._done = 0
        self._total = 0

    async def upload(self, blobs: Mapping[FileRef, Path]) -> int:
        """Upload what is not there; returns the bytes that were sent."""
        files = {ref.sha256: (ref, path) for ref, path in blobs.items()}
        stats = await self._stats(list(files))
        missing = [files[digest] for digest, stat in stats.items() if not stat.exists]
        self._total = sum(ref.size for ref, _ in missing)
        self._tell(0)
        gate = asyncio.Semaphore(AT_ONCE)
        await together(self._gated(gate, ref, path) for ref, path in missing)
        return self._total

    async def _gated(self, gate: asyncio.Semaphore, ref: FileRef, path: Path) -> None:
        async with gate:
            await self._file(ref, path)

    async def _stats(self, digests: list[str]) -> dict[str, pb.BlobStat]:
        found: dict[str, pb.BlobStat] = {}
        for at in range(0, len(digests), MAX_STATS):
            request = pb.StatBlobsRequest(sha256=digests[at : at + MAX_STATS])
            answer = await self._connection.unary(BlobServiceStub, "StatBlobs", request)
            found |= {stat.sha256: stat for stat in answer.blobs}
        return found

    async def _file(self, ref: FileRef, path: Path) -> None:
        """One file, again from where it stands after UNAVAILABLE or a surprise about that place."""
        sent = 0

        async def attempt() -> None:
            nonlocal sent
            stat = (await self._stats([ref.sha256]))[ref.sha256]
            if stat.exists:
                self._tell(ref.size - sent)
                return
            self._tell(stat.size_bytes - sent)
            sent = stat.size_bytes

            def count(n_bytes: int) -> None:
                nonlocal sent
                sent += n_bytes
                self._tell(n_bytes)

            requests = _chunks(ref, path, stat.size_bytes, count)
            limit_s = self._connection.patience.call_s + ref.size / _SLOWEST_BYTES_PER_S
            await self._connection.send(BlobServiceStub, "UploadBlob", requests, limit_s)

        retrying = AsyncRetrying(
            retry=retry_if_exception(_goes_on),
            wait=wait_random_exponential(0.1, 2.0),
            stop=stop_after_delay(self._connection.patience.stream_s),
            reraise=True,
        )
        try:
            await retrying(attempt)
        except IntertieError as problem:
            if problem.reason is Reason.DIGEST_MISMATCH:
                raise _changed(path) from problem
            raise

    def _tell(self, n_bytes: int) -> None:
        self._done += n_bytes
        if self._on_progress is not None:
            self._on_progress(Progress(self._done, self._total))


def _goes_on(problem: BaseException) -> bool:
    if isinstance(problem, IntertieError) and problem.reason is Reason.OFFSET_MISMATCH:
        return True
    return is_unavailable(problem)


async def _chunks(
    ref: FileRef, path: Path, offset: int, count: Callable[[int], None]
) -> AsyncIterator[pb.UploadBlobRequest]:
    yield pb.UploadBlobRequest(sha256=ref.sha256, size_bytes=ref.size, offset=offset)
    with path.open("rb") as file:
        file.seek(offset)
        while offset < ref.size:
            data = await asyncio.to_thread(file.read, min(CHUNK, ref.size - offset))
            if not data:
                raise _changed(path)
            yield pb.UploadBlobRequest(offset=offset, data=data)
            offset += len(data)
            count(len(data))


def _changed(path: Path) -> IntertieError:
    return error(
        Reason.DIGEST_MISMATCH,
        f"{path} changed while it was uploaded.",
        remedy="Let it be while the task is submitted, and submit again.",
    )
