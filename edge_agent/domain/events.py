"""What happens to an agent: events in, outward effects out. Values only.

Instants end in `_ns` and count on the boot clock; `_ms` are durations, or UTC where it is said.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from edge_agent.domain.lease import Reserve
from intertie.model.agentlink import CheckpointOffer, FromAgent, FromRegionToAgent, StartRun
from intertie.model.task import StoredFile
from intertie.model.token import Token


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """One run under one token."""

    task: str
    token: Token

    def __hash__(self) -> int:
        return hash(self.task)  # kept by the text itself; tokens of one task are few

    def __str__(self) -> str:
        return f"{self.task}@{self.token}"


# --- the region ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUp:
    """The region said welcome on a link."""

    link: int
    jurisdiction: str
    reserve: Reserve


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionDown:
    """The link broke."""

    link: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionSaid:
    """A message by a link (welcomes and log reads are the shell's)."""

    link: int
    message: FromRegionToAgent


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatSent:
    """The shell sends beat `seq`; `sent_ns` was read before it left, so no lease counts longer."""

    seq: int
    sent_ns: int


# --- the keeper ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """How a run's processes ended: death is verified. `evidence` is for the region to classify.

    `lost` marks an end that nobody saw: the processes lived no longer than `at_ns`.
    """

    at_ns: int
    exit_code: int | None = None
    signal: int = 0
    evidence: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    cpu_ms: int = 0
    memory_peak: int = 0
    log_bytes: int = 0
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What the keeper says of a run. `started_ns` is None until there was a process."""

    key: RunKey
    n: int
    boot_id: str
    pid: int = 0
    started_ns: int | None = None
    running: bool = False
    unkillable: bool = False
    end: ProcessEnd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperUp:
    """A keeper answers; these are all runs that it knows."""

    incarnation: str
    processes: tuple[Process, ...]


@dataclass(frozen=True, slots=True)
class KeeperDown:
    """The keeper is gone or does not answer. Its tasks die with it."""


@dataclass(frozen=True, slots=True)
class ProcessSeen:
    """A reply or a notification of the keeper."""

    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRefused:
    """The keeper did not start a run. `retry` = it may later; else `evidence` says why never."""

    key: RunKey
    retry: bool
    evidence: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HaltMissed:
    """The keeper has no run to stop under this key."""

    key: RunKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a run has used up to an instant."""

    key: RunKey
    at_ns: int
    cpu_ms: int
    memory_peak: int


# --- files ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """Files and checkpoint are in place."""

    key: RunKey
    resumed_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingFailed:
    """Files or checkpoint cannot be brought here."""

    key: RunKey
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCheckpoint:
    """A complete checkpoint of a run is in the region's blob root; `written_ns` is when it was
    complete.
    """

    step: int
    manifest: str
    size: int
    written_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLooked:
    """The answer to LookForCheckpoint: what was found and uploaded, if anything."""

    key: RunKey
    saved: SavedCheckpoint | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What an ended run left is in the region's blob root."""

    key: RunKey
    outputs: tuple[StoredFile, ...] = ()
    logs: tuple[StoredFile, ...] = ()
    saved: SavedCheckpoint | None = None
    fault: str = ""
    """Why an output is missing, empty if none is."""


# --- effects -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRegion:
    """Outward: a message by this link; lost if it is no more."""

    link: int
    message: FromAgent


@dataclass(frozen=True, slots=True)
class Stage:
    """Outward: bring files and checkpoint here. Answered by Staged or StagingFailed."""

    key: RunKey
    order: StartRun
    slot: int


@dataclass(frozen=True, slots=True)
class Abandon:
    """Outward: end all work on a run's files; its answers are no longer wanted."""

    key: RunKey


@dataclass(frozen=True, slots=True)
class Launch:
    """Outward: start the process, under a deadline for `move` runs. Answered by ProcessSeen or
    LaunchRefused.
    """

    key: RunKey
    order: StartRun
    slot: int
    deadline_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Halt:
    """Outward: SIGTERM now, SIGKILL after `notice_ms`. Answered by ProcessSeen or HaltMissed."""

    key: RunKey
    n: int
    reason: str
    notice_ms: int


@dataclass(frozen=True, slots=True)
class Extend:
    """Outward: the deadline of all live `move` runs is now this."""

    deadline_ns: int


@dataclass(frozen=True, slots=True)
class Measure:
    """Outward: ask what a run has used. Answered by Measured, or not."""

    key: RunKey
    n: int


@dataclass(frozen=True, slots=True)
class LookForCheckpoint:
    """Outward: upload the newest complete checkpoint above a step. Answered by CheckpointLooked."""

    key: RunKey
    slot: int
    above_step: int


@dataclass(frozen=True, slots=True)
class Collect:
    """Outward: upload outputs and logs, and the last checkpoint above a step unless it is None.

    Answered by Collected.
    """

    key: RunKey
    order: StartRun
    slot: int
    above_step: int | None


@dataclass(frozen=True, slots=True)
class Forget:
    """Outward: nothing of the run is needed here any longer: keeper's record, folders, logs."""

    key: RunKey
    n: int


def offer_of(key: RunKey, saved: SavedCheckpoint, written_boot_ms: int) -> CheckpointOffer:
    """The offer of a saved checkpoint; `written_boot_ms` counts from the run's start."""
    return CheckpointOffer(
        task=key.task,
        token=key.token,
        step=saved.step,
        manifest=saved.manifest,
        size=saved.size,
        written_boot_ms=written_boot_ms,
    )
