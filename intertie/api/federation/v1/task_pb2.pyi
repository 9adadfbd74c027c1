import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.type import money_pb2 as _money_pb2
from intertie.api.federation.v1 import files_pb2 as _files_pb2
from intertie.api.federation.v1 import states_pb2 as _states_pb2
from intertie.api.federation.v1 import task_spec_pb2 as _task_spec_pb2
from intertie.api.federation.v1 import token_pb2 as _token_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Task(_message.Message):
    __slots__ = ("name", "etag", "spec", "spec_ref", "group", "index", "principal", "request_id", "state", "wait", "region", "epoch", "attempts", "backoff", "excluded", "checkpoint", "runs", "create_time", "update_time", "end_time", "exit_code", "failure_class", "message", "cancel_reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    SPEC_REF_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    UPDATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CANCEL_REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    etag: str
    spec: _task_spec_pb2.TaskSpec
    spec_ref: str
    group: str
    index: int
    principal: str
    request_id: str
    state: _states_pb2.TaskState
    wait: Wait
    region: str
    epoch: _token_pb2.Epoch
    attempts: int
    backoff: int
    excluded: _containers.RepeatedScalarFieldContainer[str]
    checkpoint: _files_pb2.CheckpointRef
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    create_time: _timestamp_pb2.Timestamp
    update_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    exit_code: int
    failure_class: _states_pb2.FailureClass
    message: str
    cancel_reason: str
    def __init__(self, name: _Optional[str] = ..., etag: _Optional[str] = ..., spec: _Optional[_Union[_task_spec_pb2.TaskSpec, _Mapping]] = ..., spec_ref: _Optional[str] = ..., group: _Optional[str] = ..., index: _Optional[int] = ..., principal: _Optional[str] = ..., request_id: _Optional[str] = ..., state: _Optional[_Union[_states_pb2.TaskState, str]] = ..., wait: _Optional[_Union[Wait, _Mapping]] = ..., region: _Optional[str] = ..., epoch: _Optional[_Union[_token_pb2.Epoch, _Mapping]] = ..., attempts: _Optional[int] = ..., backoff: _Optional[int] = ..., excluded: _Optional[_Iterable[str]] = ..., checkpoint: _Optional[_Union[_files_pb2.CheckpointRef, _Mapping]] = ..., runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., update_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., exit_code: _Optional[int] = ..., failure_class: _Optional[_Union[_states_pb2.FailureClass, str]] = ..., message: _Optional[str] = ..., cancel_reason: _Optional[str] = ...) -> None: ...

class Wait(_message.Message):
    __slots__ = ("reason", "detail", "since_time", "next", "next_time")
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    NEXT_TIME_FIELD_NUMBER: _ClassVar[int]
    reason: _states_pb2.WaitReason
    detail: str
    since_time: _timestamp_pb2.Timestamp
    next: str
    next_time: _timestamp_pb2.Timestamp
    def __init__(self, reason: _Optional[_Union[_states_pb2.WaitReason, str]] = ..., detail: _Optional[str] = ..., since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next: _Optional[str] = ..., next_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("n", "token", "region", "state", "outcome", "node", "jurisdiction", "variant", "placements", "assign_time", "start_time", "end_time", "exit_code", "signal", "failure_class", "cause", "message", "useful", "lost", "reclaimed", "resumed_step", "checkpoint", "outputs", "logs", "excluded", "grant_sha256", "decision")
    N_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    PLACEMENTS_FIELD_NUMBER: _ClassVar[int]
    ASSIGN_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    USEFUL_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    RECLAIMED_FIELD_NUMBER: _ClassVar[int]
    RESUMED_STEP_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LOGS_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    GRANT_SHA256_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    n: int
    token: _token_pb2.Token
    region: str
    state: _states_pb2.RunState
    outcome: _states_pb2.Outcome
    node: str
    jurisdiction: str
    variant: int
    placements: int
    assign_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    exit_code: int
    signal: int
    failure_class: _states_pb2.FailureClass
    cause: str
    message: str
    useful: _duration_pb2.Duration
    lost: _duration_pb2.Duration
    reclaimed: _duration_pb2.Duration
    resumed_step: int
    checkpoint: _files_pb2.CheckpointRef
    outputs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    logs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    excluded: _containers.RepeatedScalarFieldContainer[str]
    grant_sha256: str
    decision: str
    def __init__(self, n: _Optional[int] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., region: _Optional[str] = ..., state: _Optional[_Union[_states_pb2.RunState, str]] = ..., outcome: _Optional[_Union[_states_pb2.Outcome, str]] = ..., node: _Optional[str] = ..., jurisdiction: _Optional[str] = ..., variant: _Optional[int] = ..., placements: _Optional[int] = ..., assign_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., failure_class: _Optional[_Union[_states_pb2.FailureClass, str]] = ..., cause: _Optional[str] = ..., message: _Optional[str] = ..., useful: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lost: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reclaimed: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., resumed_step: _Optional[int] = ..., checkpoint: _Optional[_Union[_files_pb2.CheckpointRef, _Mapping]] = ..., outputs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., logs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ..., excluded: _Optional[_Iterable[str]] = ..., grant_sha256: _Optional[str] = ..., decision: _Optional[str] = ...) -> None: ...

class TaskEvent(_message.Message):
    __slots__ = ("task", "event_time", "before", "after", "reason", "actor", "run", "message", "run_state")
    TASK_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RUN_STATE_FIELD_NUMBER: _ClassVar[int]
    task: str
    event_time: _timestamp_pb2.Timestamp
    before: _states_pb2.TaskState
    after: _states_pb2.TaskState
    reason: str
    actor: str
    run: int
    message: str
    run_state: _states_pb2.RunState
    def __init__(self, task: _Optional[str] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., before: _Optional[_Union[_states_pb2.TaskState, str]] = ..., after: _Optional[_Union[_states_pb2.TaskState, str]] = ..., reason: _Optional[str] = ..., actor: _Optional[str] = ..., run: _Optional[int] = ..., message: _Optional[str] = ..., run_state: _Optional[_Union[_states_pb2.RunState, str]] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("verdicts", "chosen", "remedy", "state", "wait", "decision", "differences", "since_then")
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    REMEDY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    SINCE_THEN_FIELD_NUMBER: _ClassVar[int]
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    chosen: str
    remedy: str
    state: _states_pb2.TaskState
    wait: Wait
    decision: Decision
    differences: _containers.RepeatedScalarFieldContainer[str]
    since_then: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ..., chosen: _Optional[str] = ..., remedy: _Optional[str] = ..., state: _Optional[_Union[_states_pb2.TaskState, str]] = ..., wait: _Optional[_Union[Wait, _Mapping]] = ..., decision: _Optional[_Union[Decision, _Mapping]] = ..., differences: _Optional[_Iterable[str]] = ..., since_then: _Optional[_Iterable[str]] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("id", "event_time", "seed", "count", "objective", "work", "inputs", "candidates", "drawn", "lots", "units")
    ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    LOTS_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    id: str
    event_time: _timestamp_pb2.Timestamp
    seed: int
    count: int
    objective: str
    work: _duration_pb2.Duration
    inputs: str
    candidates: _containers.RepeatedCompositeFieldContainer[Candidate]
    drawn: _containers.RepeatedScalarFieldContainer[str]
    lots: _containers.RepeatedCompositeFieldContainer[Lot]
    units: int
    def __init__(self, id: _Optional[str] = ..., event_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seed: _Optional[int] = ..., count: _Optional[int] = ..., objective: _Optional[str] = ..., work: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., inputs: _Optional[str] = ..., candidates: _Optional[_Iterable[_Union[Candidate, _Mapping]]] = ..., drawn: _Optional[_Iterable[str]] = ..., lots: _Optional[_Iterable[_Union[Lot, _Mapping]]] = ..., units: _Optional[int] = ...) -> None: ...

class Candidate(_message.Message):
    __slots__ = ("region", "weight", "incarnation", "revision")
    REGION_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    region: str
    weight: float
    incarnation: str
    revision: int
    def __init__(self, region: _Optional[str] = ..., weight: _Optional[float] = ..., incarnation: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class Lot(_message.Message):
    __slots__ = ("region", "units", "wait", "expected", "success", "miss", "cost_nanos", "over_nanos", "taken")
    REGION_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    MISS_FIELD_NUMBER: _ClassVar[int]
    COST_NANOS_FIELD_NUMBER: _ClassVar[int]
    OVER_NANOS_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    region: str
    units: int
    wait: _duration_pb2.Duration
    expected: _duration_pb2.Duration
    success: float
    miss: float
    cost_nanos: int
    over_nanos: int
    taken: int
    def __init__(self, region: _Optional[str] = ..., units: _Optional[int] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., expected: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., success: _Optional[float] = ..., miss: _Optional[float] = ..., cost_nanos: _Optional[int] = ..., over_nanos: _Optional[int] = ..., taken: _Optional[int] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ("region", "feasible", "checks", "weights", "expected_wait_ms", "rtt_p95_ms", "units_now", "variant", "reason", "assumed", "per_hour", "cost", "success")
    REGION_FIELD_NUMBER: _ClassVar[int]
    FEASIBLE_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    RTT_P95_MS_FIELD_NUMBER: _ClassVar[int]
    UNITS_NOW_FIELD_NUMBER: _ClassVar[int]
    VARIANT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ASSUMED_FIELD_NUMBER: _ClassVar[int]
    PER_HOUR_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    region: str
    feasible: bool
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    weights: _containers.RepeatedCompositeFieldContainer[Weight]
    expected_wait_ms: int
    rtt_p95_ms: float
    units_now: int
    variant: int
    reason: _states_pb2.WaitReason
    assumed: _containers.RepeatedScalarFieldContainer[str]
    per_hour: _money_pb2.Money
    cost: _money_pb2.Money
    success: _duration_pb2.Duration
    def __init__(self, region: _Optional[str] = ..., feasible: bool = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., weights: _Optional[_Iterable[_Union[Weight, _Mapping]]] = ..., expected_wait_ms: _Optional[int] = ..., rtt_p95_ms: _Optional[float] = ..., units_now: _Optional[int] = ..., variant: _Optional[int] = ..., reason: _Optional[_Union[_states_pb2.WaitReason, str]] = ..., assumed: _Optional[_Iterable[str]] = ..., per_hour: _Optional[_Union[_money_pb2.Money, _Mapping]] = ..., cost: _Optional[_Union[_money_pb2.Money, _Mapping]] = ..., success: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ("name", "need", "have", "holds")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEED_FIELD_NUMBER: _ClassVar[int]
    HAVE_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    name: str
    need: str
    have: str
    holds: bool
    def __init__(self, name: _Optional[str] = ..., need: _Optional[str] = ..., have: _Optional[str] = ..., holds: bool = ...) -> None: ...

class Weight(_message.Message):
    __slots__ = ("name", "value", "assumed")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ASSUMED_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    assumed: bool
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ..., assumed: bool = ...) -> None: ...
