"""The federation's decisions: one core over all shards that a replica owns.

`handle` is the only mutator. It keeps the live tasks in memory, moves them by `lifecycle`, finds
regions for those that wait (`routing`, `queue`, `offers`), and answers regions. Final tasks leave
the memory with the commit that ends them: a task that is not here is over or never was, and a
region that still speaks of it may close its run.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from federation.domain import forgetting, lifecycle
from federation.domain.blobs import Blobs
from federation.domain.events import (
    AdoptBlobs,
    AskPlan,
    CancelTask,
    CreateTask,
    ForgetBlob,
    GrantRead,
    Heard,
    KeepBlob,
    LinkDown,
    LinkUp,
    PolicyChanged,
    Send,
    SendAssignment,
)
from federation.domain.fleet import MS, Fleet, Timing
from federation.domain.forgetting import ForgetDecisions, ForgetTasks
from federation.domain.learning import Learning
from federation.domain.offers import Offers
from federation.domain.payers import ProjectRecord, project_refusal
from federation.domain.plans import Plans
from federation.domain.queue import Queue, SentBack
from federation.domain.region_record import RegionRecord, attached
from federation.domain.regions import Regions
from federation.domain.routing.demand import Demand
from federation.domain.routing.known.latency import UNMEASURED, Latencies
from federation.domain.routing.known.prices import Prices
from federation.domain.routing.router import Router
from federation.domain.states import States
from intertie.drive.drive import Loaded
from intertie.drive.effects import Erase, Fail, Record, Reply, Reserve, Tick, Write
from intertie.errors import IntertieError, Reason, error
from intertie.model.link import CancelRun, RegionHello
from intertie.model.names import order_of_id, shard_of_id
from intertie.model.spec import TaskSpec
from intertie.model.states import TaskState, WaitReason
from intertie.model.task import Task, TaskEvent, Wait
from intertie.ports import Now
from intertie.residency import NONE, Policy
from intertie.values import changed

LIVE, DONE, SPEC, GRANT, REGION = "task", "done", "spec", "grant", "region"
PROJECT = "project"
"""Kinds of rows: live tasks, final tasks, specs shared by an array, grants by their digest in the
shard of their task, regions in shard 0, projects in the shard of their first task.
"""
REQUESTS = "request"
"""The space of request_ids; a name in it is `project/request_id`."""

_BACK_MS, _BACK_MOST_MS, _BACK_DOUBLINGS = 100, 60_000, 10

_HOLDS_RUN = frozenset(
    {TaskState.ASSIGNED, TaskState.RUNNING, TaskState.UNKNOWN, TaskState.CANCELLING}
)


class FederationCore:
    """See the module's text.

    Args:
        loaded: the live tasks and shared specs of the owned shards.
        rng: for draws and jitter.
        timing: intervals.
        price_version: the price list that new grants cite where a region has none of its own.
        spec_digest: SHA-256 of the bytes that a spec travels as, in hex; grants cite it.
        max_open: most live tasks of one project.
        replica: who acts, in events.
        shard_epochs: the epoch under which each shard is owned, sent with assignments.
        prices: what tasks cost by region; without them nothing is quoted.
        latencies: measured round trips and bandwidths.
        policy: the residency policy that holds.
    """

    def __init__(
        self,
        loaded: Iterable[Loaded],
        now: Now,
        *,
        rng: random.Random,
        timing: Timing,
        price_version: str,
        spec_digest: Callable[[TaskSpec], str],
        max_open: int,
        replica: str,
        shard_epochs: Mapping[int, int],
        prices: Prices | None = None,
        latencies: Latencies = UNMEASURED,
        policy: Policy = NONE,
    ) -> None:
        self.replica = replica
        self.timing = timing
        self.price_version = price_version
        self.spec_digest = spec_digest
        self.max_open = max_open
        self.rng = rng
        self.shard_epochs = shard_epochs
        self.now = now
        self.tasks: dict[str, Task] = {}
        self.at_region: dict[str, set[str]] = {}
        self.open: dict[str, int] = {}
        self.records: dict[str, RegionRecord] = {}
        self.projects: set[str] = set()
        self.fleet = Fleet(now, timing)
        self.router = Router(self.fleet, timing, rng)
        self.router.prices = prices or Prices()
        self.router.latencies = latencies
        self.router.policy = policy
        self.queue = Queue()
        self.offers = Offers(self)
        self.plans = Plans(self)
        self.regions = Regions(self)
        self.states = States(self)
        self.learning = Learning(self)
        self.blobs = Blobs(self)
        self._out: list[object] = []
        self._load(list(loaded))
        self.regions.watch_silence_from_start()

    def _load(self, loaded: Sequence[Loaded]) -> None:
        specs = {row.key: row.value for row in loaded if row.kind == SPEC}
        for row in loaded:
            if isinstance(row.value, RegionRecord):
                self.records[row.key] = row.value
                self.fleet.granted_before(row.key, row.value.lease_ms)
            self.states.load(row.value)
            self.learning.load(row.value)
            if row.kind == PROJECT:
                self.projects.add(row.key)
            if row.kind != LIVE:
                continue
            task = row.value
            assert isinstance(task, Task), f"a {type(task).__name__} among the tasks"
            self.open[task.project] = self.open.get(task.project, 0) + 1
            if task.spec is None:
                spec = specs[task.spec_ref]
                assert isinstance(spec, TaskSpec)
                task = with_spec(task, spec)
            self._index(task)
            self.blobs.needs.change(None, task)

    # --- the only mutator ------------------------------------------------------------------------

    @property
    def deadline(self) -> int | None:
        """The next instant at which a Tick has something to do, as boot_ns."""
        parts = (self.queue, self.plans, self.regions, self.states, self.learning)
        dues = (part.deadline for part in parts)
        return min((due for due in dues if due is not None), default=None)

    def handle(self, event: object, now: Now) -> Sequence[object]:
        """Apply one event; see `federation.domain.events`."""
        self.now, self._out = now, []
        match event:
            case CreateTask():
                self._create(event)
            case CancelTask():
                self._cancel(event)
            case Heard():
                self.regions.heard(event)
            case KeepBlob() | ForgetBlob() | AdoptBlobs():
                self.blobs.handle(event)
            case PolicyChanged(policy=policy):
                self.router.policy = policy
                self.queue.hurry(now.boot_ns)
            case AskPlan():
                self.plans.ask(event)
            case ForgetTasks() | ForgetDecisions():
                forgetting.forget(self, event, DONE, SPEC)
            case GrantRead():
                self.offers.grant_read(event)
            case LinkUp():
                self.regions.up(event)
            case LinkDown():
                self.regions.down(event)
            case Tick():
                self.queue.join_due(now.boot_ns)
                self.regions.tick()
                self.states.tick()
                self.plans.tick()
                self.offers.tick()
                self.learning.tick()
            case _:
                assert self.states.handle(event), f"unknown event {event!r}"
        return self._out

    def emit(self, effect: object) -> None:
        """Add an effect to those of the present event; messages go by the link that stands now."""
        match effect:
            case Send(link=0):
                effect = changed(effect, link=self.fleet.link_of(effect.region))
            case SendAssignment(link=0):
                effect = changed(effect, link=self.fleet.link_of(effect.task.region))
        self._out.append(effect)

    # --- clients ---------------------------------------------------------------------------------

    def _create(self, event: CreateTask) -> None:
        refusal = self.refusal(event.project, event.spec, len(event.ids), event.fail_if_unmatched)
        if refusal is not None:
            self.emit(Fail(event.ticket, refusal))
            return
        assert len(event.ids) == max(1, event.spec.array), "an id for each task of an array"
        made = [self._new(event, index, id_) for index, id_ in enumerate(event.ids)]
        shard = shard_of_id(event.ids[0])
        is_array = event.spec.array > 0
        if is_array:
            self.emit(Write(shard, SPEC, made[0].spec_ref, event.spec, event.project))
        if event.project not in self.projects:
            self.projects.add(event.project)
            record = ProjectRecord(id=event.project, since_ms=self.now.utc_ms)
            self.emit(Write(shard, PROJECT, event.project, record))
        self.open[event.project] = self.open.get(event.project, 0) + len(made)
        for task in made:
            self._index(task)
            self.blobs.needs.change(None, task)
            self._write(task)
            self._record(None, task, "SUBMITTED", event.actor)
        self._reserve(event, made[0])
        self.emit(Reply(event.ticket, made[0]))

    def refusal(
        self, project: str, spec: TaskSpec, count: int, must_match: bool
    ) -> IntertieError | None:
        """Why a valid spec is not taken now; reads ask this for `validate_only`."""
        confused = project_refusal(project, self.records)
        if confused is not None:
            return confused
        open_now = self.open.get(project, 0)
        if open_now + count > self.max_open:
            return error(
                Reason.QUOTA_EXCEEDED,
                f"projects/{project} has {open_now} open tasks; {self.max_open} are allowed.",
                remedy="Wait until some have ended, or ask for a higher limit.",
                metadata={"resource": f"projects/{project}"},
            )
        if not must_match:
            return None
        demand = self.router.classes.of(spec, (), project)
        return None if self.offers.has_match(demand) else self.offers.unmatched(demand)

    def _reserve(self, event: CreateTask | CancelTask, task: Task) -> None:
        name = f"{event.project}/{event.request_id}"
        shard = shard_of_id(task.id)
        self.emit(Reserve(shard, REQUESTS, name, event.request_digest, str(task.name)))

    def _new(self, event: CreateTask, index: int, id_: str) -> Task:
        is_array = event.spec.array > 0
        return Task(
            project=event.project,
            id=id_,
            spec=event.spec,
            spec_ref=f"{event.ids[0]}/{event.spec_sha256}" if is_array else "",
            group=event.ids[0] if is_array else "",
            index=index,
            principal=event.principal,
            request_id=event.request_id,
            created_ms=self.now.utc_ms,
            updated_ms=self.now.utc_ms,
        )

    def _cancel(self, event: CancelTask) -> None:
        task = self.tasks.get(event.id)
        if task is None or task.project != event.project:
            self.emit(Fail(event.ticket, not_live(event.project, event.id)))
            return
        if event.etag and event.etag != str(task.version):
            self.emit(Fail(event.ticket, changed_meanwhile(task)))
            return
        self._reserve(event, task)
        if task.state is TaskState.CANCELLING:
            self.emit(Reply(event.ticket, task))
            return
        to = TaskState.CANCELLING if task.state in _HOLDS_RUN else TaskState.CANCELLED
        after = lifecycle.moved(task, to, self.now.utc_ms, cancel_reason=event.reason)
        self.change(task, after, "CANCEL", event.actor, event.reason)
        if to is TaskState.CANCELLING:
            stop = CancelRun(task=str(task.name), epoch=task.epoch, reason=event.reason)
            self.emit(Send(region=task.region, message=stop))
        self.emit(Reply(event.ticket, after))

    # --- regions ---------------------------------------------------------------------------------

    def price_version_of(self, region: str) -> str:
        """The price list that a grant for a region cites: the one that was quoted."""
        own = self.router.prices.by_region.get(region)
        return own.version if own is not None else self.price_version

    def remember(self, hello: RegionHello) -> None:
        """Make durable what a region's hello says of it."""
        self.write_region(attached(self.records.get(hello.region), hello, self.now.utc_ms))

    def write_region(self, record: RegionRecord) -> None:
        """Make a region's record durable."""
        self.records[record.id] = record
        self.emit(Write(0, REGION, record.id, record))

    # --- state -----------------------------------------------------------------------------------

    def change(self, before: Task, after: Task, reason: str, actor: str, message: str = "") -> None:
        """Make a task's change durable and keep every index true."""
        assert self.tasks.get(before.id) is before, "a change of an outdated state"
        assert before.id == after.id, "a change from one task to another"
        assert after.version > before.version, "an etag that does not change"
        assert after.epoch >= before.epoch, "epochs grow (I5)"
        if (before.region and before.region != after.region) or after.is_final:
            self.at_region.get(before.region, set()).discard(after.id)
        self.blobs.needs.change(before, None if after.is_final else after)
        self.learning.changed(before, after)
        if after.is_final:
            del self.tasks[after.id]
            self.open[after.project] -= 1
            assert self.open[after.project] >= 0, "more ends than submissions"
            self.queue.remove(after.id)
        else:
            if before.state is TaskState.PENDING and after.state is not TaskState.PENDING:
                self.queue.remove(after.id)
            self._index(after, waits=before.state is not TaskState.PENDING)
        self._write(after)
        if before.state is not after.state or _stage(before) != _stage(after):
            self._record(before, after, reason, actor, message)

    def _index(self, task: Task, *, waits: bool = True) -> None:
        assert not task.is_final, "a final task in memory"
        self.tasks[task.id] = task
        if task.region:
            self.at_region.setdefault(task.region, set()).add(task.id)
        if task.state is TaskState.PENDING and waits:
            assert task.spec is not None, "a live task holds its spec"
            demand = self.router.classes.of(task.spec, task.excluded, task.project)
            if task.backoff:
                self.queue.add_later(task.id, self._sent_back(task, demand))
            else:
                self.queue.add(task.id, demand, self.now.boot_ns)

    def _sent_back(self, task: Task, demand: Demand) -> SentBack:
        """How long a task waits that was sent back: longer each time in a row."""
        delay_ms = min(_BACK_MS << min(task.backoff, _BACK_DOUBLINGS), _BACK_MOST_MS)
        delay_ms = int(delay_ms * (0.5 + self.rng.random()))
        run = task.run
        wait = Wait(
            reason=WaitReason.BACKOFF,
            detail=f"run {run.n} at {run.region}: {run.message or run.outcome}" if run else "",
            since_ms=task.updated_ms,
            next="looks for a region again",
            next_ms=self.now.utc_ms + delay_ms,
        )
        return SentBack(demand, self.now.boot_ns + delay_ms * MS, wait)

    def _write(self, task: Task) -> None:
        shard, ord_ = shard_of_id(task.id), order_of_id(task.id)
        stored = with_spec(task, None) if task.spec_ref else task
        if task.is_final:
            self.emit(Erase(shard, LIVE, task.id))
            self.emit(Write(shard, DONE, task.id, stored, task.project, ord_))
        else:
            self.emit(Write(shard, LIVE, task.id, stored, task.project, ord_))

    def _record(
        self, before: Task | None, after: Task, reason: str, actor: str, message: str = ""
    ) -> None:
        run = after.run
        event = TaskEvent(
            task=str(after.name),
            at_ms=self.now.utc_ms,
            before=before.state if before is not None else None,
            after=after.state,
            reason=reason,
            actor=actor,
            run=run.n if run is not None else 0,
            run_state=run.state if run is not None else None,
            message=message,
        )
        self.emit(Record(shard_of_id(after.id), after.id, after.project, event))


def with_spec(task: Task, spec: TaskSpec | None) -> Task:
    """The same task with its spec put in or left out (arrays share one stored spec)."""
    return changed(task, spec=spec)


def not_live(project: str, id_: str) -> IntertieError:
    """The error for a task that is over or does not exist; the server tells the two apart."""
    return error(Reason.NOT_FOUND, f"projects/{project}/tasks/{id_} is not live.")


def changed_meanwhile(task: Task) -> IntertieError:
    """The error for an etag that is not the present one."""
    return error(
        Reason.ETAG_MISMATCH,
        f"{task.name} changed meanwhile.",
        remedy="Read it again and decide anew.",
        metadata={"etag": str(task.version)},
    )


def _stage(task: Task) -> tuple[object, ...]:
    """What of a run is worth an event: where and how far it is, not each checkpoint of it."""
    run = task.run
    return () if run is None else (run.token, run.state, run.node)
