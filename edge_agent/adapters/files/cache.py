"""Blobs of the region on this node's disk, by digest, up to a bound; the longest unused go first.

Blobs that a staging holds are not dropped, even beyond the bound. Read-only files of tasks are hard
links into the cache; all others are copies. Must not fetch: whoever gives a file has verified it.
"""

import asyncio
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
            if sha256 not in self._sizes:
                part = self._folder / "parts" / sha256
                await fetch(part)
                await asyncio.to_thread(self._adopt, part, sha256)
                self._sizes[sha256] = size
                self.bytes += size
                self._trim()
            self._sizes.move_to_end(sha256)
        if self._locks.get(sha256) is lock and not lock.locked():
            del self._locks[sha256]
        return self.path(sha256)

    def _adopt(self, part: Path, sha256: str) -> None:
        path = self.path(sha256)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part.chmod(CACHED_MODE)
        part.replace(path)

    def _trim(self) -> None:
        if self.bytes <= self._max_bytes:
            return
        for sha256 in list(self._sizes):
            if self.bytes <= self._max_bytes:
                return
            if self._held[sha256] <= 0:
                self.bytes -= self._sizes.pop(sha256)
                with suppress(FileNotFoundError):
                    self.path(sha256).unlink()


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
