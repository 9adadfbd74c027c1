"""A run as its node keeps it, and how it moves: pure functions from a run to the changed run.

**Phases.** STAGING: accepted, files and checkpoint are on their way. STARTING: handed to the
keeper, or (`move`) waiting for a lease to start under. RUNNING: the keeper has seen the program
run. STOPPING: a stop was ordered. COLLECTING: every process is dead, that is verified; outputs and
logs go to the region's blob root. ENDED: the region is told until it acknowledges; then the row is
erased.

What is persisted is what the keeper cannot tell again: the order, the stop, the samples, the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from edge_agent.domain.events import RunKey
from intertie.model.agentlink import AgentRunUpdate, CheckpointOffer, StartRun
from intertie.model.states import Outcome, RunState
from intertie.model.task import StoredFile
from intertie.model.token import Token

MS = 1_000_000

_HARMLESS = frozenset({"leftovers"})
"""Evidence that is no cause of a failure: processes that outlived the first one were killed."""


class Phase(StrEnum):
    """See the module's text."""

    STAGING = "STAGING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    COLLECTING = "COLLECTING"
    ENDED = "ENDED"


NEXT: Mapping[Phase, frozenset[Phase]] = {
    Phase.STAGING: frozenset({Phase.STARTING, Phase.ENDED}),
    Phase.STARTING: frozenset({Phase.RUNNING, Phase.STOPPING, Phase.COLLECTING, Phase.ENDED}),
    Phase.RUNNING: frozenset({Phase.STOPPING, Phase.COLLECTING, Phase.ENDED}),
    Phase.STOPPING: frozenset({Phase.COLLECTING, Phase.ENDED}),
    Phase.COLLECTING: frozenset({Phase.ENDED}),
    Phase.ENDED: frozenset(),
}

PUBLIC: Mapping[Phase, RunState] = {
    Phase.STAGING: RunState.STAGING,
    Phase.STARTING: RunState.STARTING,
    Phase.RUNNING: RunState.RUNNING,
    Phase.STOPPING: RunState.STOPPING,
    Phase.COLLECTING: RunState.STOPPING,
    Phase.ENDED: RunState.ENDED,
}
"""What the region is told; only an end that has been collected is an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why a run is being stopped."""

    outcome: Outcome
    reason: str
    notice_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a run ended; `run_ms` by the boot clock, `at_ms` UTC."""

    at_ms: int
    run_ms: int
    exit_code: int | None = None
    signal: int = 0
    evidence: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    outputs: tuple[StoredFile, ...] = ()
    logs: tuple[StoredFile, ...] = ()

    @property
    def by_itself(self) -> bool:
        """Whether it did its work: exit code 0, and nothing seen that says otherwise."""
        return self.exit_code == 0 and self.evidence.keys() <= _HARMLESS


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRun:
    """One run. `slot` names its user and ports on this node.

    Time runs on a line of its own: UTC at the start plus the boot clock since, so that no step of
    the wall clock makes an interval longer, shorter or twice. `sampled_ms` and `sampled_cpu_ms` are
    what samples up to `intervals` have told.
    """

    key: RunKey
    n: int
    slot: int
    is_move: bool
    checkpoint_interval_ms: int
    phase: Phase
    pid: int = 0
    boot_id: str = ""
    started_ns: int = 0
    started_ms: int = 0
    resumed_step: int = 0
    stop: Stop | None = None
    end: End | None = None
    intervals: int = 0
    sampled_ms: int = 0
    sampled_cpu_ms: int = 0
    offer: CheckpointOffer | None = None
    """The newest checkpoint that was offered."""

    @property
    def is_live(self) -> bool:
        """Whether it may have a process, now or later."""
        return self.phase not in (Phase.COLLECTING, Phase.ENDED)

    @property
    def saved_step(self) -> int:
        """The step above which a checkpoint is news."""
        return max(self.resumed_step, self.offer.step if self.offer is not None else 0)

    def ran_ms(self, at_ns: int) -> int:
        """Run time up to an instant of the boot that it runs in."""
        return max(0, at_ns - self.started_ns) // MS if self.started_ns else 0

    def with_end(self, end: End, *, started_ms: int) -> "NodeRun":
        """An ended run that never started: with its end, and the start that it is told to have."""
        assert self.phase is Phase.ENDED, f"{self.key} is {self.phase}"
        return replace(self, end=end, started_ms=started_ms)


def accepted(order: StartRun, slot: int) -> NodeRun:
    """A run as it begins here. Without files and checkpoint there is nothing to stage."""
    bare = not order.files and order.checkpoint is None
    return NodeRun(
        key=RunKey(order.task, order.token),
        n=order.run,
        slot=slot,
        is_move=order.is_move,
        checkpoint_interval_ms=order.checkpoint_interval_ms,
        phase=Phase.STARTING if bare else Phase.STAGING,
    )


def moved(run: NodeRun, phase: Phase, **changes: object) -> NodeRun:
    """The run in another phase; a move that the table lacks is our own bug."""
    assert phase in NEXT[run.phase], f"{run.key}: {run.phase} -> {phase}"
    assert run.end is None or phase is Phase.ENDED, f"{run.key}: moved on after its end"
    return replace(run, phase=phase, **changes)  # type: ignore[arg-type] # replace checks them


def update_of(run: NodeRun) -> AgentRunUpdate:
    """What the region is told of a run."""
    end = run.end if run.phase is Phase.ENDED else None
    if end is None:
        return AgentRunUpdate(
            task=run.key.task,
            token=run.key.token,
            state=PUBLIC[run.phase],
            pid=run.pid,
            started_ms=run.started_ms,
            resumed_step=run.resumed_step,
        )
    rejected = Outcome.REJECTED if "residency" in end.evidence else None
    return AgentRunUpdate(
        task=run.key.task,
        token=run.key.token,
        state=RunState.ENDED,
        pid=run.pid,
        started_ms=run.started_ms,
        ended_ms=end.at_ms,
        boot_ms=end.run_ms,
        exit_code=end.exit_code,
        signal=end.signal,
        outcome=rejected,
        evidence=end.evidence,
        message=end.message,
        resumed_step=run.resumed_step,
        outputs=end.outputs,
        logs=end.logs,
    )


def refused_update(
    task: str, token: Token, at_ms: int, evidence: Mapping[str, str]
) -> AgentRunUpdate:
    """The end of a run that never was one here."""
    return AgentRunUpdate(
        task=task, token=token, state=RunState.ENDED, ended_ms=at_ms, evidence=evidence
    )
