"""The federation's core under a fake clock: events in, instructions out, no event loop."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from federation.domain.answers import wait_of
from federation.domain.blobs import blobs_of
from federation.domain.core import DONE, GRANT, LIVE, FederationCore
from federation.domain.events import (
    CancelTask,
    CreateTask,
    GrantRead,
    Heard,
    LinkDown,
    LinkUp,
    ReadGrant,
    Send,
    SendAssignment,
)
from federation.domain.fleet import Timing
from intertie.drive.drive import Loaded
from intertie.drive.effects import Erase, Fail, Record, Reply, Tick, Write
from intertie.model.link import (
    AssignAck,
    DigestEntry,
    DigestRequest,
    FederationHello,
    LeaseRenew,
    Offer,
    OfferRequest,
    RegionHello,
    RunDigest,
    RunUpdate,
)
from intertie.model.names import task_id
from intertie.model.pool import NodeClass, Summary
from intertie.model.spec import RunSpec, TaskSpec, Tolerance
from intertie.model.states import FailureClass, OnDisconnect, Outcome, RunState, TaskState
from intertie.model.task import Task, TaskEvent, Wait
from intertie.model.token import Token
from intertie.testing.clock import FakeClock, SeededIds
from intertie.wire.canonical import spec_sha256

T = TypeVar("T")
PROJECT = "demo"
TIMING = Timing(
    lease_ms=20_000,
    delta_ms=1_000,
    unknown_after_ms=4_000,
    offer_wait_ms=1_000,
    hold_ms=3_000,
    summary_max_age_ms=10_000,
    digest_every_ms=60_000,
)


def make_spec(**changes: Any) -> TaskSpec:
    tolerance = Tolerance(
        on_disconnect=changes.pop("on_disconnect", OnDisconnect.STAY),
        move_after=changes.pop("move_after", 5_000),
        max_attempts=changes.pop("max_attempts", 3),
    )
    return TaskSpec(
        run=changes.pop("run", RunSpec(command=("true",))), tolerance=tolerance, **changes
    )


def make_class(**changes: Any) -> NodeClass:
    fields: dict[str, Any] = {
        "architecture": "x86_64",
        "nodes": 2,
        "max_cpu": 8_000,
        "max_memory": 16 << 30,
        "max_disk": 100 << 30,
        "free_cpu": 16_000,
        "free_memory": 32 << 30,
    }
    return NodeClass(**(fields | changes))


@dataclass
class Room:
    """A core with everything that it has said so far, and what the store would hold of it."""

    timing: Timing = TIMING
    max_open: int = 1_000
    clock: FakeClock = field(default_factory=FakeClock)
    seed: int = 0
    prices: str = "p1"
    said: list[object] = field(default_factory=list)
    rows: dict[tuple[str, str], object] = field(default_factory=dict)
    core: FederationCore = field(init=False)
    _ids: SeededIds = field(init=False)
    _links: dict[str, int] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)
    _count: int = 0
    _revision: int = 0

    def __post_init__(self) -> None:
        self._ids = SeededIds(self.seed, self.clock)
        self.restart()

    # --- the crank -------------------------------------------------------------------------------

    def restart(self) -> None:
        """A new process over what is durable; no link stands."""
        loaded = [Loaded(kind, key, value) for (kind, key), value in self.rows.items()]
        self._links.clear()
        self.core = FederationCore(
            [row for row in loaded if row.kind != DONE],
            self.clock.now(),
            rng=random.Random(self.seed),
            timing=self.timing,
            price_version=self.prices,
            spec_digest=spec_sha256,
            max_open=self.max_open,
            replica="r1",
            shard_epochs=dict.fromkeys(range(64), 1),
        )

    def give(self, event: object) -> list[object]:
        """Handle one event; what follows from it."""
        effects = list(self.core.handle(event, self.clock.now()))
        for effect in effects:
            match effect:
                case Write():
                    self.rows[effect.kind, effect.key] = effect.value
                case Erase():
                    del self.rows[effect.kind, effect.key]
        self.said += effects
        for asked in some(effects, ReadGrant):
            effects += self.give(self.read_grant(asked))
        return effects

    def read_grant(self, asked: ReadGrant) -> GrantRead:
        """What the store answers."""
        grant = self.rows[GRANT, asked.sha256]
        assert isinstance(grant, bytes)
        return GrantRead(task=asked.task, epoch=asked.epoch, grant=grant)

    def wait(self, seconds: float) -> list[object]:
        """Let time pass, with a Tick at every deadline on the way."""
        effects: list[object] = []
        until = self.clock.now().boot_ns + round(seconds * 1e9)
        for _ in range(10_000):
            due = self.core.deadline
            now = self.clock.now().boot_ns
            if due is None or due > until:
                break
            self.clock.advance_ns(max(0, due - now))
            effects += self.give(Tick())
        else:
            raise AssertionError("the core ticks without end")
        self.clock.advance_ns(max(0, until - self.clock.now().boot_ns))
        return effects

    # --- clients ---------------------------------------------------------------------------------

    def create(
        self, spec: TaskSpec | None = None, *, project: str = PROJECT, **more: Any
    ) -> list[object]:
        spec = spec or make_spec()
        self._count += 1
        ids = tuple(task_id(1, self._ids.uuid7()) for _ in range(max(1, spec.array)))
        return self.give(
            CreateTask(
                ticket=self._count,
                project=project,
                ids=ids,
                spec=spec,
                spec_sha256="5" * 64,
                principal="p-1",
                actor="ann",
                request_id=f"request-{self._count}",
                request_digest="d",
                **more,
            )
        )

    def submit(self, spec: TaskSpec | None = None, **more: Any) -> Task:
        """Create a task; the first one of an array."""
        return one(self.create(spec, **more), Reply).value  # type: ignore[return-value]  # a task

    def cancel(self, task: Task, *, etag: str = "", project: str = PROJECT) -> list[object]:
        self._count += 1
        return self.give(
            CancelTask(
                ticket=self._count,
                id=task.id,
                project=project,
                reason="enough",
                actor="ann",
                request_id=f"request-{self._count}",
                request_digest="d",
                etag=etag,
            )
        )

    # --- regions ---------------------------------------------------------------------------------

    def attach(
        self, region: str = "eu", *, jurisdiction: str = "DE/DE-HE/fra1", **summary: Any
    ) -> list[object]:
        """A region says hello and what it has."""
        effects = self.hello(region, jurisdiction)
        return effects + self.summarise(region, jurisdiction=jurisdiction, **summary)

    def hello(self, region: str, jurisdiction: str = "DE/DE-HE/fra1") -> list[object]:
        """A region attaches by a new link."""
        link = self._links[region] = max(self._links.values(), default=0) + 1 + self._count
        self._count += 1
        hello = RegionHello(
            region=region,
            incarnation=f"{region}-1",
            jurisdiction=jurisdiction,
            software="0.1.0",
            protocol_min=1,
            protocol_max=1,
        )
        welcome = FederationHello(replica="r1", software="0.1.0", protocol=1, generation=1)
        return self.give(LinkUp(ticket=link, link=link, hello=hello, welcome=welcome))

    def summarise(self, region: str = "eu", **changes: Any) -> list[object]:
        self._revision += 1
        fields: dict[str, Any] = {
            "jurisdiction": "DE/DE-HE/fra1",
            "classes": (make_class(),),
            "revision": self._revision,
        }
        summary = Summary(region=region, incarnation=f"{region}-1", **(fields | changes))
        return self.hear(summary, region)

    def hear(self, message: Any, region: str = "eu") -> list[object]:
        return self.give(Heard(link=self._links[region], region=region, message=message))

    def lose(self, region: str = "eu") -> list[object]:
        """The region's stream ends."""
        return self.give(LinkDown(link=self._links[region], region=region))

    def renew(self, region: str = "eu", seq: int = 1) -> list[object]:
        return self.hear(LeaseRenew(seq=seq), region)

    def offer(self, request: OfferRequest, region: str = "eu", **changes: Any) -> list[object]:
        fields: dict[str, Any] = {
            "units": request.count,
            "units_now": request.count,
            "expected_wait_ms": 0,
            "hold_ms": request.hold_ms,
            "incarnation": f"{region}-1",
        }
        return self.hear(Offer(id=request.id, **(fields | changes)), region)

    def place(self, region: str = "eu") -> list[SendAssignment]:
        """Answer the offers that the region is asked for; the assignments that follow."""
        self.wait(0.001)
        given: list[object] = []
        for to, request in sends(self.said, OfferRequest):
            if to == region and request.id not in self._answered:
                self._answered.add(request.id)
                given += self.offer(request, region)
        return some(given, SendAssignment)

    def place_again(self, region: str = "eu") -> list[SendAssignment]:
        """Let the time pass for which a task that was sent back waits, and place it."""
        self.wait(61)
        self.summarise(region)
        return self.place(region)

    def running(self, spec: TaskSpec | None = None, region: str = "eu") -> Task:
        """A task that runs at a region."""
        if region not in self._links:
            self.attach(region)
        task = self.submit(spec)
        self.place(region)
        self.accept(task, region)
        self.update(task, RunState.RUNNING, region)
        return self.task(task)

    def accept(self, task: Task, region: str = "eu") -> list[object]:
        ack = AssignAck(task=str(task.name), epoch=self.task(task).epoch, accepted=True)
        return self.hear(ack, region)

    def reject(self, task: Task, reason: str, region: str = "eu") -> list[object]:
        epoch = self.task(task).epoch
        return self.hear(
            AssignAck(task=str(task.name), epoch=epoch, accepted=False, reason=reason), region
        )

    def update(
        self, task: Task, state: RunState, region: str = "eu", **changes: Any
    ) -> list[object]:
        self._revision += 1
        token = changes.pop("token", None) or Token(self.task(task).epoch, 1)
        update = RunUpdate(
            task=str(task.name), token=token, revision=self._revision, state=state, **changes
        )
        return self.hear(update, region)

    def end(
        self,
        task: Task,
        outcome: Outcome = Outcome.SUCCEEDED,
        failure: FailureClass | None = None,
        **changes: Any,
    ) -> list[object]:
        return self.update(task, RunState.ENDED, outcome=outcome, failure_class=failure, **changes)

    def digest(
        self, effects: Iterable[object], runs: Sequence[DigestEntry] = (), region: str = "eu"
    ) -> list[object]:
        """Answer the digest that was asked for in these effects."""
        asked = [r for to, r in sends(effects, DigestRequest) if to == region]
        return self.hear(RunDigest(id=asked[-1].id, entries=tuple(runs), last=True), region)

    # --- what stands -----------------------------------------------------------------------------

    def task(self, task: Task) -> Task:
        """The task as the core has it, or as it ended."""
        live = self.core.tasks.get(task.id)
        if live is not None:
            return live
        done = self.rows[DONE, task.id]
        assert isinstance(done, Task)
        return done

    def wait_of(self, task: Task) -> Wait | None:
        """Why a task waits, as reads tell it."""
        return wait_of(self.core, self.task(task), self.clock.now())

    def state(self, task: Task) -> TaskState:
        return self.task(task).state

    def events(self, task: Task) -> list[TaskEvent]:
        records = [r for r in some(self.said, Record) if r.key == task.id]
        return [r.value for r in records if isinstance(r.value, TaskEvent)]

    def check(self) -> None:
        """What must hold after every event."""
        core = self.core
        stored = {key for kind, key in self.rows if kind == LIVE}
        assert stored == set(core.tasks)
        assert not stored & {key for kind, key in self.rows if kind == DONE}
        for task in core.tasks.values():
            assert not task.is_final
            assert (task.id in core.queue) == (task.state is TaskState.PENDING)
            held = task.id in core.at_region.get(task.region, ())
            assert held == bool(task.region)
        indexed = [id_ for ids in core.at_region.values() for id_ in ids]
        assert len(indexed) == len(set(indexed))
        assert sum(core.open.values()) == len(core.tasks)
        for task in core.tasks.values():
            assert task.spec is not None
            for _, sha256, _ in blobs_of(task.spec):
                assert core.blobs.needs.at(task.region, sha256)
        for sha256, regions in core.blobs.needs.counts().items():
            needing = [t for t in core.tasks.values() if sha256 in _digests(t)]
            assert sorted(t.region for t in needing) == sorted(Counter(regions).elements())


def _digests(task: Task) -> set[str]:
    assert task.spec is not None
    return {sha256 for _, sha256, _ in blobs_of(task.spec)}


def some(effects: Iterable[object], of: type[T]) -> list[T]:
    """The effects of one type."""
    return [effect for effect in effects if isinstance(effect, of)]


def one(effects: Iterable[object], of: type[T]) -> T:
    """The only effect of one type."""
    found = some(effects, of)
    assert len(found) == 1, f"{len(found)} of {of.__name__} in {effects}"
    return found[0]


def sends(effects: Iterable[object], of: type[T]) -> list[tuple[str, T]]:
    """Messages of one type, with the region that each goes to."""
    return [(s.region, s.message) for s in some(effects, Send) if isinstance(s.message, of)]


def fail_of(effects: Iterable[object]) -> Fail:
    return one(effects, Fail)


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.fixture
def make_room() -> Callable[..., Room]:
    return Room


@pytest.fixture
def spec() -> Callable[..., TaskSpec]:
    return make_spec


@pytest.fixture
def node_class() -> Callable[..., NodeClass]:
    return make_class


@pytest.fixture
def pick() -> Any:
    """Selects effects: `pick.one`, `pick.some`, `pick.sends`."""

    class Pick:
        one = staticmethod(one)
        some = staticmethod(some)
        sends = staticmethod(sends)

    return Pick
