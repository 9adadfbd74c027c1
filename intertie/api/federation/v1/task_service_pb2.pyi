from google.rpc import status_pb2 as _status_pb2
from intertie.api.federation.v1 import task_pb2 as _task_pb2
from intertie.api.federation.v1 import task_spec_pb2 as _task_spec_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateTaskRequest(_message.Message):
    __slots__ = ("parent", "spec", "request_id", "validate_only", "fail_if_unmatched", "order")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    FAIL_IF_UNMATCHED_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    parent: str
    spec: _task_spec_pb2.TaskSpec
    request_id: str
    validate_only: bool
    fail_if_unmatched: bool
    order: bytes
    def __init__(self, parent: _Optional[str] = ..., spec: _Optional[_Union[_task_spec_pb2.TaskSpec, _Mapping]] = ..., request_id: _Optional[str] = ..., validate_only: bool = ..., fail_if_unmatched: bool = ..., order: _Optional[bytes] = ...) -> None: ...

class BatchCreateTasksItem(_message.Message):
    __slots__ = ("spec", "request_id")
    SPEC_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    spec: _task_spec_pb2.TaskSpec
    request_id: str
    def __init__(self, spec: _Optional[_Union[_task_spec_pb2.TaskSpec, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class BatchCreateTasksRequest(_message.Message):
    __slots__ = ("parent", "requests", "order")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    parent: str
    requests: _containers.RepeatedCompositeFieldContainer[BatchCreateTasksItem]
    order: bytes
    def __init__(self, parent: _Optional[str] = ..., requests: _Optional[_Iterable[_Union[BatchCreateTasksItem, _Mapping]]] = ..., order: _Optional[bytes] = ...) -> None: ...

class BatchCreateTasksResult(_message.Message):
    __slots__ = ("task", "status")
    TASK_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    task: str
    status: _status_pb2.Status
    def __init__(self, task: _Optional[str] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class BatchCreateTasksResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BatchCreateTasksResult]
    def __init__(self, results: _Optional[_Iterable[_Union[BatchCreateTasksResult, _Mapping]]] = ...) -> None: ...

class GetTaskRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token", "filter")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    filter: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., filter: _Optional[str] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks", "next_page_token")
    TASKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    next_page_token: str
    def __init__(self, tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelTaskRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id", "etag")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    etag: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., etag: _Optional[str] = ...) -> None: ...

class PlanTaskRequest(_message.Message):
    __slots__ = ("parent", "spec", "what_if")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    WHAT_IF_FIELD_NUMBER: _ClassVar[int]
    parent: str
    spec: _task_spec_pb2.TaskSpec
    what_if: WhatIf
    def __init__(self, parent: _Optional[str] = ..., spec: _Optional[_Union[_task_spec_pb2.TaskSpec, _Mapping]] = ..., what_if: _Optional[_Union[WhatIf, _Mapping]] = ...) -> None: ...

class WhatIf(_message.Message):
    __slots__ = ("regions_down", "reclaims", "policy")
    REGIONS_DOWN_FIELD_NUMBER: _ClassVar[int]
    RECLAIMS_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    regions_down: _containers.RepeatedScalarFieldContainer[str]
    reclaims: _containers.RepeatedCompositeFieldContainer[WhatIfReclaim]
    policy: bytes
    def __init__(self, regions_down: _Optional[_Iterable[str]] = ..., reclaims: _Optional[_Iterable[_Union[WhatIfReclaim, _Mapping]]] = ..., policy: _Optional[bytes] = ...) -> None: ...

class WhatIfReclaim(_message.Message):
    __slots__ = ("region", "devices")
    REGION_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    region: str
    devices: int
    def __init__(self, region: _Optional[str] = ..., devices: _Optional[int] = ...) -> None: ...

class ExplainTaskRequest(_message.Message):
    __slots__ = ("name", "decision")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    decision: int
    def __init__(self, name: _Optional[str] = ..., decision: _Optional[int] = ...) -> None: ...

class ListTaskEventsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTaskEventsResponse(_message.Message):
    __slots__ = ("events", "next_page_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_task_pb2.TaskEvent]
    next_page_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[_task_pb2.TaskEvent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchTasksRequest(_message.Message):
    __slots__ = ("parent", "resume_token", "tasks", "send_initial")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    SEND_INITIAL_FIELD_NUMBER: _ClassVar[int]
    parent: str
    resume_token: str
    tasks: _containers.RepeatedScalarFieldContainer[str]
    send_initial: bool
    def __init__(self, parent: _Optional[str] = ..., resume_token: _Optional[str] = ..., tasks: _Optional[_Iterable[str]] = ..., send_initial: bool = ...) -> None: ...

class WatchTasksResponse(_message.Message):
    __slots__ = ("events", "tasks", "resume_token")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_task_pb2.TaskEvent]
    tasks: _containers.RepeatedCompositeFieldContainer[_task_pb2.Task]
    resume_token: str
    def __init__(self, events: _Optional[_Iterable[_Union[_task_pb2.TaskEvent, _Mapping]]] = ..., tasks: _Optional[_Iterable[_Union[_task_pb2.Task, _Mapping]]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next_page_token")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[_task_pb2.Run]
    next_page_token: str
    def __init__(self, runs: _Optional[_Iterable[_Union[_task_pb2.Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ReadTaskLogsRequest(_message.Message):
    __slots__ = ("name", "run", "rank", "stream", "offset", "tail_bytes", "follow")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    TAIL_BYTES_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    name: str
    run: int
    rank: int
    stream: str
    offset: int
    tail_bytes: int
    follow: bool
    def __init__(self, name: _Optional[str] = ..., run: _Optional[int] = ..., rank: _Optional[int] = ..., stream: _Optional[str] = ..., offset: _Optional[int] = ..., tail_bytes: _Optional[int] = ..., follow: bool = ...) -> None: ...

class ReadTaskLogsResponse(_message.Message):
    __slots__ = ("data", "offset")
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    offset: int
    def __init__(self, data: _Optional[bytes] = ..., offset: _Optional[int] = ...) -> None: ...

class ListTaskOutputsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class TaskOutput(_message.Message):
    __slots__ = ("path", "sha256", "size_bytes", "run")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    path: str
    sha256: str
    size_bytes: int
    run: int
    def __init__(self, path: _Optional[str] = ..., sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., run: _Optional[int] = ...) -> None: ...

class ListTaskOutputsResponse(_message.Message):
    __slots__ = ("outputs", "next_page_token")
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    outputs: _containers.RepeatedCompositeFieldContainer[TaskOutput]
    next_page_token: str
    def __init__(self, outputs: _Optional[_Iterable[_Union[TaskOutput, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ReadTaskOutputRequest(_message.Message):
    __slots__ = ("name", "path", "offset")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    name: str
    path: str
    offset: int
    def __init__(self, name: _Optional[str] = ..., path: _Optional[str] = ..., offset: _Optional[int] = ...) -> None: ...

class ReadTaskOutputResponse(_message.Message):
    __slots__ = ("data", "offset")
    DATA_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    offset: int
    def __init__(self, data: _Optional[bytes] = ..., offset: _Optional[int] = ...) -> None: ...
