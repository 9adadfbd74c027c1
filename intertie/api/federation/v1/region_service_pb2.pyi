import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from intertie.api.federation.v1 import pool_pb2 as _pool_pb2
from intertie.api.federation.v1 import states_pb2 as _states_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Region(_message.Message):
    __slots__ = ("name", "state", "reachability", "jurisdiction", "seen_time", "software", "summary", "assigned_runs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REACHABILITY_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    SEEN_TIME_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_RUNS_FIELD_NUMBER: _ClassVar[int]
    name: str
    state: _states_pb2.RegionState
    reachability: _states_pb2.Reachability
    jurisdiction: str
    seen_time: _timestamp_pb2.Timestamp
    software: str
    summary: _pool_pb2.Summary
    assigned_runs: int
    def __init__(self, name: _Optional[str] = ..., state: _Optional[_Union[_states_pb2.RegionState, str]] = ..., reachability: _Optional[_Union[_states_pb2.Reachability, str]] = ..., jurisdiction: _Optional[str] = ..., seen_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., software: _Optional[str] = ..., summary: _Optional[_Union[_pool_pb2.Summary, _Mapping]] = ..., assigned_runs: _Optional[int] = ...) -> None: ...

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
