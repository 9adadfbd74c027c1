"""Messages between an agent and its region (AgentLinkService.Attach). Durations in ms."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from intertie.model.pool import NodeCapability
from intertie.model.states import FailureClass, Outcome, RunState
from intertie.model.task import CheckpointRef, StoredFile
from intertie.model.token import Token
from intertie.values import quick

# --- agent -> region -----------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRun:
    """One run that the agent still has, live or ended and not yet acknowledged."""

    task: str
    token: Token
    state: RunState


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHello:
    """First message: which node, since when, what it has, which runs it holds."""

    node: str
    incarnation: str
    boot_id: str
    site: str
    software: str
    protocol_min: int
    protocol_max: int
    capability: NodeCapability
    runs: tuple[AgentRun, ...] = ()
    keeper_incarnation: str = ""
    features: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The node lives and asks for its lease; `seq` comes back in the AgentLease."""

    seq: int
    free_disk: int = 0
    pressure: float = 0.0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRunUpdate:
    """The state of a run on the node; sent again until AckRun (for ENDED) answers.

    `started_ms`/`ended_ms` are UTC; `boot_ms` is the run time by the boot clock. `evidence` holds
    what the keeper saw (oom, timeout, deadline, disk, stop reason, errno), for classification by
    the region.
    """

    task: str
    token: Token
    state: RunState
    pid: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    boot_ms: int = 0
    exit_code: int | None = None
    signal: int = 0
    outcome: Outcome | None = None
    failure_class: FailureClass | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    resumed_step: int = 0
    outputs: tuple[StoredFile, ...] = ()
    logs: tuple[StoredFile, ...] = ()
    staged_bytes: int = 0
    total_bytes: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSample:
    """What a run used in one interval. Numbered from 1 without gaps per (task, token).

    [start_ms, end_ms) is UTC, `boot_ms` the same duration by the boot clock. `final` = the run's
    last.
    """

    task: str
    token: Token
    interval: int
    start_ms: int
    end_ms: int
    boot_ms: int
    cpu_used_ms: int
    memory_peak: int
    final: bool = False


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOffer:
    """A complete checkpoint is in the region's blob root; commit it if the token still holds."""

    task: str
    token: Token
    step: int
    manifest: str
    size: int
    written_boot_ms: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBytes:
    """A chunk of a live log; see `intertie.model.link.Bytes`."""

    id: int
    data: bytes
    offset: int
    next_offset: int
    final: bool
    error: str = ""
    error_message: str = ""


# --- region -> agent -----------------------------------------------------------------------------


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWelcome:
    """Answer to AgentHello: the session, and the intervals to keep.

    `kill_ms` is within which the region counts on a kill being verified (0 = it does not say),
    `delta_ms` the margin of every lease.
    """

    region: str
    incarnation: str
    software: str
    protocol: int
    beat_ms: int
    jurisdiction: str
    features: tuple[str, ...] = ()
    kill_ms: int = 0
    delta_ms: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLease:
    """Answer to a Beat: from when beat `seq` was sent, `move` runs may go on for `lease_ms`.

    It is min(agent lease, what remains of the federation's), see safety.md; 0 = no lease now.
    """

    seq: int
    lease_ms: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    """Start a run. Everything that the agent needs; sizes in bytes, `cpu` in thousandths."""

    task: str
    run: int
    token: Token
    index: int
    rank: int
    nodes: int
    command: tuple[str, ...]
    shell: bool
    env: Mapping[str, str]
    files: tuple[StoredFile, ...]
    modes: tuple[int, ...]
    outputs: tuple[str, ...]
    cpu: int
    memory: int
    disk: int
    devices: tuple[int, ...]
    timeout_ms: int
    is_move: bool
    lease_ms: int
    checkpoint_interval_ms: int
    checkpoint: CheckpointRef | None
    within: tuple[str, ...] = ()
    not_within: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class StopRun:
    """Stop a run: notice, then kill. `outcome` is what the end will count as."""

    task: str
    token: Token
    outcome: Outcome
    reason: str
    notice_ms: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AckRun:
    """The end of a run and all of its samples are durable at the region: forget it."""

    task: str
    token: Token


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AckUsage:
    """Samples up to `interval` are durable as pending usage."""

    task: str
    token: Token
    interval: int


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointVerdict:
    """Whether a checkpoint was committed, or refused (an older token or step)."""

    task: str
    token: Token
    step: int
    committed: bool
    reason: str = ""


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRead:
    """Ask for a chunk of a live log. A negative offset counts from the end."""

    id: int
    task: str
    run: int
    stream: str
    offset: int
    limit: int
    wait_ms: int


FromAgent = AgentHello | Beat | AgentRunUpdate | UsageSample | CheckpointOffer | AgentBytes
FromRegionToAgent = (
    AgentWelcome
    | AgentLease
    | StartRun
    | StopRun
    | AckRun
    | AckUsage
    | CheckpointVerdict
    | AgentRead
)
