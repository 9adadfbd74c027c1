"""The agent's core: the runs of one node, their samples, and the node's lease.

`handle(event, now)` is the only mutator; what it returns is made durable before anything leaves
(`intertie.drive`). A fresh core knows the rows and nothing else: whoever makes it must tell it of
the keeper (`KeeperUp`) and of the region (`RegionUp`) afterwards.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from edge_agent.domain import usage
from edge_agent.domain.agenda import Agenda
from edge_agent.domain.events import (
    BeatSent,
    CheckpointLooked,
    Collected,
    Extend,
    HaltMissed,
    KeeperDown,
    KeeperUp,
    LaunchRefused,
    Measured,
    ProcessSeen,
    RegionDown,
    RegionSaid,
    RegionUp,
    RunKey,
    Staged,
    StagingFailed,
)
from edge_agent.domain.lease import Lease, Reserve
from edge_agent.domain.orders import Orders
from edge_agent.domain.processes import Processes
from edge_agent.domain.run import NodeRun, Phase
from edge_agent.domain.saving import Saving
from edge_agent.domain.slots import Slots
from edge_agent.domain.telling import Telling
from intertie.drive.drive import Loaded
from intertie.drive.effects import Erase, Tick, Write
from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentLease,
    CheckpointVerdict,
    StartRun,
    StopRun,
    UsageSample,
)
from intertie.ports import Now

SHARD = 0
RUN, ORDER, SAMPLE = "run", "order", "sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What the core must know of its node. `site` is a jurisdiction path; empty = the region's."""

    site: str
    slots: int
    reserve: Reserve
    resend_ms: int = 3_000
    retry_ms: int = 1_000


class AgentCore:
    """See the module's text."""

    def __init__(self, loaded: Iterable[Loaded], now: Now, *, node: Node) -> None:
        self.node = node
        self.now = now
        self.effects: list[object] = []
        self.runs: dict[RunKey, NodeRun] = {}
        self.orders: dict[RunKey, StartRun] = {}
        self.agenda = Agenda()
        self.lease = Lease(node.reserve)
        self.slots = Slots(node.slots)
        self.telling = Telling(self, resend_ms=node.resend_ms)
        self.saving = Saving(self)
        self.processes = Processes(self)
        self.order_book = Orders(self)
        self.jurisdiction = ""
        self._handlers: dict[type, Callable[[Any], None]] = {
            RegionUp: self._region_up,
            RegionDown: self._region_down,
            RegionSaid: self._region_said,
            BeatSent: lambda event: self.lease.sent(event.seq, event.sent_ns),
            KeeperUp: self.processes.keeper_up,
            KeeperDown: self.processes.keeper_down,
            ProcessSeen: lambda event: self.processes.seen(event.process),
            LaunchRefused: self.processes.launch_refused,
            HaltMissed: lambda event: self.processes.halt_missed(event.key),
            Measured: self.processes.measured,
            Staged: self.order_book.staged,
            StagingFailed: self.order_book.staging_failed,
            CheckpointLooked: self.saving.looked,
            Collected: self.processes.collected,
            Tick: self._tick,
        }
        self._load(loaded)

    def _load(self, loaded: Iterable[Loaded]) -> None:
        samples: list[UsageSample] = []
        for row in loaded:
            match row.value:
                case NodeRun() as run:
                    self.runs[run.key] = run
                    self.slots.take(run.slot)
                case StartRun() as order:
                    self.orders[RunKey(order.task, order.token)] = order
                case UsageSample() as sample:
                    samples.append(sample)
        assert self.runs.keys() == self.orders.keys(), "a run without its order, or the reverse"
        for sample in sorted(samples, key=lambda each: each.interval):
            self.telling.kept(sample, RunKey(sample.task, sample.token))

    @property
    def deadline(self) -> int | None:
        """When a Tick is due, as boot_ns."""
        dues = (self.agenda.next_ns, self.telling.next_ns)
        return min((due for due in dues if due is not None), default=None)

    def handle(self, event: object, now: Now) -> Sequence[object]:
        """Apply one event and say what follows."""
        assert not self.effects, "effects of an event before this one were left behind"
        self.now = now
        self._handlers[type(event)](event)
        effects, self.effects = self.effects, []
        return effects

    # --- the region ------------------------------------------------------------------------------

    def _region_up(self, event: RegionUp) -> None:
        self.jurisdiction = event.jurisdiction
        self.lease.agree(event.reserve)
        self.telling.attached(event.link)

    def _region_down(self, event: RegionDown) -> None:
        if event.link == self.telling.link:
            self.telling.detached()
            self.lease.link_broke()

    def _region_said(self, event: RegionSaid) -> None:
        if event.link != self.telling.link:
            return
        match event.message:
            case AgentLease(seq=seq, lease_ms=lease_ms):
                if self.lease.granted(seq, lease_ms):
                    self.lease_grew()
            case StartRun() as order:
                self.order_book.start(order)
            case StopRun() as order:
                self.order_book.stop_ordered(order)
            case AckRun(task=task, token=token):
                self.order_book.acknowledged(RunKey(task, token))
            case AckUsage() as ack:
                self._usage_acked(ack)
            case CheckpointVerdict() as verdict:
                self.saving.verdict(verdict)
            case _:
                raise AssertionError(f"a {type(event.message).__name__} is not for the core")

    def lease_grew(self) -> None:
        """Move the deadlines of live `move` runs, and start those that waited for a lease."""
        moving = [run for run in self.runs.values() if run.is_move and run.is_live]
        if moving:
            self.emit(Extend(self.lease.stop_at_ns))
        for run in moving:
            self.processes.launch(run)

    def _usage_acked(self, ack: AckUsage) -> None:
        run = self.runs.get(RunKey(ack.task, ack.token))
        if run is None:
            return
        for sample in self.telling.usage_acked(run, ack.interval):
            self.emit(Erase(SHARD, SAMPLE, sample_key(sample)))
        self.telling.flush(run)

    def _tick(self, _: Tick) -> None:
        for due, key in self.agenda.take(self.now.boot_ns):
            run = self.runs.get(key)
            if run is not None:
                self.processes.due(due, run)
        self.telling.tick()

    # --- what the parts share --------------------------------------------------------------------

    def emit(self, effect: object) -> None:
        """Add an effect of the present event."""
        self.effects.append(effect)

    def accept(self, order: StartRun, run: NodeRun) -> None:
        """A new run: its order is kept as long as the run is."""
        assert run.key not in self.runs, f"{run.key} is accepted twice"
        assert run.key == RunKey(order.task, order.token), f"{run.key} under another order"
        self.orders[run.key] = order
        self.emit(Write(SHARD, ORDER, str(run.key), order))
        self.put(run)

    def put(self, run: NodeRun) -> None:
        """The new state of a run."""
        assert run.key in self.orders, f"{run.key} has no order"
        assert (run.end is None) == run.is_live, f"{run.key} is {run.phase} with end {run.end}"
        assert run.phase is not Phase.STOPPING or run.stop is not None, f"{run.key} stops, why?"
        assert run.started_ns or not run.sampled_ms, f"{run.key} has samples and no start"
        self.runs[run.key] = run
        self.emit(Write(SHARD, RUN, str(run.key), run))

    def keep_samples(self, samples: Iterable[UsageSample], key: RunKey) -> None:
        """Samples are durable before they are sent, and until they are acknowledged."""
        for sample in samples:
            assert sample.token == key.token, f"{sample} is not of {key}"
            self.telling.kept(sample, key)
            self.emit(Write(SHARD, SAMPLE, sample_key(sample), sample))

    def erase(self, run: NodeRun) -> None:
        """Nothing of a run is needed any longer."""
        assert run.phase is Phase.ENDED, f"{run.key} is {run.phase}"
        del self.runs[run.key], self.orders[run.key]
        self.slots.give_back(run.slot)
        self.emit(Erase(SHARD, RUN, str(run.key)))
        self.emit(Erase(SHARD, ORDER, str(run.key)))
        for sample in self.telling.forgotten(run.key):
            self.emit(Erase(SHARD, SAMPLE, sample_key(sample)))

    def cut(
        self, run: NodeRun, run_ms: int, cpu_ms: int, memory_peak: int, *, final: bool
    ) -> NodeRun:
        """Cut samples and keep them; the caller puts the run."""
        after, samples = usage.cut(run, run_ms, cpu_ms, memory_peak, final=final)
        self.keep_samples(samples, run.key)
        return after


def sample_key(sample: UsageSample) -> str:
    """The row of a sample; rows of a run sort by interval."""
    return f"{sample.task}@{sample.token}/{sample.interval:08d}"
