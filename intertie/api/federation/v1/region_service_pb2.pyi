import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from intertie.api.federation.v1 import join_pb2 as _join_pb2
from intertie.api.federation.v1 import pool_pb2 as _pool_pb2
from intertie.api.federation.v1 import states_pb2 as _states_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DrainState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DRAIN_STATE_UNSPECIFIED: _ClassVar[DrainState]
    DRAIN_STATE_RUNNING: _ClassVar[DrainState]
    DRAIN_STATE_DONE: _ClassVar[DrainState]
    DRAIN_STATE_CANCELLED: _ClassVar[DrainState]
DRAIN_STATE_UNSPECIFIED: DrainState
DRAIN_STATE_RUNNING: DrainState
DRAIN_STATE_DONE: DrainState
DRAIN_STATE_CANCELLED: DrainState

class Region(_message.Message):
    __slots__ = ("name", "state", "reachability", "jurisdiction", "seen_time", "software", "summary", "assigned_runs", "state_reason", "state_actor")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REACHABILITY_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_RUNS_FIELD_NUMBER: _ClassVar[int]
    STATE_REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_ACTOR_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: _states_pb2.RegionState
    reachability: _states_pb2.Reachability
    jurisdiction: str
    seen_time: _timestamp_pb2.Timestamp
    software: str
    summary: _pool_pb2.Summary
    assigned_runs: int
    state_reason: str
    state_actor: str
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[_states_pb2.RegionState, str]] = ..., reachability: _Optional[_Union[_states_pb2.Reachability, str]] = ..., jurisdiction: _Optional[str] = ..., seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., software: _Optional[str] = ..., summary: _Optional[_Union[_pool_pb2.Summary, _Mapping]] = ..., assigned_runs: _Optional[int] = ..., state_reason: _Optional[str] = ..., state_actor: _Optional[str] = ...) -> None: ...

class GetRegionRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListRegionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRegionsResponse(_message.Message):
    __slots__ = ("regions", "next_page_token")
    REGIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    regions: _containers.RepeatedCompositeFieldContainer[Region]
    next_page_token: str
    def __init__(self, regions: _Optional[_Iterable[_Union[Region, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListRttsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRttsResponse(_message.Message):
    __slots__ = ("rtts", "next_page_token", "revision")
    RTTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    rtts: _containers.RepeatedCompositeFieldContainer[Rtt]
    next_page_token: str
    revision: int
    def __init__(self, rtts: _Optional[_Iterable[_Union[Rtt, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class Rtt(_message.Message):
    __slots__ = ("origin", "region", "measured", "p50_us", "p95_us", "samples", "lost", "age_ms")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    MEASURED_FIELD_NUMBER: _ClassVar[int]
    P50_US_FIELD_NUMBER: _ClassVar[int]
    P95_US_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    origin: str
    region: str
    measured: bool
    p50_us: int
    p95_us: int
    samples: int
    lost: int
    age_ms: int
    def __init__(self, origin: _Optional[str] = ..., region: _Optional[str] = ..., measured: bool = ..., p50_us: _Optional[int] = ..., p95_us: _Optional[int] = ..., samples: _Optional[int] = ..., lost: _Optional[int] = ..., age_ms: _Optional[int] = ...) -> None: ...

class ListJoinRequestsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "show_decided")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SHOW_DECIDED_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    show_decided: bool
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., show_decided: bool = ...) -> None: ...

class ListJoinRequestsResponse(_message.Message):
    __slots__ = ("joins", "next_page_token")
    JOINS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    joins: _containers.RepeatedCompositeFieldContainer[_join_pb2.Join]
    next_page_token: str
    def __init__(self, joins: _Optional[_Iterable[_Union[_join_pb2.Join, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ApproveJoinRequestRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RejectJoinRequestRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CordonRegionRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UncordonRegionRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RemoveRegionRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class Drain(_message.Message):
    __slots__ = ("name", "state", "guests", "guests_left", "guests_waited_for", "deadline", "leave", "reason", "creator", "create_time", "end_time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    GUESTS_FIELD_NUMBER: _ClassVar[int]
    GUESTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    GUESTS_WAITED_FOR_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREATOR_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: DrainState
    guests: int
    guests_left: int
    guests_waited_for: int
    deadline: _timestamp_pb2.Timestamp
    leave: bool
    reason: str
    creator: str
    create_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[DrainState, str]] = ..., guests: _Optional[int] = ..., guests_left: _Optional[int] = ..., guests_waited_for: _Optional[int] = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., leave: bool = ..., reason: _Optional[str] = ..., creator: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreateDrainRequest(_message.Message):
    __slots__ = ("parent", "reason", "deadline", "leave", "request_id")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    parent: str
    reason: str
    deadline: _duration_pb2.Duration
    leave: bool
    request_id: str
    def __init__(self, parent: _Optional[str] = ..., reason: _Optional[str] = ..., deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., leave: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class GetDrainRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListDrainsRequest(_message.Message):
    __slots__ = ("parent", "page_size", "page_token")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    parent: str
    page_size: int
    page_token: str
    def __init__(self, parent: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDrainsResponse(_message.Message):
    __slots__ = ("drains", "next_page_token")
    DRAINS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    drains: _containers.RepeatedCompositeFieldContainer[Drain]
    next_page_token: str
    def __init__(self, drains: _Optional[_Iterable[_Union[Drain, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CancelDrainRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...
