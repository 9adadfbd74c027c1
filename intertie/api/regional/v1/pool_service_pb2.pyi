import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from intertie.api.federation.v1 import files_pb2 as _files_pb2
from intertie.api.federation.v1 import pool_pb2 as _pool_pb2
from intertie.api.federation.v1 import states_pb2 as _states_pb2
from intertie.api.federation.v1 import task_spec_pb2 as _task_spec_pb2
from intertie.api.federation.v1 import token_pb2 as _token_pb2
from intertie.api.regional.v1 import lending_pb2 as _lending_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Node(_message.Message):
    __slots__ = ("name", "reachability", "seen_time", "capability", "free_cpu_millis", "free_memory_bytes", "free_disk_bytes", "free_devices", "runs", "incarnation", "unfenced_runs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REACHABILITY_FIELD_NUMBER: _ClassVar[int]
    SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    CAPABILITY_FIELD_NUMBER: _ClassVar[int]
    FREE_CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    FREE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_DEVICES_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    UNFENCED_RUNS_FIELD_NUMBER: _ClassVar[int]
    name: str
    reachability: _states_pb2.Reachability
    seen_time: _timestamp_pb2.Timestamp
    capability: _pool_pb2.NodeCapability
    free_cpu_millis: int
    free_memory_bytes: int
    free_disk_bytes: int
    free_devices: int
    runs: int
    incarnation: str
    unfenced_runs: int
    def __init__(self, name: _Optional[str] = ..., reachability: _Optional[_Union[_states_pb2.Reachability, str]] = ..., seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., capability: _Optional[_Union[_pool_pb2.NodeCapability, _Mapping]] = ..., free_cpu_millis: _Optional[int] = ..., free_memory_bytes: _Optional[int] = ..., free_disk_bytes: _Optional[int] = ..., free_devices: _Optional[int] = ..., runs: _Optional[int] = ..., incarnation: _Optional[str] = ..., unfenced_runs: _Optional[int] = ...) -> None: ...

class PoolRun(_message.Message):
    __slots__ = ("task", "token", "state", "outcome", "native", "node", "queue_time", "start_time", "end_time", "exit_code", "message", "checkpoint", "outputs")
    TASK_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_TIME_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    task: str
    token: _token_pb2.Token
    state: _states_pb2.RunState
    outcome: _states_pb2.Outcome
    native: bool
    node: str
    queue_time: _timestamp_pb2.Timestamp
    start_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    exit_code: int
    message: str
    checkpoint: _files_pb2.CheckpointRef
    outputs: _containers.RepeatedCompositeFieldContainer[_files_pb2.StoredFile]
    def __init__(self, task: _Optional[str] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., state: _Optional[_Union[_states_pb2.RunState, str]] = ..., outcome: _Optional[_Union[_states_pb2.Outcome, str]] = ..., native: bool = ..., node: _Optional[str] = ..., queue_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., exit_code: _Optional[int] = ..., message: _Optional[str] = ..., checkpoint: _Optional[_Union[_files_pb2.CheckpointRef, _Mapping]] = ..., outputs: _Optional[_Iterable[_Union[_files_pb2.StoredFile, _Mapping]]] = ...) -> None: ...

class ListNodesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListNodesResponse(_message.Message):
    __slots__ = ("nodes", "next_page_token")
    NODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    next_page_token: str
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetNodeRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "live_only")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LIVE_ONLY_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    live_only: bool
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., live_only: bool = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next_page_token")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[PoolRun]
    next_page_token: str
    def __init__(self, runs: _Optional[_Iterable[_Union[PoolRun, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CreateNativeTaskRequest(_message.Message):
    __slots__ = ("spec", "request_id")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    spec: _task_spec_pb2.TaskSpec
    request_id: str
    def __init__(self, spec: _Optional[_Union[_task_spec_pb2.TaskSpec, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class EvictRunRequest(_message.Message):
    __slots__ = ("task", "reason", "request_id")
    TASK_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    task: str
    reason: str
    request_id: str
    def __init__(self, task: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateAdjustmentRequest(_message.Message):
    __slots__ = ("seq", "quantity", "reason", "request_id")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    seq: int
    quantity: int
    reason: str
    request_id: str
    def __init__(self, seq: _Optional[int] = ..., quantity: _Optional[int] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateAdjustmentResponse(_message.Message):
    __slots__ = ("rid",)
    RID_FIELD_NUMBER: _ClassVar[int]
    rid: str
    def __init__(self, rid: _Optional[str] = ...) -> None: ...

class GetLendingPolicyRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class SetLendingPolicyRequest(_message.Message):
    __slots__ = ("policy", "etag", "reason", "request_id")
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    policy: _lending_pb2.Lending
    etag: str
    reason: str
    request_id: str
    def __init__(self, policy: _Optional[_Union[_lending_pb2.Lending, _Mapping]] = ..., etag: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateReclaimRequest(_message.Message):
    __slots__ = ("quantity", "deadline", "lasts", "reason", "request_id")
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    LASTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    quantity: _lending_pb2.Quantity
    deadline: _duration_pb2.Duration
    lasts: _duration_pb2.Duration
    reason: str
    request_id: str
    def __init__(self, quantity: _Optional[_Union[_lending_pb2.Quantity, _Mapping]] = ..., deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lasts: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class GetReclaimRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListReclaimsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListReclaimsResponse(_message.Message):
    __slots__ = ("reclaims", "next_page_token")
    RECLAIMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    reclaims: _containers.RepeatedCompositeFieldContainer[_lending_pb2.Reclaim]
    next_page_token: str
    def __init__(self, reclaims: _Optional[_Iterable[_Union[_lending_pb2.Reclaim, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelReclaimRequest(_message.Message):
    __slots__ = ("name", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RemoveNodeRequest(_message.Message):
    __slots__ = ("name", "dead", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    dead: bool
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., dead: bool = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RemoveNodeResponse(_message.Message):
    __slots__ = ("runs",)
    RUNS_FIELD_NUMBER: _ClassVar[int]
    runs: int
    def __init__(self, runs: _Optional[int] = ...) -> None: ...
