"""Content-addressed blobs: code, inputs, outputs, training checkpoints, logs.

Uploads resume, blobs appear whole or not at all, all file work is off the event loop. Who may read
or write which digest is the caller's business: this file only keeps bytes.
"""

import asyncio
import hashlib
import os
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Container,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.ports import StoreUnavailableError
from intertie.store.blob_root import BlobRoot, is_digest
from intertie.store.blob_uploads import UploadFolder, offset_mismatch

_UPLOADS = "uploads"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobLimits:
    """What one root accepts. Chunks go into one gRPC message, so stay at most 1 MiB.

    `max_uploads` bounds unfinished uploads of all, the next two those of one owner.
    """

    max_blob_bytes: int = 1 << 40
    max_append_bytes: int = 1 << 20
    max_uploads: int = 10_000
    max_owner_uploads: int = 10_000
    max_owner_bytes: int = 1 << 42
    read_chunk_bytes: int = 256 << 10


@dataclass(frozen=True, slots=True)
class BlobStat:
    """Whether a blob is there, and its size; if not, how much of an upload is there."""

    sha256: str
    exists: bool
    size: int


class BlobStore:
    """One blob root.

    Args:
        root: a folder, or an fsspec URL.
        staging: where unfinished uploads go; needed if `root` is no local folder, else ignored.
        limits: see `BlobLimits`.
    """

    def __init__(
        self, root: str, *, staging: Path | None = None, limits: BlobLimits | None = None
    ) -> None:
        self.limits = limits or BlobLimits()
        with _disk():
            self._root = BlobRoot(root)
            folder = staging if self._root.folder is None else self._root.folder / _UPLOADS
            if folder is None:
                raise invalid("staging", "a blob root that is no local folder needs one beside it")
            self._uploads = UploadFolder(folder)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._holds: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def hold(self, sha256: str) -> asyncio.Lock:
        """Held while what is known of a blob and its bytes change together, or one by the other."""
        return self._holds.setdefault(sha256, asyncio.Lock())

    async def begin(
        self, sha256: str, size: int, *, owner: str = "", prove: bool = False
    ) -> "Upload":
        """Begin or resume an upload; go on at `Upload.offset`.

        Args:
            sha256: digest of the whole blob, lower-case hex.
            size: bytes of the whole blob.
            owner: uploads of different owners are apart until they are finished.
            prove: the owner has to bring all bytes even if they are here, and learns nothing of
                that; who names a digest need not know what it stands for.

        Raises:
            IntertieError: INVALID_FIELD, TOO_LARGE, QUOTA_EXCEEDED (too many unfinished uploads).
        """
        check_digests([sha256])
        if size < 0:
            raise invalid("size_bytes", f"{size} is negative")
        if size > self.limits.max_blob_bytes:
            raise _too_large("size_bytes", size, self.limits.max_blob_bytes)
        name = self._uploads.name(sha256, owner)
        lock = self._locks.setdefault(name, asyncio.Lock())
        async with lock:
            offset = await _off_loop(self._resume, name, sha256, size, prove=prove)
        return Upload(
            self._root,
            self._uploads,
            self.limits,
            name,
            lock,
            sha256,
            size,
            offset,
            hold=self.hold(sha256),
            prove=prove,
        )

    async def stat(
        self, digests: Sequence[str], *, owner: str = "", known: Container[str] | None = None
    ) -> Sequence[BlobStat]:
        """One answer per digest, in order; if `known` is given, all others are not there."""
        check_digests(digests)
        sizes = await _off_loop(self._root.sizes, digests)
        if known is not None:
            pairs = zip(digests, sizes, strict=True)
            sizes = [size if sha256 in known else None for sha256, size in pairs]
        return [
            BlobStat(sha256, exists=True, size=size)
            if size is not None
            else BlobStat(sha256, exists=False, size=await self._received(sha256, owner))
            for sha256, size in zip(digests, sizes, strict=True)
        ]

    async def read(self, sha256: str, offset: int = 0, limit: int = 0) -> AsyncIterator[bytes]:
        """Chunks of at most `read_chunk_bytes`, from `offset`; `limit` bytes, 0 = to the end.

        Raises:
            IntertieError: NOT_FOUND; OFFSET_MISMATCH for an offset past the end.
        """
        check_digests([sha256])
        if offset < 0 or limit < 0:
            raise invalid("offset" if offset < 0 else "limit", "is negative")
        file = await _off_loop(self._root.open, sha256)
        try:
            size = await _off_loop(file.seek, 0, os.SEEK_END)
            if offset > size:
                raise offset_mismatch(offset, size, "Read from an offset within the blob.")
            rest = min(limit, size - offset) if limit else size - offset
            await _off_loop(file.seek, offset)
            while rest > 0:
                chunk = await _off_loop(file.read, min(rest, self.limits.read_chunk_bytes))
                if not chunk:
                    raise StoreUnavailableError(f"blob {sha256} ends early")
                rest -= len(chunk)
                yield chunk
        finally:
            await _off_loop(file.close)

    async def put(self, data: bytes) -> str:
        """Store a small blob at once; returns its digest."""
        sha256 = hashlib.sha256(data).hexdigest()
        upload = await self.begin(sha256, len(data), owner="put")
        step = self.limits.max_append_bytes
        while upload.offset < len(data):
            await upload.append(upload.offset, data[upload.offset : upload.offset + step])
        await upload.finish()
        return sha256

    async def get(self, sha256: str, max_bytes: int) -> bytes:
        """A small blob at once. Raises NOT_FOUND, TOO_LARGE."""
        (stat,) = await self.stat([sha256])
        if stat.exists and stat.size > max_bytes:
            raise _too_large("sha256", stat.size, max_bytes)
        return b"".join([chunk async for chunk in self.read(sha256)])

    async def delete(self, sha256: str) -> bool:
        """Remove a blob; False if it was not there."""
        check_digests([sha256])
        return await _off_loop(self._root.delete, sha256)

    async def collect_uploads(self, before_utc_ms: int) -> int:
        """Give up uploads that got no byte since an instant; returns how many."""
        return await _off_loop(self._uploads.collect, before_utc_ms)

    async def aged(self, before_utc_ms: int) -> AsyncIterator[str]:
        """The blobs that came before an instant."""
        for number in range(256):
            for sha256 in await _off_loop(self._root.aged, f"{number:02x}", before_utc_ms):
                yield sha256

    async def _received(self, sha256: str, owner: str) -> int:
        return await _off_loop(self._uploads.offset, self._uploads.name(sha256, owner)) or 0

    def _resume(self, name: str, sha256: str, size: int, *, prove: bool) -> int:
        there = None if prove else self._root.size(sha256)
        if there is not None:
            if there != size:
                raise invalid("size_bytes", f"the blob {sha256} has {there} bytes, not {size}")
            self._uploads.discard(name)
            return size
        offset = self._uploads.offset(name)
        if offset is not None and offset <= size:
            return offset
        if offset is None:
            self._check_room(name, size)
        self._uploads.create(name)
        return 0

    def _check_room(self, name: str, size: int) -> None:
        limits = self.limits
        if self._uploads.count() >= limits.max_uploads:
            raise _quota(f"There are {limits.max_uploads} unfinished uploads.")
        count, n_bytes = self._uploads.others(name)
        if count >= limits.max_owner_uploads:
            raise _quota(f"You have {count} unfinished uploads; that is the limit.")
        if n_bytes + size > limits.max_owner_bytes:
            raise _quota(
                f"Your unfinished uploads have {n_bytes} bytes; with {size} more they would be "
                f"over the limit of {limits.max_owner_bytes}."
            )


class Upload:
    """One upload in progress. `offset` is where the next byte goes; `size` means all are there."""

    def __init__(
        self,
        root: BlobRoot,
        uploads: UploadFolder,
        limits: BlobLimits,
        name: str,
        lock: asyncio.Lock,
        sha256: str,
        size: int,
        offset: int,
        *,
        hold: asyncio.Lock,
        prove: bool,
    ) -> None:
        self.sha256 = sha256
        self.size = size
        self.offset = offset
        self._root = root
        self._uploads = uploads
        self._limits = limits
        self._name = name
        self._lock = lock
        self._hold = hold
        self._prove = prove
        self._is_checked = False

    async def append(self, offset: int, data: bytes) -> int:
        """Add bytes at `offset`; returns the next offset.

        Raises:
            IntertieError: OFFSET_MISMATCH (`expected_offset` in its metadata), TOO_LARGE.
            StoreUnavailableError: the disk refused; the offset is as before.
        """
        if len(data) > self._limits.max_append_bytes:
            raise _too_large("data", len(data), self._limits.max_append_bytes)
        if offset + len(data) > self.size:
            raise _too_large("data", offset + len(data), self.size)
        async with self._lock:
            _, n_bytes = self._uploads.others(self._name)
            if n_bytes + offset + len(data) > self._limits.max_owner_bytes:
                raise _quota(f"Your unfinished uploads have over {n_bytes + offset} bytes.")
            self.offset = await _off_loop(self._uploads.append, self._name, offset, data)
        return self.offset

    async def finish(self, then: Callable[[], Awaitable[None]] | None = None) -> None:
        """Check the digest and let the blob appear; idempotent.

        Nobody has to wait for the check but who uploads the same blob for the same owner: the blob
        is held (`BlobStore.hold`) only when it appears.

        Args:
            then: awaited right after, while the blob is still held.

        Raises:
            IntertieError: OFFSET_MISMATCH (bytes are missing), DIGEST_MISMATCH (the upload is given
                up: it must start again).
        """
        async with self._lock:  # from the check on, so that the bytes that appear are those
            await _off_loop(self._check)
            async with self._hold:
                await _off_loop(self._appear)
                if then is not None:
                    await then()

    def _check(self) -> None:
        self._is_checked = False
        if not self._prove and self._root.size(self.sha256) is not None:
            return
        received = self._uploads.offset(self._name) or 0
        if received != self.size:
            raise offset_mismatch(self.size, received, f"Go on at offset {received}.")
        found = self._uploads.seal(self._name)
        if found != self.sha256:
            self._uploads.discard(self._name)
            raise error(
                Reason.DIGEST_MISMATCH,
                f"The bytes received have the digest {found}, not {self.sha256}.",
                remedy="Upload the blob again from the start.",
                metadata={"expected": self.sha256, "found": found},
            )
        self._prove, self._is_checked = False, True

    def _appear(self) -> None:
        if self._root.size(self.sha256) is not None:
            self._uploads.discard(self._name)
            return
        if not self._is_checked:  # it was there, and was deleted just now
            received = self._uploads.offset(self._name) or 0
            raise offset_mismatch(self.size, received, f"Go on at offset {received}.")
        self._root.adopt(self._uploads.path(self._name), self.sha256)
        self._uploads.left(self._name)


async def _off_loop(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    with _disk():
        return await asyncio.to_thread(call, *args, **kwargs)


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as refusal:
        raise StoreUnavailableError(f"blob root: {refusal}") from refusal


def check_digests(digests: Iterable[str]) -> None:
    """Digests become file names: nothing else may pass."""
    for sha256 in digests:
        if not is_digest(sha256):
            raise invalid("sha256", "is not 64 lower-case hex digits")


def _quota(message: str) -> IntertieError:
    return error(
        Reason.QUOTA_EXCEEDED,
        message,
        remedy="Finish some, or wait until old ones are given up.",
    )


def _too_large(field: str, size: int, limit: int) -> IntertieError:
    return error(
        Reason.TOO_LARGE,
        f"{field}: {size} bytes are over the limit of {limit}.",
        remedy="Send less at once, or ask the operator for a higher limit.",
        metadata={"size": str(size), "limit": str(limit)},
    )
