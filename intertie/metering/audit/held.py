"""Whether the intervals of one thing held overlap.

A rank of a task cannot hold the same cores twice: over all runs and placements, the intervals of
one (task, rank, meter) must be disjoint. Intervals mostly come in order, so each key keeps one span
that grows; only late ones are searched for.
"""

from bisect import bisect_right


class HeldIntervals:
    """Disjoint half-open intervals by key; adjacent ones are merged, so memory stays small."""

    def __init__(self) -> None:
        self._last: dict[object, tuple[int, int]] = {}
        self._gaps: dict[object, list[tuple[int, int]]] = {}

    def add(self, key: object, start: int, end: int) -> tuple[int, int] | None:
        """Add an interval; return the one that it overlaps, in which case nothing is added."""
        assert start < end, f"[{start}, {end}) holds nothing"
        last = self._last.get(key)
        if last is None:
            self._last[key] = (start, end)
        elif start == last[1]:
            self._last[key] = (last[0], end)
        elif start > last[1]:
            self._gaps.setdefault(key, []).append(last)
            self._last[key] = (start, end)
        else:
            return self._add_late(key, start, end, last)
        return None

    def _add_late(
        self, key: object, start: int, end: int, last: tuple[int, int]
    ) -> tuple[int, int] | None:
        if end > last[0]:
            return last
        earlier = self._gaps.setdefault(key, [])
        assert not earlier or earlier[-1][1] <= last[0], "gaps lie before the last span"
        at = bisect_right(earlier, (start, end))
        for other in earlier[max(at - 1, 0) : at + 1]:
            if start < other[1] and other[0] < end:
                return other
        earlier.insert(at, (start, end))
        return None
