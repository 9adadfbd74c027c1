from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class TaskState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATE_UNSPECIFIED: _ClassVar[TaskState]
    TASK_STATE_PENDING: _ClassVar[TaskState]
    TASK_STATE_ASSIGNED: _ClassVar[TaskState]
    TASK_STATE_RUNNING: _ClassVar[TaskState]
    TASK_STATE_UNKNOWN: _ClassVar[TaskState]
    TASK_STATE_CANCELLING: _ClassVar[TaskState]
    TASK_STATE_PARKED: _ClassVar[TaskState]
    TASK_STATE_SUCCEEDED: _ClassVar[TaskState]
    TASK_STATE_FAILED: _ClassVar[TaskState]
    TASK_STATE_CANCELLED: _ClassVar[TaskState]

class RunState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_STATE_UNSPECIFIED: _ClassVar[RunState]
    RUN_STATE_ASSIGNED: _ClassVar[RunState]
    RUN_STATE_QUEUED: _ClassVar[RunState]
    RUN_STATE_STAGING: _ClassVar[RunState]
    RUN_STATE_STARTING: _ClassVar[RunState]
    RUN_STATE_RUNNING: _ClassVar[RunState]
    RUN_STATE_STOPPING: _ClassVar[RunState]
    RUN_STATE_ENDED: _ClassVar[RunState]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_SUCCEEDED: _ClassVar[Outcome]
    OUTCOME_FAILED: _ClassVar[Outcome]
    OUTCOME_PREEMPTED: _ClassVar[Outcome]
    OUTCOME_RECLAIMED: _ClassVar[Outcome]
    OUTCOME_EVICTED: _ClassVar[Outcome]
    OUTCOME_LOST: _ClassVar[Outcome]
    OUTCOME_SUPERSEDED: _ClassVar[Outcome]
    OUTCOME_CANCELLED: _ClassVar[Outcome]
    OUTCOME_REJECTED: _ClassVar[Outcome]
    OUTCOME_TIMED_OUT: _ClassVar[Outcome]

class RegionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REGION_STATE_UNSPECIFIED: _ClassVar[RegionState]
    REGION_STATE_REQUESTED: _ClassVar[RegionState]
    REGION_STATE_ACTIVE: _ClassVar[RegionState]
    REGION_STATE_CORDONED: _ClassVar[RegionState]
    REGION_STATE_DRAINING: _ClassVar[RegionState]
    REGION_STATE_LEFT: _ClassVar[RegionState]
    REGION_STATE_REMOVED: _ClassVar[RegionState]

class Reachability(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REACHABILITY_UNSPECIFIED: _ClassVar[Reachability]
    REACHABILITY_REACHABLE: _ClassVar[Reachability]
    REACHABILITY_OUT_OF_TOUCH: _ClassVar[Reachability]
    REACHABILITY_UNKNOWN: _ClassVar[Reachability]

class FailureClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAILURE_CLASS_UNSPECIFIED: _ClassVar[FailureClass]
    FAILURE_CLASS_OOM_DEVICE: _ClassVar[FailureClass]
    FAILURE_CLASS_OOM_HOST: _ClassVar[FailureClass]
    FAILURE_CLASS_COMMUNICATION: _ClassVar[FailureClass]
    FAILURE_CLASS_IO: _ClassVar[FailureClass]
    FAILURE_CLASS_HARDWARE: _ClassVar[FailureClass]
    FAILURE_CLASS_HANG: _ClassVar[FailureClass]
    FAILURE_CLASS_USER: _ClassVar[FailureClass]
    FAILURE_CLASS_ENVIRONMENT: _ClassVar[FailureClass]
    FAILURE_CLASS_TIME_LIMIT: _ClassVar[FailureClass]
    FAILURE_CLASS_UNKNOWN: _ClassVar[FailureClass]

class WaitReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAIT_REASON_UNSPECIFIED: _ClassVar[WaitReason]
    WAIT_REASON_NO_CAPACITY: _ClassVar[WaitReason]
    WAIT_REASON_FRAGMENTED: _ClassVar[WaitReason]
    WAIT_REASON_QUOTA: _ClassVar[WaitReason]
    WAIT_REASON_RESIDENCY: _ClassVar[WaitReason]
    WAIT_REASON_BUDGET: _ClassVar[WaitReason]
    WAIT_REASON_LATENCY: _ClassVar[WaitReason]
    WAIT_REASON_STALE: _ClassVar[WaitReason]
    WAIT_REASON_QUEUED_IN_REGION: _ClassVar[WaitReason]
    WAIT_REASON_GANG_WAIT: _ClassVar[WaitReason]
    WAIT_REASON_BACKOFF: _ClassVar[WaitReason]
    WAIT_REASON_NO_MATCHING_REGION: _ClassVar[WaitReason]

class OnDisconnect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_DISCONNECT_UNSPECIFIED: _ClassVar[OnDisconnect]
    ON_DISCONNECT_STAY: _ClassVar[OnDisconnect]
    ON_DISCONNECT_MOVE: _ClassVar[OnDisconnect]
    ON_DISCONNECT_DUPLICATE: _ClassVar[OnDisconnect]
TASK_STATE_UNSPECIFIED: TaskState
TASK_STATE_PENDING: TaskState
TASK_STATE_ASSIGNED: TaskState
TASK_STATE_RUNNING: TaskState
TASK_STATE_UNKNOWN: TaskState
TASK_STATE_CANCELLING: TaskState
TASK_STATE_PARKED: TaskState
TASK_STATE_SUCCEEDED: TaskState
TASK_STATE_FAILED: TaskState
TASK_STATE_CANCELLED: TaskState
RUN_STATE_UNSPECIFIED: RunState
RUN_STATE_ASSIGNED: RunState
RUN_STATE_QUEUED: RunState
RUN_STATE_STAGING: RunState
RUN_STATE_STARTING: RunState
RUN_STATE_RUNNING: RunState
RUN_STATE_STOPPING: RunState
RUN_STATE_ENDED: RunState
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_SUCCEEDED: Outcome
OUTCOME_FAILED: Outcome
OUTCOME_PREEMPTED: Outcome
OUTCOME_RECLAIMED: Outcome
OUTCOME_EVICTED: Outcome
OUTCOME_LOST: Outcome
OUTCOME_SUPERSEDED: Outcome
OUTCOME_CANCELLED: Outcome
OUTCOME_REJECTED: Outcome
OUTCOME_TIMED_OUT: Outcome
REGION_STATE_UNSPECIFIED: RegionState
REGION_STATE_REQUESTED: RegionState
REGION_STATE_ACTIVE: RegionState
REGION_STATE_CORDONED: RegionState
REGION_STATE_DRAINING: RegionState
REGION_STATE_LEFT: RegionState
REGION_STATE_REMOVED: RegionState
REACHABILITY_UNSPECIFIED: Reachability
REACHABILITY_REACHABLE: Reachability
REACHABILITY_OUT_OF_TOUCH: Reachability
REACHABILITY_UNKNOWN: Reachability
FAILURE_CLASS_UNSPECIFIED: FailureClass
FAILURE_CLASS_OOM_DEVICE: FailureClass
FAILURE_CLASS_OOM_HOST: FailureClass
FAILURE_CLASS_COMMUNICATION: FailureClass
FAILURE_CLASS_IO: FailureClass
FAILURE_CLASS_HARDWARE: FailureClass
FAILURE_CLASS_HANG: FailureClass
FAILURE_CLASS_USER: FailureClass
FAILURE_CLASS_ENVIRONMENT: FailureClass
FAILURE_CLASS_TIME_LIMIT: FailureClass
FAILURE_CLASS_UNKNOWN: FailureClass
WAIT_REASON_UNSPECIFIED: WaitReason
WAIT_REASON_NO_CAPACITY: WaitReason
WAIT_REASON_FRAGMENTED: WaitReason
WAIT_REASON_QUOTA: WaitReason
WAIT_REASON_RESIDENCY: WaitReason
WAIT_REASON_BUDGET: WaitReason
WAIT_REASON_LATENCY: WaitReason
WAIT_REASON_STALE: WaitReason
WAIT_REASON_QUEUED_IN_REGION: WaitReason
WAIT_REASON_GANG_WAIT: WaitReason
WAIT_REASON_BACKOFF: WaitReason
WAIT_REASON_NO_MATCHING_REGION: WaitReason
ON_DISCONNECT_UNSPECIFIED: OnDisconnect
ON_DISCONNECT_STAY: OnDisconnect
ON_DISCONNECT_MOVE: OnDisconnect
ON_DISCONNECT_DUPLICATE: OnDisconnect
