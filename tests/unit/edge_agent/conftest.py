"""A core without a shell: rows kept as a store keeps them, effects sorted, time under control."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from edge_agent.domain.core import AgentCore, Node
from edge_agent.domain.events import (
    KeeperUp,
    Process,
    ProcessEnd,
    ProcessSeen,
    RegionSaid,
    RegionUp,
    RunKey,
    ToRegion,
)
from edge_agent.domain.lease import Reserve
from intertie.drive.drive import Loaded
from intertie.drive.effects import Erase, Tick, Write
from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentLease,
    AgentRunUpdate,
    StartRun,
    StopRun,
    UsageSample,
)
from intertie.model.states import Outcome, RunState
from intertie.testing.clock import FakeClock
from intertie.testing.scripted_region import start_order

TASK = "projects/p1/tasks/07-01a22e89-65ab-704c-b12f-be4a9bae32c3"
BOOT_KEEPER = "k1"
RESERVE = Reserve(kill_ms=2_000, delta_ms=1_000)


@dataclass
class Desk:
    """See the module's text. The region and the keeper are there unless a test takes them away."""

    site: str = "DE/DE-HE/fra1"
    slots: int = 10
    clock: FakeClock = field(default_factory=FakeClock)
    rows: dict[tuple[str, str], object] = field(default_factory=dict)
    outward: list[object] = field(default_factory=list)
    said: list[Any] = field(default_factory=list)
    link: int = 0

    def __post_init__(self) -> None:
        self.core = self._make()

    def _make(self) -> AgentCore:
        node = Node(site=self.site, slots=self.slots, reserve=RESERVE)
        loaded = [Loaded(kind, key, value) for (kind, key), value in self.rows.items()]
        return AgentCore(loaded, self.clock.now(), node=node)

    def tell(self, event: object) -> list[object]:
        """One event; returns its outward effects."""
        fresh: list[object] = []
        for effect in self.core.handle(event, self.clock.now()):
            match effect:
                case Write(kind=kind, key=key, value=value):
                    self.rows[kind, key] = value
                case Erase(kind=kind, key=key):
                    self.rows.pop((kind, key), None)
                case ToRegion(link=link, message=message):
                    assert link == self.link, "a message by a link that is no more"
                    self.said.append(message)
                    fresh.append(message)
                case _:
                    self.outward.append(effect)
                    fresh.append(effect)
        return fresh

    def attach(self) -> list[object]:
        """The region welcomes us on a new link."""
        self.link += 1
        return self.tell(RegionUp(link=self.link, jurisdiction="DE/DE-HE/fra1", reserve=RESERVE))

    def keeper(self, *processes: Process, incarnation: str = BOOT_KEEPER) -> list[object]:
        """A keeper answers."""
        return self.tell(KeeperUp(incarnation=incarnation, processes=processes))

    def ready(self) -> "Desk":
        """Keeper and region are there."""
        self.keeper()
        self.attach()
        return self

    def restart(self) -> None:
        """The process dies and starts anew with its rows."""
        self.core = self._make()

    def hear(self, message: Any) -> list[object]:
        """The region says something."""
        return self.tell(RegionSaid(link=self.link, message=message))

    def start(self, **changes: Any) -> StartRun:
        """The region orders a run."""
        order = self.order(**changes)
        self.hear(order)
        return order

    def order(self, task: str = TASK, **changes: Any) -> StartRun:
        """An order."""
        return start_order(task, ["true"], **changes)

    def lease(self, seq: int, lease_ms: int) -> list[object]:
        """The region answers a beat."""
        return self.hear(AgentLease(seq=seq, lease_ms=lease_ms))

    def stop(
        self, order: StartRun, outcome: Outcome = Outcome.CANCELLED, notice_ms: int = 1_000
    ) -> list[object]:
        """The region stops a run."""
        return self.hear(
            StopRun(
                task=order.task,
                token=order.token,
                outcome=outcome,
                reason="asked",
                notice_ms=notice_ms,
            )
        )

    def process(self, order: StartRun, **changes: Any) -> Process:
        """What the keeper says of a run."""
        fields: dict[str, Any] = {
            "key": key_of(order),
            "n": order.run,
            "boot_id": self.clock.now().boot_id,
            "pid": 4711,
            "started_ns": self.clock.now().boot_ns,
            **changes,
        }
        return Process(**fields)

    def runs(self, order: StartRun) -> Process:
        """The program runs, from now on."""
        process = self.process(order, running=True)
        self.tell(ProcessSeen(process))
        return process

    def exits(self, process: Process, **changes: Any) -> list[object]:
        """The processes of a run are dead."""
        end = ProcessEnd(at_ns=self.clock.now().boot_ns, **{"exit_code": 0, **changes})
        ended = Process(
            key=process.key,
            n=process.n,
            boot_id=process.boot_id,
            pid=process.pid,
            started_ns=process.started_ns,
            end=end,
        )
        return self.tell(ProcessSeen(ended))

    def tick(self, seconds: float) -> list[object]:
        """Time passes; what is due happens."""
        self.clock.advance(seconds)
        fresh: list[object] = []
        while self.core.deadline is not None and self.core.deadline <= self.clock.now().boot_ns:
            fresh += self.tell(Tick())
        return fresh

    def ack_all(self, order: StartRun) -> None:
        """The region acknowledges everything that it was told of a run."""
        samples = self.samples(order)
        if samples:
            ack = AckUsage(task=order.task, token=order.token, interval=samples[-1].interval)
            self.hear(ack)
        if any(u.state is RunState.ENDED for u in self.updates(order)):
            self.hear(AckRun(task=order.task, token=order.token))

    def updates(self, order: StartRun) -> list[AgentRunUpdate]:
        """What was said of the states of a run."""
        return [m for m in self.said if isinstance(m, AgentRunUpdate) and m.token == order.token]

    def end(self, order: StartRun) -> AgentRunUpdate:
        """The end of a run as it was told."""
        return next(u for u in self.updates(order) if u.state is RunState.ENDED)

    def samples(self, order: StartRun) -> Sequence[UsageSample]:
        """Distinct samples of a run, by number; a repeated one is the same."""
        found: dict[int, UsageSample] = {}
        for message in self.said:
            if isinstance(message, UsageSample) and message.token == order.token:
                assert found.setdefault(message.interval, message) == message
        assert list(found) == list(range(1, len(found) + 1))
        return list(found.values())


def key_of(order: StartRun) -> RunKey:
    return RunKey(order.task, order.token)


@pytest.fixture
def desk() -> Desk:
    return Desk().ready()


@pytest.fixture
def bare_desk() -> Desk:
    """Neither keeper nor region yet."""
    return Desk()


@pytest.fixture(scope="session")
def make_desk() -> Callable[[], Desk]:
    """For properties: a fresh one for each example."""
    return lambda: Desk().ready()
