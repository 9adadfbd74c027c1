"""Unfinished uploads as files of one local folder. Blocks: called on threads only.

All state is in the folder (a file's length is the upload's offset), so uploads survive a restart.
The name holds the digest and a hash of the owner: nobody can spoil what another one uploads. How
much each owner has here is counted in memory, from the folder at the start: one process writes it.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from intertie.errors import IntertieError, Reason, error


class UploadFolder:
    """The staging files. The caller lets one call at a time touch one file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._sizes: dict[str, dict[str, int]] = {}
        for path in folder.iterdir():
            self._note(path.name, path.stat().st_size)

    def name(self, sha256: str, owner: str) -> str:
        """The file of one owner's upload of one blob."""
        return f"{sha256}.{hashlib.sha256(owner.encode()).hexdigest()[:16]}"

    def others(self, name: str) -> tuple[int, int]:
        """How many other unfinished uploads the owner of this one has, and their bytes."""
        sizes = dict(self._sizes.get(_owner_in(name), {}))
        sizes.pop(name, None)
        return len(sizes), sum(sizes.values())

    def path(self, name: str) -> Path:
        """Where the bytes are."""
        return self._folder / name

    def offset(self, name: str) -> int | None:
        """Bytes received, None if there is no such upload."""
        try:
            return self.path(name).stat().st_size
        except FileNotFoundError:
            return None

    def count(self) -> int:
        """Unfinished uploads."""
        return sum(len(sizes) for sizes in list(self._sizes.values()))

    def create(self, name: str) -> None:
        """Begin with nothing."""
        os.close(_open(self.path(name), os.O_CREAT | os.O_TRUNC))
        self._note(name, 0)

    def append(self, name: str, offset: int, data: bytes) -> int:
        """Add bytes at the end, which must be at `offset`; returns the new end."""
        try:
            fd = _open(self.path(name), os.O_APPEND)
        except FileNotFoundError:
            raise offset_mismatch(offset, 0, "The upload was given up; begin it again.") from None
        try:
            end = os.fstat(fd).st_size
            if end != offset:
                raise offset_mismatch(offset, end, f"Go on at offset {end}.")
            try:
                _write_all(fd, data)
            except OSError:
                os.ftruncate(fd, end)
                raise
        finally:
            os.close(fd)
        self._note(name, offset + len(data))
        return offset + len(data)

    def seal(self, name: str) -> str:
        """Bring the bytes to disk; returns their digest as read back."""
        with self.path(name).open("rb") as file:
            os.fsync(file.fileno())
            return hashlib.file_digest(file, "sha256").hexdigest()

    def discard(self, name: str) -> None:
        """Give an upload up."""
        self.path(name).unlink(missing_ok=True)
        self.left(name)

    def left(self, name: str) -> None:
        """An upload's file is here no more."""
        owner = _owner_in(name)
        sizes = self._sizes.get(owner)
        if sizes is not None:
            sizes.pop(name, None)
            if not sizes:
                self._sizes.pop(owner, None)

    def collect(self, before_utc_ms: int) -> int:
        """Give up all that got no byte since; returns how many."""
        collected = 0
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):  # finished or given up meanwhile
                if path.stat().st_mtime_ns < before_utc_ms * 1_000_000:
                    self.discard(path.name)
                    collected += 1
        return collected

    def _note(self, name: str, size: int) -> None:
        self._sizes.setdefault(_owner_in(name), {})[name] = size


def _owner_in(name: str) -> str:
    return name.rpartition(".")[2]


def offset_mismatch(offset: int, expected: int, remedy: str) -> IntertieError:
    """OFFSET_MISMATCH with the offset that would have been right."""
    return error(
        Reason.OFFSET_MISMATCH,
        f"offset: {offset} is not {expected}.",
        remedy=remedy,
        metadata={"offset": str(offset), "expected_offset": str(expected)},
    )


def _open(path: Path, flags: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
