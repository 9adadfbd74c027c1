"""The region's decisions: one core for its pool, its queue and its runs.

`handle` is the only mutator. The parts each know one side: `upward` and `assignments` the
federation, `downward` the nodes, `scheduling` the queue. They meet in `change`, which makes a run's
transition and its pending usage durable in one commit and keeps every index true.
"""

from collections.abc import Iterable, Sequence

from intertie.drive.drive import Loaded
from intertie.drive.effects import Erase, Record, Reserve, Tick, Write
from intertie.metering import records
from intertie.metering.records import Body
from intertie.model.lending import Lending, Quantity, Reclaim
from intertie.ports import Now
from regional.domain.assignments import Assignments
from regional.domain.events import (
    Assigned,
    AssignRefused,
    FederationDown,
    FederationSaid,
    FederationUp,
    NodeDown,
    NodeSaid,
    NodeUp,
    Order,
    PolicyHeard,
    RenewalSent,
    UsagePending,
)
from regional.domain.lending.lender import LENDING, POOL, RECLAIM, Lender
from regional.domain.nodes.downward import Downward
from regional.domain.nodes.fencing import UNFENCED, Fencing
from regional.domain.nodes.pool import Held, Node
from regional.domain.nodes.removal import REMOVED, Removal, Removed
from regional.domain.operator import Operator
from regional.domain.residence import POLICY, KnownPolicy, Residence
from regional.domain.runs.ends import Ends
from regional.domain.runs.progress import Progress
from regional.domain.runs.run import RegionRun
from regional.domain.scheduling import Scheduling
from regional.domain.settings import Site, Timing
from regional.domain.upward import Upward

SHARD = 0
"""The shard of the pool in the region's store."""
RUN, DONE, PENDING = "run", "done", "pending"
"""Kinds of rows: runs that matter, runs that are closed, usage that waits for the sequencer."""
REQUESTS = "request"
"""The space of request_ids."""
LISTED = "runs"
"""The scope of all runs: an operator lists them over projects, in the order of `RegionRun.ord`."""
MS = 1_000_000


class RegionCore:
    """See the module's text."""

    def __init__(self, loaded: Iterable[Loaded], now: Now, *, site: Site, timing: Timing) -> None:
        self.site = site
        self.timing = timing
        self.now = now
        self.started_ns = now.boot_ns
        self.started_ms = now.utc_ms
        self.runs: dict[str, RegionRun] = {}
        self.by_task: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.held: dict[str, Held] = {}
        self.running = 0
        self._out: list[object] = []
        self._pending = 0
        self.scheduling = Scheduling(self)
        self.upward = Upward(self)
        self.assignments = Assignments(self)
        self.downward = Downward(self)
        self.ends = Ends(self)
        self.progress = Progress(self)
        self.fencing = Fencing(self)
        self.removal = Removal(self)
        self.lender = Lender(self)
        self.residence = Residence(self)
        self.operator = Operator(self)
        for row in loaded:
            if row.kind == UNFENCED:
                assert isinstance(row.value, RegionRun), "a row of a placement holds its run"
                self.fencing.load(row.value)
            if row.kind == REMOVED:
                assert isinstance(row.value, Removed), "of a node that was declared dead"
                self.removal.load(row.value)
            if row.kind in (LENDING, RECLAIM, POOL):
                assert isinstance(row.value, Lending | Reclaim | Quantity), "of what is lent"
                self.lender.load(row.value)
            if row.kind == POLICY:
                assert isinstance(row.value, KnownPolicy), "the row of the policy"
                self.residence.load(row.value)
            if row.kind == RUN:
                assert isinstance(row.value, RegionRun), "a row of a run holds one"
                assert row.key == row.value.key, "a row has the key of its run"
                self._index(row.value)
        self.downward.watch_silence_from_start()

    @property
    def deadline(self) -> int | None:
        """The next instant at which a Tick has something to do, as boot_ns."""
        dues = (self.upward.deadline, self.downward.deadline, self.lender.deadline)
        return min((due for due in dues if due is not None), default=None)

    def handle(self, event: object, now: Now) -> Sequence[object]:
        """Apply one event; see `regional.domain.events`."""
        self.now, self._out, self._pending = now, [], 0
        match event:
            case NodeSaid():
                self.downward.heard(event)
            case Assigned():
                self.assignments.assigned(event)
            case FederationSaid():
                self.upward.heard(event)
            case AssignRefused():
                self.assignments.refused(event)
            case RenewalSent() | FederationUp() | FederationDown():
                self.upward.link_event(event)
            case PolicyHeard():
                self.residence.heard(event)
            case NodeUp() | NodeDown():
                self.downward.link_event(event)
            case _ if isinstance(event, Order):
                self.operator.ordered(event)
            case Tick():
                self.upward.tick()
                self.downward.tick()
                self.lender.tick()
            case _:
                raise AssertionError(f"unknown event {event!r}")
        self.scheduling.place()
        if self._pending:
            self.emit(UsagePending(count=self._pending))
        return self._out

    def emit(self, effect: object) -> None:
        """Add an effect to those of the present event."""
        self._out.append(effect)

    # --- state -----------------------------------------------------------------------------------

    def change(
        self, before: RegionRun | None, after: RegionRun, bodies: Sequence[Body] = ()
    ) -> None:
        """Make a run's transition durable, with its pending usage, in one commit."""
        if before is not None:
            assert before.key == after.key, "a run keeps its task and epoch"
            assert before.token <= after.token, "tokens grow (I4)"
            assert before.revision < after.revision, "each change is a new revision"
            present = self.runs.get(before.key)
            assert present is before or present == before, "a change of an outdated state"
        if before is not None and before.node and before.node != after.node:
            self._release(before)
        if not after.is_live and after.node:
            self._release(after)
        self._index(after)
        self.emit(Write(SHARD, RUN, after.key, after, LISTED, after.ord))
        if before is None or before.state is not after.state:
            fact = {"task": after.task, "token": str(after.token), "state": after.state.value}
            self.emit(Record(SHARD, after.key, after.project, fact))
        for body in bodies:
            self.pend(body)

    def pend(self, body: Body) -> None:
        """Add pending usage."""
        rid = body["rid"]
        assert body["region"] == self.site.region, "a region meters itself only"
        self.emit(Write(SHARD, PENDING, rid, records.pending_bytes(body)))
        self._pending += 1

    def close(self, run: RegionRun) -> None:
        """Forget an ended run that nobody must hear of any longer; its row is kept as done."""
        assert not run.is_live, "close of a live run"
        assert self.runs.get(run.key) == run, "close of what is not kept"
        del self.runs[run.key]
        if self.by_task.get(run.task) == run.key:
            del self.by_task[run.task]
        self.emit(Erase(SHARD, RUN, run.key))
        self.rewrite(run)

    def rewrite(self, run: RegionRun) -> None:
        """Keep the row of a closed run."""
        assert run.key not in self.runs, "a run that is kept is changed"
        self.emit(Write(SHARD, DONE, run.key, run, LISTED, run.ord))

    def run_of(self, task: str) -> RegionRun | None:
        """The newest run of a task here."""
        key = self.by_task.get(task)
        return self.runs.get(key) if key is not None else None

    def node_of(self, id_: str) -> Node | None:
        """A node, if it has attached in this life of the region."""
        return self.nodes.get(id_)

    def _index(self, run: RegionRun) -> None:
        self.runs[run.key] = run
        newest = self.by_task.get(run.task)
        if newest is None or self.runs[newest].token.epoch <= run.token.epoch:
            self.by_task[run.task] = run.key
        if run.node and run.is_live:
            held = self.held_by(run.node)
            self.running += run.key not in held.runs
            held.put(run)
        self.scheduling.index(run)

    def held_by(self, node: str) -> Held:
        """What holds a node, whether it has attached or not.

        What ended before this life of the region is not loaded: it was metered until then.
        """
        return self.held.setdefault(node, Held(metered_until_ms=self.started_ms))

    def _release(self, run: RegionRun) -> None:
        held = self.held_by(run.node)
        self.running -= run.key in held.runs
        held.drop(run.key)
        assert self.running >= 0, "more runs ended than were placed"
        self.lender.left()
        self.scheduling.freed()

    def reserve(self, request_id: str, digest: str, result: str) -> None:
        """Remember what a request made, in the commit of its effect."""
        self.emit(Reserve(SHARD, REQUESTS, request_id, digest, result))
