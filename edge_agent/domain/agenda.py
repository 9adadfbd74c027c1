"""Instants at which something is due, in order. An entry may be stale: whoever takes it checks."""

import heapq
from enum import StrEnum

from edge_agent.domain.events import RunKey


class Due(StrEnum):
    """What is due."""

    SAMPLE = "sample"
    CHECKPOINT = "checkpoint"
    LAUNCH = "launch"


class Agenda:
    """A heap of (instant, what, run)."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Due, RunKey]] = []

    @property
    def next_ns(self) -> int | None:
        """The earliest instant, None if there is none."""
        return self._heap[0][0] if self._heap else None

    def add(self, at_ns: int, what: Due, key: RunKey) -> None:
        """Remember."""
        assert at_ns > 0, f"{what} of {key} is due before the boot"
        heapq.heappush(self._heap, (at_ns, what, key))

    def take(self, now_ns: int) -> list[tuple[Due, RunKey]]:
        """All that is due, each thing once."""
        due: dict[tuple[Due, RunKey], None] = {}
        while self._heap and self._heap[0][0] <= now_ns:
            _, what, key = heapq.heappop(self._heap)
            due[what, key] = None
        return list(due)
