"""How much disk a run's directories take: measured in slices, so that a huge tree blocks nothing.

Counts allocated blocks, not lengths (sparse files are free), and each file once and in full however
many names it has: a name outside of the run makes nothing cheaper. Follows no symbolic link and
crosses no mount. A file that is deleted but open is not seen; a single file is bounded exactly, by
RLIMIT_FSIZE (`machine/process.py`).
"""

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

ENTRIES_PER_SLICE: Final = 500
REST_NS: Final = 1_000_000_000
REST_FACTOR: Final = 50
"""A scan that took t is repeated after 50 t at the earliest: at most 2% of a core for one run."""

MAX_REMEMBERED: Final = 200_000
"""Files with several names that one scan remembers; beyond, each name counts as a file."""


def scan(roots: tuple[str, ...]) -> Iterator[int]:
    """Yields the bytes found so far after every entry; a vanished directory counts nothing."""
    total = 0
    seen: set[tuple[int, int]] = set()
    for root in roots:
        found = 0
        for found in _scan_one(root, seen):
            yield total + found
        total += found


def _scan_one(root: str, seen: set[tuple[int, int]]) -> Iterator[int]:
    total = 0
    try:
        device = os.lstat(root).st_dev
    except OSError:
        yield 0
        return
    pending = [root]
    while pending:
        try:
            entries = os.scandir(pending.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_dev != device:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    total += status.st_blocks * 512
                elif _is_new(status, seen):
                    total += status.st_blocks * 512
                yield total
    yield total


def _is_new(status: os.stat_result, seen: set[tuple[int, int]]) -> bool:
    """Whether this name is the first of its file in this scan."""
    if status.st_nlink < 2 or status.st_blocks == 0:
        return True
    file = (status.st_dev, status.st_ino)
    if file in seen:
        return False
    if len(seen) < MAX_REMEMBERED:
        seen.add(file)
    return True


class DiskMeter:
    """Measures some directories, again and again."""

    def __init__(self, roots: tuple[str, ...], now: int) -> None:
        self._roots = roots
        self._scan: Iterator[int] | None = None
        self._spent = 0
        self._total = 0
        self.due_at = now + REST_NS // 10
        self.used_bytes: int | None = None
        """The last complete measurement."""

    def step(self, now: int, clock: Callable[[], int]) -> int | None:
        """One slice if it is due. Returns a total when a measurement is complete."""
        if now < self.due_at:
            return None
        if self._scan is None:
            self._scan, self._spent = scan(self._roots), 0
        part = list(islice(self._scan, ENTRIES_PER_SLICE))
        after = clock()
        self._spent += after - now
        if len(part) == ENTRIES_PER_SLICE:
            self._total = part[-1]
            self.due_at = after + max(after - now, 1_000_000)
            return None
        self._scan = None
        self.due_at = after + max(REST_NS, self._spent * REST_FACTOR)
        self.used_bytes = part[-1] if part else self._total
        return self.used_bytes
