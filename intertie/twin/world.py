"""A federation of one region in one process: both production cores and drives, in virtual time.

The network is a queue that may be cut; nodes are scripted (`intertie.twin.node`). Nothing sleeps.
Knows only the domains of the services, never their shells.
"""

import json
import random
from collections.abc import Callable, Iterable

from federation.domain.answers import wait_of
from federation.domain.core import FederationCore
from federation.domain.events import (
    GrantRead,
    Heard,
    LinkDown,
    LinkUp,
    ReadGrant,
    Send,
    SendAssignment,
)
from federation.domain.fleet import Timing as FederationTiming
from intertie.drive.drive import Drive, Loaded
from intertie.drive.effects import Fail, Reply, Request, Tick
from intertie.metering.grant import parse_grant
from intertie.model.agentlink import (
    AckRun,
    AgentRunUpdate,
    Beat,
    CheckpointOffer,
    FromAgent,
    StartRun,
    StopRun,
    UsageSample,
)
from intertie.model.link import Assignment, FederationHello, LeaseGrant, LeaseRenew, RegionHello
from intertie.model.states import RunState
from intertie.model.task import Run, Task, Wait
from intertie.ports import Delete, Now, Put, ShardHead
from intertie.twin.node import ScriptedNode
from intertie.wire.canonical import spec_sha256
from regional.domain.core import RegionCore
from regional.domain.events import (
    Assigned,
    FederationDown,
    FederationSaid,
    FederationUp,
    NodeDown,
    NodeSaid,
    NodeUp,
    RenewalSent,
    ToFederation,
    ToNode,
)
from regional.domain.settings import Site
from regional.domain.settings import Timing as RegionTiming

MS = 1_000_000
START_MS = 1_800_000_000_000


class World:
    """See the module's text."""

    def __init__(self) -> None:
        self.now_ns = 10**12
        self.federation_timing = FederationTiming(lease_ms=20_000, unknown_after_ms=3_000)
        self.region_timing = RegionTiming(agent_lease_ms=6_000, kill_ms=2_000)
        self.values: list[object] = []
        self.federation_rows: dict[tuple[str, str], object] = {}
        self.region_rows: dict[tuple[str, str], object] = {}
        self.nodes = {name: ScriptedNode(name) for name in ("n1", "n2")}
        self.links = 0
        self.uplink = 0
        self.is_linked = False
        self.answers: dict[int, object] = {}
        self.tickets = 0
        self.renewals = 0
        self.region_life = 0
        self.federation = self._start_federation()
        self.region = self._start_region()
        self.link()
        for node in self.nodes.values():
            self.attach(node)

    # --- time ------------------------------------------------------------------------------------

    @property
    def now(self) -> Now:
        """Both clocks, as every part of the world reads them."""
        elapsed = (self.now_ns - 10**12) // MS
        return Now(self.now_ns, "boot", START_MS + elapsed)

    def run(self, ms: int) -> None:
        """Let virtual time pass in steps, with beats and renewals every second."""
        end = self.now_ns + ms * MS
        while self.now_ns < end:
            self.now_ns += 100 * MS
            if (self.now_ns // MS) % 1_000 < 100:
                self._beat()
            for drive in (self.federation, self.region):
                if drive.deadline is not None and drive.deadline <= self.now_ns:
                    drive.push(Tick())
            self._end_saved()
            self.settle()

    def _beat(self) -> None:
        if self.is_linked:
            self.renewals += 1
            self.region.push(RenewalSent(seq=self.renewals, sent_ns=self.now_ns))
            self._up(LeaseRenew(seq=self.renewals))
        for node in self.nodes.values():
            if node.is_up and node.link:
                self.region.push(NodeSaid(link=node.link, node=node.id, message=Beat(seq=1)))

    def _keep(self, value: object) -> bytes:
        """Stands for the codec: a stored body names the value it was made from."""
        self.values.append(value)
        return str(len(self.values) - 1).encode()

    # --- processes -------------------------------------------------------------------------------

    def _start_federation(self) -> Drive:
        def make(rows: Iterable[Loaded], now: Now) -> FederationCore:
            return FederationCore(
                rows,
                now,
                rng=random.Random(1),  # noqa: S311 - a seed, so that a world can be repeated
                timing=self.federation_timing,
                price_version="prices-1",
                spec_digest=spec_sha256,
                max_open=100_000,
                replica="fed-1",
                shard_epochs={},
            )

        drive = Drive(make, self._keep, unseen=frozenset({"done"}))
        rows = [Loaded(kind, key, v) for (kind, key), v in self.federation_rows.items()]
        heads = [ShardHead(n, 1, 0) for n in range(64)]
        drive.load(heads, rows, self.now)
        return drive

    def _start_region(self) -> Drive:
        self.region_life += 1
        site = Site(
            region="suzhou", jurisdiction="CN/CN-JS/park", incarnation=f"r{self.region_life}"
        )

        def make(rows: Iterable[Loaded], now: Now) -> RegionCore:
            return RegionCore(rows, now, site=site, timing=self.region_timing)

        drive = Drive(make, self._keep)
        rows = [Loaded(kind, key, v) for (kind, key), v in self.region_rows.items()]
        drive.load([ShardHead(0, 1, 0)], rows, self.now)
        return drive

    def restart_region(self) -> None:
        """Kill -9 and start again: what was not committed is gone, links break."""
        self.unlink()
        for node in self.nodes.values():
            node.link = 0
        self.region = self._start_region()
        self.link()
        for node in self.nodes.values():
            if node.is_up:
                self.attach(node)
        self.settle()

    def restart_federation(self) -> None:
        """Kill -9 and start again."""
        self.unlink()
        self.federation = self._start_federation()
        self.link()

    def link(self) -> None:
        """The region attaches."""
        self.links += 1
        self.is_linked, self.uplink = True, self.links
        hello = RegionHello(
            region="suzhou",
            incarnation=f"r{self.region_life}",
            jurisdiction="CN/CN-JS/park",
            software="1",
            protocol_min=1,
            protocol_max=1,
        )
        welcome = FederationHello(replica="fed-1", software="1", protocol=1, generation=1)
        self.tickets += 1
        self.federation.push(
            LinkUp(ticket=self.tickets, link=self.links, hello=hello, welcome=welcome)
        )
        self.region.push(FederationUp(link=self.links, replica="fed-1"))
        self.settle()
        self._beat()
        self.settle()

    def unlink(self) -> None:
        """The region's stream breaks."""
        self.is_linked = False
        self.federation.push(LinkDown(link=self.uplink, region="suzhou"))
        self.region.push(FederationDown(link=self.uplink))
        self.settle()

    def attach(self, node: ScriptedNode, *, lists_runs: bool = True) -> None:
        """A node attaches."""
        self.links += 1
        node.is_up, node.link = True, self.links
        self.region.push(NodeUp(link=node.link, hello=node.hello(lists_runs=lists_runs)))
        self.settle()

    def cut(self, name: str) -> None:
        """The link of a node breaks; what runs there goes on."""
        node = self.nodes[name]
        self.region.push(NodeDown(link=node.link, node=name))
        node.link = 0
        self.settle()

    def kill(self, name: str) -> None:
        """All processes of a node die, its tasks too."""
        node = self.nodes[name]
        self.region.push(NodeDown(link=node.link, node=name))
        node.is_up, node.link = False, 0
        node.runs.clear()
        node.keeper += 1
        self.settle()

    # --- messages --------------------------------------------------------------------------------

    def settle(self) -> None:
        """Carry messages until nothing moves."""
        while self._crank(self.federation, self.federation_rows, self._from_federation) or (
            self._crank(self.region, self.region_rows, self._from_region)
        ):
            pass

    def _crank(
        self,
        drive: Drive,
        rows: dict[tuple[str, str], object],
        out: Callable[[object], None],
    ) -> bool:
        if drive.take() is None:
            return False
        commits = drive.decide({}, self.now)
        for change in (change for commit in commits for change in commit.changes):
            match change:
                case Put(kind=kind, key=key, body=body):
                    rows[(kind, key)] = self.values[int(body)]
                case Delete(kind=kind, key=key):
                    rows.pop((kind, key), None)
        released = drive.committed()
        for effect in released.effects:
            out(effect)
        return True

    def _from_federation(self, effect: object) -> None:
        match effect:
            case Reply(ticket, value):
                self.answers[ticket] = value
            case Fail(ticket, fault):
                self.answers[ticket] = fault
            case ReadGrant():
                grant = self.federation_rows["grant", effect.sha256]
                assert isinstance(grant, bytes)
                self.federation.push(GrantRead(task=effect.task, epoch=effect.epoch, grant=grant))
            case SendAssignment() if self.is_linked:
                self._assign(effect)
            case Send() if self.is_linked:
                if isinstance(effect.message, LeaseGrant):
                    assert effect.message.lease_ms
                self.region.push(FederationSaid(link=self.region_link, message=effect.message))

    @property
    def region_link(self) -> int:
        """The link that the region believes it has."""
        core = self.region.core
        assert isinstance(core, RegionCore)
        return core.upward.link

    def _assign(self, effect: SendAssignment) -> None:
        run, spec = effect.task.run, effect.task.spec
        assert run is not None
        assert spec is not None
        assignment = Assignment(
            task=str(effect.task.name),
            epoch=run.token.epoch,
            shard=0,
            shard_epoch=1,
            offer=effect.offer,
            variant=run.variant,
            local_retries=effect.local_retries,
            attempts_left=1,
            index=effect.task.index,
            spec=b"",
            principal="p",
            payer=effect.task.project,
            checkpoint=effect.task.checkpoint,
        )
        grant = parse_grant(effect.grant)
        self.region.push(
            Assigned(
                link=self.region_link,
                assignment=assignment,
                spec=spec,
                caps=grant.maximum,
                grant_sha256=grant.sha256,
            )
        )

    def _up(self, message: object) -> None:
        core = self.federation.core
        assert isinstance(core, FederationCore)
        member = core.fleet.members.get("suzhou")
        link = member.link if member else 0
        self.federation.push(Heard(link=link, region="suzhou", message=message))  # type: ignore[arg-type] # a FromRegion

    def _from_region(self, effect: object) -> None:
        match effect:
            case ToFederation(message=message) if self.is_linked:
                self._up(message)
            case Reply(ticket, value):
                self.answers[ticket] = value
            case Fail(ticket, fault):
                self.answers[ticket] = fault
            case ToNode(node=name, message=message):
                node = self.nodes[name]
                if node.is_up and node.link:
                    self._at_node(node, message)

    def _at_node(self, node: ScriptedNode, message: object) -> None:
        node.sent.append(message)
        match message:
            case StartRun():
                if node.begin(message, self.now_ns):
                    self._say(node, message, RunState.STARTING)
                self._say(node, message, RunState.RUNNING)
            case StopRun() if message.task in node.runs:
                self._stop(node, message)
            case AckRun(task=task, token=token) if task in node.runs:
                if node.runs[task].token == token:
                    del node.runs[task]

    def _stop(self, node: ScriptedNode, order: StopRun) -> None:
        if node.cannot_kill:
            left = {"unkillable": "1", "lost": "1"}
            self._say(node, node.runs[order.task], RunState.ENDED, left)
        elif node.stop_takes_ms:
            takes_ms = min(node.stop_takes_ms, order.notice_ms)
            node.stopping.setdefault(order.task, self.now_ns + takes_ms * MS)
        else:
            self.end(node.id, order.task, signal=15, evidence={"stopped": "1"})

    def _end_saved(self) -> None:
        """Runs that were told to stop end when they have saved their work."""
        for node in self.nodes.values():
            for task, due_ns in list(node.stopping.items()):
                if due_ns <= self.now_ns:
                    del node.stopping[task]
                    ran_ms = (self.now_ns - node.started_ns[task]) // MS
                    self.end(node.id, task, signal=15, evidence={"stopped": "1"}, ran_ms=ran_ms)

    def _say(
        self,
        node: ScriptedNode,
        order: StartRun,
        state: RunState,
        evidence: dict[str, str] | None = None,
    ) -> None:
        update = AgentRunUpdate(
            task=order.task,
            token=order.token,
            state=state,
            started_ms=self.now.utc_ms,
            evidence=evidence or {},
        )
        self._from_node(node, update)

    def _from_node(self, node: ScriptedNode, message: FromAgent) -> None:
        if not node.is_mute:
            self.region.push(NodeSaid(link=node.link, node=node.id, message=message))

    def end(
        self,
        name: str,
        task: str,
        *,
        exit_code: int | None = None,
        signal: int = 0,
        evidence: dict[str, str] | None = None,
        ran_ms: int = 1_000,
    ) -> None:
        """A run ends on its node, with its last sample."""
        node = self.nodes[name]
        order = node.runs[task]
        sample = UsageSample(
            task=task,
            token=order.token,
            interval=1,
            start_ms=self.now.utc_ms - ran_ms,
            end_ms=self.now.utc_ms,
            boot_ms=ran_ms,
            cpu_used_ms=ran_ms // 2,
            memory_peak=1 << 20,
            final=True,
        )
        update = AgentRunUpdate(
            task=task,
            token=order.token,
            state=RunState.ENDED,
            ended_ms=self.now.utc_ms,
            boot_ms=ran_ms,
            exit_code=exit_code,
            signal=signal,
            evidence=evidence or {},
        )
        for message in (sample, update):
            self._from_node(node, message)
        self.settle()

    def checkpoint(self, name: str, task: str, step: int, written_ms: int) -> None:
        """A run on a node has written a checkpoint."""
        node = self.nodes[name]
        offer = CheckpointOffer(
            task=task,
            token=node.runs[task].token,
            step=step,
            manifest="ab" * 32,
            size=10,
            written_boot_ms=written_ms,
        )
        self._from_node(node, offer)
        self.settle()

    # --- what tests ask --------------------------------------------------------------------------

    def ask(self, make: Callable[[int], object], request: Request | None = None) -> object:
        """Push a client's event and return the answer."""
        self.tickets += 1
        self.federation.push(make(self.tickets), request)
        self.settle()
        return self.answers.get(self.tickets)

    def order(self, make: Callable[[int], object], request: Request | None = None) -> object:
        """Push an order of the region's operator and return the answer."""
        self.tickets += 1
        self.region.push(make(self.tickets), request)
        self.settle()
        return self.answers.get(self.tickets)

    def task(self, id_: str) -> Task:
        """The task as the federation last committed it: live or done."""
        rows = self.federation_rows
        value = rows.get(("task", id_)) or rows.get(("done", id_))
        assert isinstance(value, Task)
        return value

    def newest_run(self, id_: str) -> Run:
        """The newest run of a task that has one."""
        run = self.task(id_).run
        assert run is not None, "the task was never assigned"
        return run

    def wait_of(self, id_: str) -> Wait | None:
        """Why a live task waits, as reads would tell it."""
        core = self.federation.core
        assert isinstance(core, FederationCore)
        return wait_of(core, self.task(id_), self.now)

    def records(self, kind: str) -> list[dict[str, object]]:
        """Pending usage of one kind, as the region committed it."""
        bodies = [v for (k, _), v in self.region_rows.items() if k == "pending"]
        parsed = [json.loads(body) for body in bodies if isinstance(body, bytes)]
        return [body for body in parsed if body["kind"] == kind]

    def where(self, task: str) -> list[str]:
        """The nodes on which a task has a live process."""
        return [node.id for node in self.nodes.values() if task in node.runs]
