"""Tasks that wait for a region, grouped by what they ask for.

Tasks with the same demand share one candidate set and one round of offers (routing.md). A round
asks one or two regions, waits for their offers, and hands out as many tasks as they take. A task
that was sent back waits apart until its time has come, then joins its class.
"""

import heapq
from collections import OrderedDict
from dataclasses import dataclass, field

from federation.domain.routing.demand import Demand
from federation.domain.routing.router import Drawn
from intertie.model.link import Offer
from intertie.model.task import Wait


@dataclass(slots=True)
class Round:
    """Offers asked of some regions for one class of tasks. `until_ns` ends the wait.

    `preferred`: only regions that the class prefers were asked.
    """

    id: str
    regions: tuple[str, ...]
    until_ns: int
    drawn: Drawn
    preferred: bool = False
    offers: dict[str, Offer] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether all have answered."""
        return len(self.offers) == len(self.regions)


@dataclass(slots=True)
class Waiting:
    """The tasks of one class in the order of their arrival, and how their search goes.

    `due_ns` is when the next round may start; `tries` counts rounds in a row that got nothing.
    `hungry_ns` is since when the regions that it prefers give it nothing, 0 = they do.
    """

    demand: Demand
    tasks: OrderedDict[str, None] = field(default_factory=OrderedDict)
    round: Round | None = None
    due_ns: int = 0
    tries: int = 0
    hungry_ns: int = 0
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class SentBack:
    """A task that waits apart, until when, and what readers are told."""

    demand: Demand
    due_ns: int
    wait: Wait


class Queue:
    """All classes."""

    def __init__(self) -> None:
        self._classes: dict[Demand, Waiting] = {}
        self._of: dict[str, Waiting] = {}
        self._back: dict[str, SentBack] = {}
        self._due: list[tuple[int, str]] = []

    def add(self, task: str, demand: Demand, due_ns: int) -> None:
        """A task waits; with its class a round becomes due no later than `due_ns`."""
        assert task not in self, f"{task} waits already"
        waiting = self._classes.get(demand)
        if waiting is None:
            waiting = self._classes[demand] = Waiting(demand, due_ns=due_ns)
        elif waiting.tries == 0:
            waiting.due_ns = min(waiting.due_ns, due_ns)
        waiting.tasks[task] = None
        self._of[task] = waiting

    def add_later(self, task: str, back: SentBack) -> None:
        """A task was sent back: it joins its class at `back.due_ns`."""
        assert task not in self, f"{task} waits already"
        self._back[task] = back
        heapq.heappush(self._due, (back.due_ns, task))

    def join_due(self, now_ns: int) -> None:
        """Let those join whose time has come."""
        while self._due and self._due[0][0] <= now_ns:
            due_ns, task = heapq.heappop(self._due)
            back = self._back.get(task)
            if back is not None and back.due_ns == due_ns:
                del self._back[task]
                self.add(task, back.demand, now_ns)

    def remove(self, task: str) -> None:
        """A task waits no more."""
        self._back.pop(task, None)
        waiting = self._of.pop(task, None)
        if waiting is None:
            return
        del waiting.tasks[task]
        if not waiting.tasks and waiting.round is None:
            del self._classes[waiting.demand]

    def __contains__(self, task: str) -> bool:
        return task in self._of or task in self._back

    def wait_of(self, task: str) -> Wait | None:
        """Why a task waits, as far as it is known here."""
        back = self._back.get(task)
        if back is not None:
            return back.wait
        waiting = self._of.get(task)
        return waiting.wait if waiting is not None else None

    def classes(self) -> list[Waiting]:
        """All classes that have tasks or a round."""
        return list(self._classes.values())

    def end_round(self, waiting: Waiting) -> None:
        """A round is over."""
        assert waiting.round is not None, "a round that ends has begun"
        waiting.round = None
        if not waiting.tasks:
            self._classes.pop(waiting.demand, None)

    def hurry(self, now_ns: int) -> None:
        """Something became free or joined: every class may try at once."""
        for waiting in self._classes.values():
            waiting.due_ns = min(waiting.due_ns, now_ns)

    @property
    def deadline(self) -> int | None:
        """When the next class is due, as boot_ns."""
        dues = [w.round.until_ns if w.round else w.due_ns for w in self._classes.values()]
        if self._due:
            dues.append(self._due[0][0])
        return min(dues, default=None)
