"""Finished blobs in a folder or any other fsspec file system. Blocks: called on threads only.

A blob is there whole or not at all: it comes by a rename, and is never changed. Must be given
checked digests; nothing else becomes part of a path.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from intertie.errors import IntertieError, Reason, error

_SHA256 = re.compile(r"[0-9a-f]{64}")


class BlobFile(Protocol):
    """An open blob."""

    def seek(self, offset: int, whence: int = ..., /) -> int:
        """Go to an offset; returns it counted from the start."""
        ...

    def read(self, size: int, /) -> bytes:
        """Read up to `size` bytes."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class BlobRoot:
    """`<root>/<first two digits>/<digest>`. `url` is a path or an fsspec URL (`s3://bucket/dir`)."""

    def __init__(self, url: str) -> None:
        self._fs, self._root = fsspec.core.url_to_fs(url)
        self.folder = Path(self._root) if isinstance(self._fs, LocalFileSystem) else None
        if self.folder is not None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def size(self, sha256: str) -> int | None:
        """Bytes of a blob, None if it is not there."""
        try:
            return int(self._fs.size(self._path(sha256)))
        except FileNotFoundError:
            return None

    def sizes(self, digests: Sequence[str]) -> list[int | None]:
        """`size` of many."""
        return [self.size(sha256) for sha256 in digests]

    def open(self, sha256: str) -> BlobFile:
        """Open for reading. Raises NOT_FOUND."""
        try:
            return cast(BlobFile, self._fs.open(self._path(sha256), "rb"))
        except FileNotFoundError:
            raise no_blob(sha256) from None

    def adopt(self, staged: Path, sha256: str) -> None:
        """Take over a local file, whose bytes have this digest and are on disk."""
        path = self._path(sha256)
        if self.folder is not None:
            target = Path(path)
            target.parent.mkdir(mode=0o700, exist_ok=True)
            staged.replace(target)
            _sync_folder(target.parent)
            _sync_folder(target.parent.parent)
            return
        # Readers of a file system without atomic uploads must not see a part.
        self._fs.makedirs(self._fs._parent(path), exist_ok=True)  # noqa: SLF001 - fsspec's dirname
        part = f"{path}{staged.suffix}.part"
        self._fs.put_file(str(staged), part)
        self._fs.mv(part, path)
        staged.unlink()

    def delete(self, sha256: str) -> bool:
        """Remove a blob; False if it was not there."""
        with suppress(FileNotFoundError):
            self._fs.rm_file(self._path(sha256))
            return True
        return False

    def aged(self, prefix: str, before_utc_ms: int) -> list[str]:
        """The digests with these first two digits whose blobs came before an instant."""
        try:
            found = self._fs.ls(f"{self._root}/{prefix}", detail=False, refresh=True)
        except FileNotFoundError:
            return []
        aged = []
        for path in found:
            sha256 = path.rpartition("/")[2]
            with suppress(FileNotFoundError):  # deleted meanwhile
                came = self._fs.modified(path)
                if is_digest(sha256) and came.timestamp() * 1_000 < before_utc_ms:
                    aged.append(sha256)
        return aged

    def _path(self, sha256: str) -> str:
        return f"{self._root}/{sha256[:2]}/{sha256}"


def is_digest(text: str) -> bool:
    """Whether it is a SHA-256 as it is written here: lower-case hex."""
    return _SHA256.fullmatch(text) is not None


def no_blob(sha256: str) -> IntertieError:
    """NOT_FOUND, for a blob that is not there and for one that the caller may not know of."""
    return error(
        Reason.NOT_FOUND,
        f"There is no blob {sha256}.",
        remedy="Upload it, or use the digest of one that is there.",
        metadata={"sha256": sha256},
    )


def _sync_folder(folder: Path) -> None:
    """Make a rename in it durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
