"""A region's core without any shell: events in, the list of instructions out."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from intertie.drive.drive import Loaded
from intertie.drive.effects import Erase, Record, Reserve, Write
from intertie.model.agentlink import (
    AgentHello,
    AgentRun,
    AgentRunUpdate,
    Beat,
    CheckpointOffer,
    StartRun,
    UsageSample,
)
from intertie.model.link import Assignment, FromFederation, LeaseGrant
from intertie.model.pool import Device, NodeCapability
from intertie.model.spec import Accelerators, Resources, RunSpec, TaskSpec, Tolerance
from intertie.model.states import OnDisconnect, RunState
from intertie.model.token import Epoch
from intertie.ports import Now
from regional.domain.core import PENDING, RUN, RegionCore
from regional.domain.events import (
    Assigned,
    FederationSaid,
    FederationUp,
    NodeDown,
    NodeSaid,
    NodeUp,
    RenewalSent,
    ToFederation,
    ToNode,
)
from regional.domain.nodes.fencing import UNFENCED
from regional.domain.runs.run import RegionRun
from regional.domain.settings import Site, Timing

MS = 1_000_000
START_NS, START_MS = 10**12, 1_800_000_000_000
SITE = Site(region="eu", jurisdiction="DE/DE-HE/fra1", incarnation="r1", max_queue=100)
TIMING = Timing(agent_lease_ms=6_000, kill_ms=2_000, unknown_after_ms=3_000)
CAPABILITY = NodeCapability(cpu=4_000, memory=8 << 30, disk=64 << 30, architecture="x86_64")
GENEROUS = dict.fromkeys(
    ("cpu.held_core_ms", "mem.held_mib_ms", "accelerator.held_device_ms"), 1 << 50
)

M = TypeVar("M")


@dataclass
class Region:
    """The core, its rows, and a clock that tests move."""

    core: RegionCore
    now_ns: int = START_NS
    rows: dict[tuple[str, str], object] = field(default_factory=dict)
    links: dict[str, int] = field(default_factory=dict)
    link: int = 0
    facts: list[Any] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def now(self) -> Now:
        return Now(self.now_ns, "boot", START_MS + (self.now_ns - START_NS) // MS)

    def do(self, event: object) -> list[object]:
        """Handle one event; keep what is durable, return the rest in order."""
        outward = []
        for effect in self.core.handle(event, self.now):
            match effect:
                case Write(kind=kind, key=key, value=value):
                    self.rows[kind, key] = value
                case Erase(kind=kind, key=key):
                    self.rows.pop((kind, key), None)
                case Record(value=fact):
                    self.facts.append(fact)
                case Reserve():
                    pass
                case _:
                    outward.append(effect)
        return outward

    def pass_ms(self, ms: int) -> None:
        self.now_ns += ms * MS

    def restart(self, *, site: Site = SITE) -> None:
        """A new process on the same rows; links are gone."""
        loaded = [Loaded(kind, key, value) for (kind, key), value in self.rows.items()]
        self.core = RegionCore(loaded, self.now, site=site, timing=TIMING)
        self.links.clear()
        self.link = 0

    # --- the federation --------------------------------------------------------------------------

    def attach_upward(self, lease_ms: int = 20_000) -> list[object]:
        self.link = next(self._numbers)
        out = self.do(FederationUp(link=self.link, replica="fed-1"))
        if lease_ms:
            out += self.renew(lease_ms)
        return out

    def renew(self, lease_ms: int = 20_000) -> list[object]:
        seq = next(self._numbers)
        self.do(RenewalSent(seq=seq, sent_ns=self.now_ns))
        return self.said(LeaseGrant(seq=seq, lease_ms=lease_ms))

    def said(self, message: FromFederation) -> list[object]:
        return self.do(FederationSaid(link=self.link, message=message))

    def assign(
        self,
        spec: TaskSpec,
        task: str = "",
        *,
        epoch: Epoch = Epoch(1, 1),
        retries: int = 2,
        caps: Mapping[str, int] = GENEROUS,
        **changes: Any,
    ) -> tuple[str, list[object]]:
        task = task or name(next(self._numbers))
        fields = {
            "task": task,
            "epoch": epoch,
            "shard": 3,
            "shard_epoch": 1,
            "offer": "",
            "variant": -1,
            "local_retries": retries,
            "attempts_left": 2,
            "index": 0,
            "spec": b"",
            "principal": "p-1",
            "payer": "vision",
            **changes,
        }
        event = Assigned(
            link=self.link,
            assignment=Assignment(**fields),
            spec=spec,
            caps=caps,
            grant_sha256="a" * 64,
        )
        return task, self.do(event)

    # --- nodes -----------------------------------------------------------------------------------

    def attach(
        self,
        node: str = "n1",
        *,
        capability: NodeCapability = CAPABILITY,
        keeper: str = "k1",
        boot: str = "b1",
        runs: Sequence[StartRun] = (),
        state: RunState = RunState.RUNNING,
    ) -> list[object]:
        link = self.links[node] = next(self._numbers)
        hello = AgentHello(
            node=node,
            incarnation="a1",
            boot_id=boot,
            site="",
            software="1",
            protocol_min=1,
            protocol_max=1,
            capability=capability,
            runs=tuple(AgentRun(task=o.task, token=o.token, state=state) for o in runs),
            keeper_incarnation=keeper,
        )
        return self.do(NodeUp(link=link, hello=hello))

    def detach(self, node: str = "n1") -> list[object]:
        return self.do(NodeDown(link=self.links.pop(node), node=node))

    def says(self, node: str, message: Any) -> list[object]:
        return self.do(NodeSaid(link=self.links[node], node=node, message=message))

    def beat(self, node: str = "n1") -> list[object]:
        return self.says(node, Beat(seq=next(self._numbers)))

    def runs_on(self, node: str, order: StartRun) -> list[object]:
        """The node says that it runs."""
        out = []
        for state in (RunState.STARTING, RunState.RUNNING):
            update = AgentRunUpdate(
                task=order.task, token=order.token, state=state, started_ms=self.now.utc_ms
            )
            out += self.says(node, update)
        return out

    def sample(
        self, node: str, order: StartRun, interval: int, ms: int = 1_000, *, final: bool = False
    ) -> list[object]:
        """A node reports an interval that has just passed."""
        self.pass_ms(ms)
        return self.says(
            node,
            UsageSample(
                task=order.task,
                token=order.token,
                interval=interval,
                start_ms=self.now.utc_ms - ms,
                end_ms=self.now.utc_ms,
                boot_ms=ms,
                cpu_used_ms=ms // 2,
                memory_peak=1 << 20,
                final=final,
            ),
        )

    def ends(self, node: str, order: StartRun, **seen: Any) -> list[object]:
        """The node says that it ended; exit code 0 if nothing else is said."""
        fields = {"exit_code": 0, "boot_ms": 1_000, **seen}
        update = AgentRunUpdate(
            task=order.task,
            token=order.token,
            state=RunState.ENDED,
            ended_ms=self.now.utc_ms,
            **fields,
        )
        return self.says(node, update)

    def checkpoint(self, node: str, order: StartRun, step: int, at_ms: int = 0) -> list[object]:
        return self.says(
            node,
            CheckpointOffer(
                task=order.task,
                token=order.token,
                step=step,
                manifest="ab" * 32,
                size=10,
                written_boot_ms=at_ms,
            ),
        )

    # --- what tests ask --------------------------------------------------------------------------

    def run(self, task: str) -> RegionRun:
        """The committed run of a task: live or closed."""
        found = [
            value
            for (kind, _), value in self.rows.items()
            if kind != UNFENCED and isinstance(value, RegionRun) and value.task == task
        ]
        return max(found, key=lambda run: run.token)

    def live(self) -> list[RegionRun]:
        return [v for (kind, _), v in self.rows.items() if kind == RUN and isinstance(v, RegionRun)]

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Pending usage of one kind."""
        bodies = [v for (k, _), v in self.rows.items() if k == PENDING]
        parsed = [json.loads(body) for body in bodies if isinstance(body, bytes)]
        return [body for body in parsed if body["kind"] == kind]


def name(n: int) -> str:
    return f"projects/vision/tasks/03-01890000-0000-7000-8000-{n:012x}"


class Ask:
    """Picks messages out of instruction lists."""

    @staticmethod
    def sent(out: Sequence[object], of_type: type[M], node: str = "") -> list[M]:
        """Messages of one type, to nodes or the federation."""
        return [
            effect.message
            for effect in out
            if isinstance(effect, ToNode | ToFederation)
            and isinstance(effect.message, of_type)
            and (not node or (isinstance(effect, ToNode) and effect.node == node))
        ]

    @staticmethod
    def kinds(out: Sequence[object]) -> list[str]:
        """The types of messages, in order."""
        return [
            type(effect.message).__name__
            for effect in out
            if isinstance(effect, ToNode | ToFederation)
        ]

    @staticmethod
    def devices(count: int, memory: int = 16 << 30) -> tuple[Device, ...]:
        return tuple(
            Device(index=i, uuid=f"u{i}", vendor="nvidia", model="a100", memory=memory)
            for i in range(count)
        )

    @staticmethod
    def moving(**changes: Any) -> TaskSpec:
        tolerance = Tolerance(on_disconnect=OnDisconnect.MOVE)
        return TaskSpec(run=RunSpec(command=("train",)), tolerance=tolerance, **changes)

    @staticmethod
    def on_devices(count: int) -> TaskSpec:
        resources = Resources(accelerators=Accelerators(count=count))
        return TaskSpec(run=RunSpec(command=("train",)), resources=resources)


@pytest.fixture
def ask() -> Ask:
    return Ask()


@pytest.fixture
def make_region() -> Callable[[], Region]:
    """Makes regions without links."""

    def make() -> Region:
        now = Now(START_NS, "boot", START_MS)
        return Region(RegionCore([], now, site=SITE, timing=TIMING))

    return make


@pytest.fixture
def region(make_region: Callable[[], Region]) -> Region:
    """A region without links."""
    return make_region()


@pytest.fixture
def linked(region: Region) -> Region:
    """A region with a lease and one node."""
    region.attach_upward()
    region.attach("n1")
    return region


@pytest.fixture
def spec() -> TaskSpec:
    return TaskSpec(run=RunSpec(command=("true",)))
