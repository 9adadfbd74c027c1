"""States of tasks, runs and regions, as tables.

**Task.** PENDING waits at the federation. ASSIGNED has a durable epoch and region; whether the
region knows is unknown until it answers, and unknown means yes. RUNNING follows the region's
report. UNKNOWN: the region is out of touch and nothing was restarted; it leaves UNKNOWN when the
region answers, or to PENDING when a `move` task's window and the lease are over (never for `stay`
without proof of death). CANCELLING waits for the region's word that nothing runs. PARKED waits for
a person. The last three states are final: at most one of them is ever committed (invariant I3).

**Run.** One attempt at one region. A region moves QUEUED -> STAGING -> STARTING -> RUNNING ->
STOPPING -> ENDED; a re-placement inside the region goes back to QUEUED under a higher sub-epoch.
ENDED carries one outcome and is final.

**Region.** Administrative state (what was decided) beside reachability (what is observed).

Diagrams in the docs are generated from these tables; `tests/unit/model` checks that the tables are
total.
"""

from collections.abc import Mapping
from enum import StrEnum


class TaskState(StrEnum):
    """State of a task."""

    PENDING = "PENDING"
    ASSIGNED = "ASSIGNED"
    RUNNING = "RUNNING"
    UNKNOWN = "UNKNOWN"
    CANCELLING = "CANCELLING"
    PARKED = "PARKED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class RunState(StrEnum):
    """State of a run."""

    ASSIGNED = "ASSIGNED"
    QUEUED = "QUEUED"
    STAGING = "STAGING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    ENDED = "ENDED"


class Outcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    PREEMPTED = "PREEMPTED"
    RECLAIMED = "RECLAIMED"
    EVICTED = "EVICTED"
    LOST = "LOST"
    SUPERSEDED = "SUPERSEDED"
    CANCELLED = "CANCELLED"
    REJECTED = "REJECTED"
    TIMED_OUT = "TIMED_OUT"


class RegionState(StrEnum):
    """What was decided about a region."""

    REQUESTED = "REQUESTED"
    ACTIVE = "ACTIVE"
    CORDONED = "CORDONED"
    DRAINING = "DRAINING"
    LEFT = "LEFT"
    REMOVED = "REMOVED"


class Reachability(StrEnum):
    """What is observed of a region or a node."""

    REACHABLE = "REACHABLE"
    OUT_OF_TOUCH = "OUT_OF_TOUCH"
    UNKNOWN = "UNKNOWN"


class FailureClass(StrEnum):
    """Why a run failed (tasks.md, Failure classes)."""

    OOM_DEVICE = "OOM_DEVICE"
    OOM_HOST = "OOM_HOST"
    COMMUNICATION = "COMMUNICATION"
    IO = "IO"
    HARDWARE = "HARDWARE"
    HANG = "HANG"
    USER = "USER"
    ENVIRONMENT = "ENVIRONMENT"
    TIME_LIMIT = "TIME_LIMIT"
    UNKNOWN = "UNKNOWN"


class WaitReason(StrEnum):
    """Why a task does not run yet."""

    NO_CAPACITY = "NO_CAPACITY"
    FRAGMENTED = "FRAGMENTED"
    QUOTA = "QUOTA"
    RESIDENCY = "RESIDENCY"
    BUDGET = "BUDGET"
    LATENCY = "LATENCY"
    STALE = "STALE"
    QUEUED_IN_REGION = "QUEUED_IN_REGION"
    GANG_WAIT = "GANG_WAIT"
    BACKOFF = "BACKOFF"
    NO_MATCHING_REGION = "NO_MATCHING_REGION"


class OnDisconnect(StrEnum):
    """What happens to a run whose region or node is out of touch (safety.md)."""

    STAY = "stay"
    MOVE = "move"
    DUPLICATE = "duplicate"


_T, _R, _G = TaskState, RunState, RegionState

TASK_FINAL = frozenset({_T.SUCCEEDED, _T.FAILED, _T.CANCELLED})
"""States that a task never leaves."""

TASK_TRANSITIONS: Mapping[TaskState, frozenset[TaskState]] = {
    _T.PENDING: frozenset({_T.ASSIGNED, _T.PARKED, _T.FAILED, _T.CANCELLED}),
    _T.ASSIGNED: frozenset(
        {_T.PENDING, _T.RUNNING, _T.UNKNOWN, _T.CANCELLING, _T.PARKED, _T.SUCCEEDED, _T.FAILED}
    ),
    _T.RUNNING: frozenset(
        {_T.PENDING, _T.ASSIGNED, _T.UNKNOWN, _T.CANCELLING, _T.PARKED, _T.SUCCEEDED, _T.FAILED}
    ),
    _T.UNKNOWN: frozenset(
        {_T.PENDING, _T.ASSIGNED, _T.RUNNING, _T.CANCELLING, _T.PARKED, _T.SUCCEEDED, _T.FAILED}
    ),
    _T.CANCELLING: frozenset({_T.CANCELLED, _T.SUCCEEDED, _T.FAILED}),
    _T.PARKED: frozenset({_T.PENDING, _T.CANCELLED}),
    _T.SUCCEEDED: frozenset(),
    _T.FAILED: frozenset(),
    _T.CANCELLED: frozenset(),
}

RUN_TRANSITIONS: Mapping[RunState, frozenset[RunState]] = {
    _R.ASSIGNED: frozenset({_R.QUEUED, _R.ENDED}),
    _R.QUEUED: frozenset({_R.STAGING, _R.STARTING, _R.ENDED}),
    _R.STAGING: frozenset({_R.STARTING, _R.RUNNING, _R.QUEUED, _R.STOPPING, _R.ENDED}),
    _R.STARTING: frozenset({_R.RUNNING, _R.QUEUED, _R.STOPPING, _R.ENDED}),
    _R.RUNNING: frozenset({_R.QUEUED, _R.STOPPING, _R.ENDED}),
    _R.STOPPING: frozenset({_R.QUEUED, _R.ENDED}),
    _R.ENDED: frozenset(),
}

REGION_TRANSITIONS: Mapping[RegionState, frozenset[RegionState]] = {
    _G.REQUESTED: frozenset({_G.ACTIVE, _G.REMOVED}),
    _G.ACTIVE: frozenset({_G.CORDONED, _G.DRAINING, _G.REMOVED}),
    _G.CORDONED: frozenset({_G.ACTIVE, _G.DRAINING, _G.REMOVED}),
    _G.DRAINING: frozenset({_G.ACTIVE, _G.CORDONED, _G.LEFT, _G.REMOVED}),
    _G.LEFT: frozenset({_G.REQUESTED, _G.REMOVED}),
    _G.REMOVED: frozenset(),
}


def check_task(before: TaskState, after: TaskState) -> None:
    """Assert that a task may go from one state to another; a violation is our own bug."""
    assert after in TASK_TRANSITIONS[before], f"task {before} -> {after}"


def check_run(before: RunState, after: RunState) -> None:
    """Assert that a run may go from one state to another; a violation is our own bug."""
    assert before is after or after in RUN_TRANSITIONS[before], f"run {before} -> {after}"
