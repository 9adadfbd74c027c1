"""A run as its region keeps it, and how it moves: pure functions from a run to the changed run.

One row per run, guest or native. A placement is one try of the run on one node; its token is the
run's with a sub-epoch that grows by one each time, so that a node that was given up cannot act any
longer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from intertie.metering.intervals import split_run_time
from intertie.model.names import order_of_id
from intertie.model.pool import Shape
from intertie.model.spec import Priority, TaskSpec
from intertie.model.states import FailureClass, OnDisconnect, Outcome, RunState, check_run
from intertie.model.task import CheckpointRef, StoredFile
from intertie.model.token import Token
from intertie.values import changed, quick


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOrder:
    """Why a run is being stopped, and what its end will count as.

    `notice_ms`: how long it has to save its work; -1 = as long as the region gives by itself.
    """

    outcome: Outcome
    reason: str
    cause: str
    notice_ms: int = -1


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRun:
    """Instants in UTC ms (0 = not yet), durations in ms by the boot clock of the node.

    `life` is the boot and the life of the node's keeper under which it was placed: under another
    one no process of the placement can live. `placed_ms` of run time belong to the present
    placement and count from its start; `done_ms` to earlier placements. `kept_ms` is how far into
    the present placement the last committed checkpoint reaches. `billed` counts each billable meter
    over all placements: it never passes `caps`, what the grant allows. `metered_until_ms` is where
    the last metered interval ended, of the run or of what was on its node before: the next one
    begins no earlier, whatever the clock of its node.
    `usage_lost`: of an earlier placement not all usage has come. `unkillable`: its node has said
    that it could not kill the present placement in time.
    """

    task: str
    project: str
    token: Token
    native: bool
    spec: TaskSpec
    shape: Shape
    variant: int = -1
    index: int = 0
    principal: str = ""
    payer: str = ""
    grant_sha256: str = ""
    caps: Mapping[str, int] = field(default_factory=dict)
    billed: Mapping[str, int] = field(default_factory=dict)
    shard: int = 0
    shard_epoch: int = 0
    request_id: str = ""
    state: RunState = RunState.QUEUED
    outcome: Outcome | None = None
    node: str = ""
    life: str = ""
    devices: tuple[int, ...] = ()
    placements: int = 0
    local_retries: int = 0
    excluded: tuple[str, ...] = ()
    stop: StopOrder | None = None
    queued_ms: int = 0
    placement_ms: int = 0
    started_ms: int = 0
    first_started_ms: int = 0
    ended_ms: int = 0
    exit_code: int | None = None
    signal: int = 0
    failure_class: FailureClass | None = None
    cause: str = ""
    message: str = ""
    checkpoint: CheckpointRef | None = None
    resumed_step: int = 0
    placed_ms: int = 0
    done_ms: int = 0
    kept_ms: int = 0
    lost_ms: int = 0
    reclaimed_ms: int = 0
    intervals: int = 0
    metered_until_ms: int = 0
    usage_complete: bool = False
    usage_lost: bool = False
    outputs: tuple[StoredFile, ...] = ()
    logs: tuple[StoredFile, ...] = ()
    unkillable: bool = False
    revision: int = 0

    @property
    def placement(self) -> str:
        """Names the present placement."""
        return f"{self.task}@{self.token}"

    @property
    def key(self) -> str:
        """The row's key: one row per (task, epoch)."""
        return f"{self.task}@{self.token.epoch}"

    @property
    def ord(self) -> str:
        """What lists of runs go by: when the task was made, then which run of it."""
        epoch = self.token.epoch
        return f"{order_of_id(self.task.rpartition('/')[2])}.{epoch.generation:06d}-{epoch.n:06d}"

    @property
    def is_move(self) -> bool:
        """Whether the run stops itself when its lease is over."""
        return not self.native and self.spec.tolerance.on_disconnect is OnDisconnect.MOVE

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.state is not RunState.ENDED

    @property
    def has_begun(self) -> bool:
        """Whether its node has said anything that shows that the present placement ran."""
        return bool(self.started_ms or self.intervals)

    @property
    def rank(self) -> int:
        """Order in the queue: native, guaranteed, normal, opportunistic."""
        if self.native:
            return 0
        return 1 + list(Priority).index(self.spec.priority)

    @property
    def run_ms(self) -> int:
        """Run time over all placements."""
        return self.done_ms + self.placed_ms


def moved(run: RegionRun, state: RunState, **changes: object) -> RegionRun:
    """The run in another (or the same) state, with a new revision."""
    check_run(run.state, state)
    assert run.is_live, "an ended run never changes"
    assert (state is RunState.ENDED) == ("outcome" in changes), "an end, and only an end, has one"
    return changed(run, state=state, revision=run.revision + 1, **changes)


def placed(
    run: RegionRun,
    node: str,
    life: str,
    devices: tuple[int, ...],
    now_ms: int,
    *,
    metered_ms: int,
) -> RegionRun:
    """The run on a node, under the next token.

    `metered_ms` is until when the node has been metered for runs that have left it.
    """
    assert run.state is RunState.QUEUED, "only what waits is placed"
    assert node not in run.excluded, "an excluded node is never chosen again (I10)"
    assert len(devices) == run.shape.devices, "devices are given whole, all or none"
    assert run.stop is None, "what is being stopped is not placed"
    return moved(
        run,
        RunState.STAGING,
        token=run.token.next(),
        node=node,
        life=life,
        devices=devices,
        placements=run.placements + 1,
        placement_ms=now_ms,
        placed_ms=0,
        kept_ms=0,
        intervals=0,
        metered_until_ms=max(run.metered_until_ms, metered_ms),
        usage_complete=False,
        unkillable=False,
        cause="",
        message="",
    )


def requeued(run: RegionRun, message: str, *, cause: str, exclude: bool) -> RegionRun:
    """The run back in the queue after its node was lost or failed it; what it did since is lost."""
    assert run.node, "what waits already is not queued again"
    assert run.local_retries > 0, "the federation gave no further try"
    assert run.stop is None, "what is being stopped starts nowhere else"
    excluded = tuple(sorted({*run.excluded, run.node})) if exclude else run.excluded
    return moved(
        run,
        RunState.QUEUED,
        node="",
        life="",
        devices=(),
        excluded=excluded,
        local_retries=run.local_retries - 1,
        started_ms=0,
        first_started_ms=run.first_started_ms or run.started_ms,
        done_ms=run.run_ms,
        placed_ms=0,
        kept_ms=0,
        unkillable=False,
        usage_lost=run.usage_lost or (run.has_begun and not run.usage_complete),
        lost_ms=run.lost_ms + max(0, run.placed_ms - run.kept_ms),
        exit_code=None,
        signal=0,
        cause=cause,
        message=message,
    )


def ended(
    run: RegionRun,
    outcome: Outcome,
    now_ms: int,
    *,
    cause: str,
    message: str = "",
    failure_class: FailureClass | None = None,
    exclude: bool = False,
) -> RegionRun:
    """The run at its end, with its time told apart by the rule of metering.md.

    `exclude`: the node failed it and is not to be tried again, by whoever tries the task again.
    """
    after_checkpoint_ms = max(0, run.placed_ms - run.kept_ms)
    time = split_run_time(run.placed_ms, after_checkpoint_ms, outcome, cause)
    lost_ms = run.lost_ms + time.lost_ms
    reclaimed_ms = run.reclaimed_ms + time.reclaimed_ms
    assert reclaimed_ms <= lost_ms <= run.run_ms, "lost is a part of run time, reclaimed of lost"
    return moved(
        run,
        RunState.ENDED,
        outcome=outcome,
        ended_ms=now_ms,
        cause=cause,
        message=message,
        failure_class=failure_class,
        excluded=tuple(sorted({*run.excluded, run.node})) if exclude else run.excluded,
        lost_ms=lost_ms,
        reclaimed_ms=reclaimed_ms,
        stop=None,
    )
