"""Tasks, runs and their events as the federation keeps and shows them."""

from dataclasses import dataclass

from intertie.model.decision import Decision
from intertie.model.money import Money
from intertie.model.names import TaskName
from intertie.model.spec import TaskSpec
from intertie.model.states import (
    TASK_FINAL,
    FailureClass,
    Outcome,
    RunState,
    TaskState,
    WaitReason,
)
from intertie.model.token import Epoch, Token
from intertie.values import quick

FIRST_EPOCH = Epoch(1, 0)
"""The epoch of a task that was never assigned, in the first generation of a store."""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Why a task waits, since when, and what happens next.

    `next_ms` is the UTC instant in milliseconds of what `next` says, 0 if nothing is scheduled.
    """

    reason: WaitReason
    detail: str = ""
    since_ms: int = 0
    next: str = ""
    next_ms: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRef:
    """A committed training checkpoint: a row that only a newer token or step replaces.

    `manifest` is the digest of the blob that lists the files (`intertie.model.manifest`).
    """

    step: int
    manifest: str
    size: int
    token: Token
    committed_ms: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file in a blob root: an output (by its path) or a log (by `stdout`, `stderr`).

    `start` is the absolute offset of the first byte kept: a bounded log loses its oldest bytes.
    """

    path: str
    sha256: str
    size: int
    start: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One attempt of a task at one region. Instants in UTC ms, 0 = not yet."""

    n: int
    token: Token
    region: str
    state: RunState = RunState.ASSIGNED
    outcome: Outcome | None = None
    node: str = ""
    jurisdiction: str = ""
    variant: int = -1
    placements: int = 0
    assigned_ms: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    exit_code: int | None = None
    signal: int = 0
    failure_class: FailureClass | None = None
    cause: str = ""
    message: str = ""
    useful_ms: int = 0
    lost_ms: int = 0
    reclaimed_ms: int = 0
    resumed_step: int = 0
    checkpoint: CheckpointRef | None = None
    outputs: tuple[StoredFile, ...] = ()
    logs: tuple[StoredFile, ...] = ()
    excluded: tuple[str, ...] = ()
    grant_sha256: str = ""
    decision: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task. `epoch` is that of the newest run; `group` and `index` belong to arrays.

    Either `spec` is set, or `spec_ref` names a spec row that the tasks of an array share.
    """

    project: str
    id: str
    spec: TaskSpec | None
    spec_ref: str = ""
    group: str = ""
    index: int = 0
    principal: str = ""
    request_id: str = ""
    state: TaskState = TaskState.PENDING
    wait: Wait | None = None
    region: str = ""
    epoch: Epoch = FIRST_EPOCH
    attempts: int = 0
    backoff: int = 0
    excluded: tuple[str, ...] = ()
    checkpoint: CheckpointRef | None = None
    runs: tuple[Run, ...] = ()
    created_ms: int = 0
    updated_ms: int = 0
    ended_ms: int = 0
    exit_code: int | None = None
    failure_class: FailureClass | None = None
    message: str = ""
    cancel_reason: str = ""
    version: int = 0

    @property
    def name(self) -> TaskName:
        """The full name."""
        return TaskName(self.project, self.id)

    @property
    def is_final(self) -> bool:
        """Whether the task will never change again."""
        return self.state in TASK_FINAL

    @property
    def run(self) -> Run | None:
        """The newest run."""
        return self.runs[-1] if self.runs else None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """One change of a task: what `task events` prints. `before` is None for the creation."""

    task: str
    at_ms: int
    before: TaskState | None
    after: TaskState
    reason: str
    actor: str
    run: int = 0
    message: str = ""
    run_state: RunState | None = None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a region answers to a task: every filter and every factor (plan, explain).

    `checks` are (name, have, need, holds); `weights` are (factor, value). `success_ms` is the
    expected time to success without the wait; `cost` is the quote for it.
    """

    region: str
    feasible: bool
    checks: tuple["Check", ...] = ()
    weights: tuple["Weight", ...] = ()
    expected_wait_ms: int | None = None
    rtt_p95_ms: float | None = None
    units_now: int = 0
    variant: int = -1
    reason: WaitReason | None = None
    assumed: tuple[str, ...] = ()
    per_hour: Money | None = None
    cost: Money | None = None
    success_ms: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Check:
    """One filter: what the task needs, what the region has, whether that is enough."""

    name: str
    need: str
    have: str
    holds: bool


@quick
@dataclass(frozen=True, slots=True)
class Weight:
    """One factor of a region's weight, and whether nothing but an assumption gives it."""

    name: str
    value: float
    assumed: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer of plan and explain: a verdict per region, the choice, what would change it.

    With a past `decision`: that one as it was kept, and in `differences` what is not the same when
    it is made again; empty = the same. `since_then` tells which inputs have changed.
    """

    verdicts: tuple[Verdict, ...]
    chosen: str = ""
    remedy: str = ""
    state: TaskState | None = None
    wait: Wait | None = None
    decision: Decision | None = None
    differences: tuple[str, ...] = ()
    since_then: tuple[str, ...] = ()
