"""Task output on disk: bounded, addressed by absolute byte offset, readable while it is written.

A stream with base path P is kept in files `P.<start>`, the start being the absolute offset of the
file's first byte in 20 digits. The first file is the head (a quarter of the bound) and is never
removed: how a task began explains most failures. After it come tail segments (three eighths each)
of which the newest two stay. So at most the bound is on disk, a task that prints a gigabyte fills
nothing, and a reader needs no index: names and sizes say it all.

A stream that stays silent has no file: most do, and making two files costs more than starting a
process. A write that fails (full disk) loses bytes, never blocks the task: the next segment starts
at the true offset and the reader sees the gap. Imported by link for `LogReader`.
"""

import errno
import os
from typing import Final, NamedTuple

_DIGITS: Final = 20
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Segment(NamedTuple):
    """One file of a stream: where it starts and how long it is."""

    start: int
    size: int
    path: str

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.start + self.size


class Chunk(NamedTuple):
    """Bytes read. `offset` is above the one asked for when what lay between is gone."""

    offset: int
    data: bytes

    @property
    def next_offset(self) -> int:
        """Where to read on."""
        return self.offset + len(self.data)


class LogWriter:
    """Appends a stream; written by the keeper only. Raises OSError where it could never write, or
    where a stream of this name is there already.
    """

    def __init__(self, base: str, cap_bytes: int) -> None:
        self._base = base
        self._head_bytes = max(cap_bytes // 4, 1)
        self._tail_bytes = max(cap_bytes * 3 // 8, 1)
        self._tails: list[str] = []
        self._fd: int | None = None
        self._room = 0
        self.offset = 0
        """Bytes that the task has written so far, kept or not."""
        os.stat(os.path.dirname(base))
        if os.path.lexists(self._next_path()):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), base)

    def write(self, data: bytes) -> None:
        """Append, dropping what no longer fits and what the disk refuses."""
        view = memoryview(data)
        while view:
            try:
                if self._room <= 0 or self._fd is None:
                    self._open()
                assert self._fd is not None
                written = os.write(self._fd, view[: self._room])
            except OSError:
                self.offset += len(view)
                self.close()
                return
            self._room -= written
            self.offset += written
            view = view[written:]

    def close(self) -> None:
        """Close the file; a later write opens the next segment."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _next_path(self) -> str:
        return f"{self._base}.{self.offset:0{_DIGITS}d}"

    def _open(self) -> None:
        self.close()
        path = self._next_path()
        while len(self._tails) >= 2:
            os.unlink(self._tails.pop(0))
        self._fd = os.open(path, _FLAGS, 0o600)
        if self.offset == 0:
            self._room = self._head_bytes
        else:
            self._room = self._tail_bytes
            self._tails.append(path)


class LogReader:
    """Reads a stream by offset, while it grows or after. Stateless: safe against rotation."""

    def __init__(self, base: str) -> None:
        self._directory, self._name = os.path.split(base)

    def segments(self) -> list[Segment]:
        """What is on disk, in order; empty when the stream never began."""
        prefix = f"{self._name}."
        found = []
        try:
            with os.scandir(self._directory) as entries:
                for entry in entries:
                    digits = entry.name.removeprefix(prefix)
                    if len(digits) != _DIGITS or not digits.isdigit():
                        continue
                    if entry.name != prefix + digits:
                        continue
                    size = entry.stat(follow_symlinks=False).st_size
                    found.append(Segment(int(digits), size, entry.path))
        except FileNotFoundError:
            return self.segments() if found else []
        return sorted(found)

    def end(self) -> int:
        """The offset after the last byte on disk."""
        segments = self.segments()
        return segments[-1].end if segments else 0

    def read(self, offset: int, limit: int) -> Chunk:
        """Up to `limit` bytes from `offset`, or from the first later byte that is still there."""
        for segment in self.segments():
            if segment.end <= offset:
                continue
            start = max(offset, segment.start)
            try:
                fd = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                continue
            try:
                data = os.pread(fd, limit, start - segment.start)
            finally:
                os.close(fd)
            return Chunk(start, data)
        return Chunk(offset, b"")
