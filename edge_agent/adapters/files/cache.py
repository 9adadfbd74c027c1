"""Blobs of the region on this node's disk, by digest, up to a bound; the longest unused go first.

Blobs that a staging holds are not dropped, even beyond the bound. Read-only files of tasks are hard
links into the cache; all others are copies. Must not fetch: whoever gives a file has verified it.

A blob is adopted only when it is durable: its bytes are synced before it gets its name. What was
found at the start, or changed since, is read against its digest before it is used, and one that is
torn (a crash of the machine, a task of the same user) is dropped and fetched again.
"""

import asyncio
import hashlib
import os
import shutil
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CACHED_MODE = 0o444

Fetch = Callable[[Path], Coroutine[Any, Any, None]]
"""Fills a file that may hold the beginning of the blob."""


class BlobCache:
    """See the module's text. `load` before use; for one event loop."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._sizes: OrderedDict[str, int] = OrderedDict()
        self._held: Counter[str] = Counter()
        self._seen: dict[str, tuple[int, int]] = {}
        """Length and time of the last change of each blob whose digest was verified."""
        self._locks: dict[str, asyncio.Lock] = {}
        self.bytes = 0

    def load(self) -> None:
        """Find what is there. Blocks."""
        (self._folder / "parts").mkdir(mode=0o700, parents=True, exist_ok=True)
        found = []
        for folder in self._folder.iterdir():
            if len(folder.name) == 2:
                for path in folder.iterdir():
                    status = path.stat()
                    found.append((status.st_atime_ns, path.name, status.st_size))
        for _, sha256, size in sorted(found):
            self._sizes[sha256] = size
            self.bytes += size
        self._trim()

    def path(self, sha256: str) -> Path:
        """Where a blob is, once it is there."""
        return self._folder / sha256[:2] / sha256

    @contextmanager
    def holding(self, digests: Iterable[str]) -> Iterator[None]:
        """Keep these blobs for as long as they are needed."""
        held = list(digests)
        self._held.update(held)
        try:
            yield
        finally:
            self._held.subtract(held)
            self._trim()

    async def need(self, sha256: str, size: int, fetch: Fetch) -> Path:
        """The blob's file; fetched once however many ask for it at the same time."""
        assert self._held[sha256] > 0, "hold a blob before asking for it"
        lock = self._locks.setdefault(sha256, asyncio.Lock())
        async with lock:
            if sha256 in self._sizes and not await asyncio.to_thread(self._is_whole, sha256, size):
                self._drop(sha256)
            if sha256 not in self._sizes:
                part = self._folder / "parts" / sha256
                await fetch(part)
                self._seen[sha256] = await asyncio.to_thread(self._adopt, part, sha256)
                self._sizes[sha256] = size
                self.bytes += size
                self._trim()
            self._sizes.move_to_end(sha256)
        if self._locks.get(sha256) is lock and not lock.locked():
            del self._locks[sha256]
        return self.path(sha256)

    def _is_whole(self, sha256: str, size: int) -> bool:
        """Whether a blob's file is the blob; read only when it is not known to be. Blocks."""
        try:
            with self.path(sha256).open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_size != size:
                    return False
                if self._seen.get(sha256) == _state(status):
                    return True
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    return False
        except OSError:
            return False
        self._seen[sha256] = _state(status)
        return True

    def _adopt(self, part: Path, sha256: str) -> tuple[int, int]:
        path = self.path(sha256)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part.chmod(CACHED_MODE)
        with part.open("rb") as file:
            os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        part.replace(path)  # a crash may undo this: then the blob is absent, not torn
        return _state(status)

    def _drop(self, sha256: str) -> None:
        self.bytes -= self._sizes.pop(sha256)
        self._seen.pop(sha256, None)
        with suppress(FileNotFoundError):
            self.path(sha256).unlink()

    def _trim(self) -> None:
        if self.bytes <= self._max_bytes:
            return
        for sha256 in list(self._sizes):
            if self.bytes <= self._max_bytes:
                return
            if self._held[sha256] <= 0:
                self._drop(sha256)


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def place(blob: Path, target: Path, mode: int, uid: int | None) -> None:
    """Put a blob at a path of a run that has no process yet. Blocks.

    A file that nobody may write is a link into the cache, owned by us; any other is the run's own.
    """
    target.unlink(missing_ok=True)
    if mode & 0o333 == 0:
        try:
            os.link(blob, target)
        except OSError:  # another file system, or too many links
            pass
        else:
            return
    shutil.copyfile(blob, target)
    target.chmod(mode & 0o777)
    if uid is not None:
        os.chown(target, uid, uid, follow_symlinks=False)


def make_parents(root: Path, path: str, uid: int | None) -> Path:
    """The folders above a relative path below `root`, owned by the run; returns the path."""
    folder = root
    *parents, name = path.split("/")
    for part in parents:
        folder = folder / part
        with suppress(FileExistsError):
            folder.mkdir(0o700)
            if uid is not None:
                os.chown(folder, uid, uid, follow_symlinks=False)
    return folder / name
