"""Bytes on their way to the region: files of tasks, logs, manifests, each with its digest.

A file is hashed first and read again while it is sent; one that changed in between is refused by
the region, by its digest.
"""

import hashlib
import os
from dataclasses import dataclass, field

from edge_agent.adapters.files.confined import Confined
from edge_agent.keeper.logs import LogReader

_STEP_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes in memory."""

    data: bytes
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha256", hashlib.sha256(self.data).hexdigest())

    @property
    def size(self) -> int:
        """How many."""
        return len(self.data)

    def read(self, offset: int, limit: int) -> bytes:
        """Some of them."""
        return self.data[offset : offset + limit]


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A plain file of a run, opened anew for each piece: many of them hold no descriptors."""

    place: Confined
    path: str
    sha256: str
    size: int
    mode: int

    @classmethod
    def of(cls, place: Confined, path: str) -> "TaskFile":
        """Hash it. Blocks. Raises FileNotFoundError, RefusedError."""
        fd = place.open(path)
        try:
            digest, size = hashlib.sha256(), 0
            while data := os.read(fd, _STEP_BYTES):
                digest.update(data)
                size += len(data)
            mode = os.fstat(fd).st_mode & 0o777
        finally:
            os.close(fd)
        return cls(place, path, digest.hexdigest(), size, mode)

    def read(self, offset: int, limit: int) -> bytes:
        """Some bytes of it."""
        fd = self.place.open(self.path)
        try:
            return os.pread(fd, limit, offset)
        finally:
            os.close(fd)


@dataclass(frozen=True, slots=True)
class LogPiece:
    """A range of a log without a gap; offsets are absolute."""

    reader: LogReader
    start: int
    size: int
    sha256: str

    def read(self, offset: int, limit: int) -> bytes:
        """Some bytes, by their offset within the piece."""
        return self.reader.read(self.start + offset, min(limit, self.size - offset)).data


def log_pieces(base: str) -> list[LogPiece]:
    """What is kept of an ended stream, newest first: one piece, or two if its middle was dropped.

    Blocks: it reads everything once.
    """
    reader = LogReader(base)
    ranges: list[tuple[int, int]] = []
    for segment in reader.segments():
        if ranges and ranges[-1][1] == segment.start:
            ranges[-1] = (ranges[-1][0], segment.end)
        elif segment.size:
            ranges.append((segment.start, segment.end))
    return [_piece(reader, start, end) for start, end in reversed(ranges)]


def _piece(reader: LogReader, start: int, end: int) -> LogPiece:
    digest, offset = hashlib.sha256(), start
    while offset < end:
        chunk = reader.read(offset, min(_STEP_BYTES, end - offset))
        if chunk.offset != offset or not chunk.data:
            break
        digest.update(chunk.data)
        offset = chunk.next_offset
    return LogPiece(reader, start, offset - start, digest.hexdigest())
