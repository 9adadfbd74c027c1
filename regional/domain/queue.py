"""The queue of a region: who is next, and who may pass.

Order: native, guaranteed, normal, opportunistic; inside, first come first served. Runs that ask for
the same thing stand in one line, so that a line whose first run does not fit is passed over as a
whole: that is backfill, and it costs one look a line, not one a run. Must not know nodes.
"""

import bisect
import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from intertie.model.pool import Shape
from intertie.model.states import RunState
from regional.domain.runs.run import RegionRun

Place = tuple[int, str]
"""(queued_ms, key of the run)."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What all runs of one line ask for."""

    rank: int
    shape: Shape
    excluded: tuple[str, ...]
    is_move: bool
    project: str


class Queue:
    """Waiting runs by demand."""

    def __init__(self) -> None:
        self._lines: dict[Demand, list[Place]] = {}
        self._places: dict[str, tuple[Demand, Place]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def add(self, run: RegionRun) -> None:
        """A run begins to wait, at its place by when it was first queued."""
        assert run.key not in self._places, "a run waits once"
        assert run.state is RunState.QUEUED, "only what is queued waits"
        assert not run.node, "what waits is on no node"
        demand = Demand(run.rank, run.shape, run.excluded, run.is_move, run.project)
        place = (run.queued_ms, run.key)
        self._places[run.key] = (demand, place)
        bisect.insort(self._lines.setdefault(demand, []), place)

    def remove(self, key: str) -> None:
        """A run waits no longer."""
        demand, place = self._places.pop(key)
        line = self._lines[demand]
        at = bisect.bisect_left(line, place)
        assert line[at] == place, "a run waits where it was put"
        line.pop(at)
        if not line:
            del self._lines[demand]

    def lines(self) -> "Pass":
        """Begin a pass over the queue."""
        return Pass(self._lines)


class Pass:
    """One look at the queue: the next run of any line that was not passed over.

    Runs may be removed while it lasts, if they are the ones that it gave.
    """

    def __init__(self, lines: dict[Demand, list[Place]]) -> None:
        self._heads = [(d.rank, *line[0], i, d) for i, (d, line) in enumerate(lines.items())]
        heapq.heapify(self._heads)
        self._lines = lines
        self._passed = False

    def __iter__(self) -> Iterator[tuple[Demand, str]]:
        while self._heads:
            rank, _, key, i, demand = self._heads[0]
            assert self._lines[demand][0][1] == key, "the first of a line is the next"
            self._passed = False
            yield demand, key
            line = self._lines.get(demand)
            if self._passed or not line:
                heapq.heappop(self._heads)
            else:
                heapq.heapreplace(self._heads, (rank, *line[0], i, demand))

    def pass_over(self) -> None:
        """The line of the run that was just given does not fit: look at the others only."""
        self._passed = True
