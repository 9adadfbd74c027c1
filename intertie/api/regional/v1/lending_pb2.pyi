import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReclaimState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECLAIM_STATE_UNSPECIFIED: _ClassVar[ReclaimState]
    RECLAIM_STATE_RECLAIMING: _ClassVar[ReclaimState]
    RECLAIM_STATE_RECLAIMED: _ClassVar[ReclaimState]
    RECLAIM_STATE_RETURNED: _ClassVar[ReclaimState]
RECLAIM_STATE_UNSPECIFIED: ReclaimState
RECLAIM_STATE_RECLAIMING: ReclaimState
RECLAIM_STATE_RECLAIMED: ReclaimState
RECLAIM_STATE_RETURNED: ReclaimState

class Quantity(_message.Message):
    __slots__ = ("cpu_millis", "memory_bytes", "devices")
    CPU_MILLIS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    cpu_millis: int
    memory_bytes: int
    devices: int
    def __init__(self, cpu_millis: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., devices: _Optional[int] = ...) -> None: ...

class Hours(_message.Message):
    __slots__ = ("days", "start_minute", "end_minute")
    DAYS_FIELD_NUMBER: _ClassVar[int]
    START_MINUTE_FIELD_NUMBER: _ClassVar[int]
    END_MINUTE_FIELD_NUMBER: _ClassVar[int]
    days: _containers.RepeatedScalarFieldContainer[int]
    start_minute: int
    end_minute: int
    def __init__(self, days: _Optional[_Iterable[int]] = ..., start_minute: _Optional[int] = ..., end_minute: _Optional[int] = ...) -> None: ...

class ProjectCap(_message.Message):
    __slots__ = ("project", "most")
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    project: str
    most: Quantity
    def __init__(self, project: _Optional[str] = ..., most: _Optional[_Union[Quantity, _Mapping]] = ...) -> None: ...

class Lending(_message.Message):
    __slots__ = ("lends", "share_millis", "floor", "models", "projects", "caps", "kinds", "data_classes", "hours", "longest_run", "notice", "revision")
    LENDS_FIELD_NUMBER: _ClassVar[int]
    SHARE_MILLIS_FIELD_NUMBER: _ClassVar[int]
    FLOOR_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    PROJECTS_FIELD_NUMBER: _ClassVar[int]
    CAPS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    DATA_CLASSES_FIELD_NUMBER: _ClassVar[int]
    HOURS_FIELD_NUMBER: _ClassVar[int]
    LONGEST_RUN_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    lends: bool
    share_millis: int
    floor: Quantity
    models: _containers.RepeatedScalarFieldContainer[str]
    projects: _containers.RepeatedScalarFieldContainer[str]
    caps: _containers.RepeatedCompositeFieldContainer[ProjectCap]
    kinds: _containers.RepeatedScalarFieldContainer[str]
    data_classes: _containers.RepeatedScalarFieldContainer[str]
    hours: _containers.RepeatedCompositeFieldContainer[Hours]
    longest_run: _duration_pb2.Duration
    notice: _duration_pb2.Duration
    revision: int
    def __init__(self, lends: bool = ..., share_millis: _Optional[int] = ..., floor: _Optional[_Union[Quantity, _Mapping]] = ..., models: _Optional[_Iterable[str]] = ..., projects: _Optional[_Iterable[str]] = ..., caps: _Optional[_Iterable[_Union[ProjectCap, _Mapping]]] = ..., kinds: _Optional[_Iterable[str]] = ..., data_classes: _Optional[_Iterable[str]] = ..., hours: _Optional[_Iterable[_Union[Hours, _Mapping]]] = ..., longest_run: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., notice: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class Reclaim(_message.Message):
    __slots__ = ("name", "quantity", "deadline", "reason", "state", "create_time", "reclaim_time", "return_time", "until_time", "guests", "guests_left")
    NAME_FIELD_NUMBER: _ClassVar[int]
    QUANTITY_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    RECLAIM_TIME_FIELD_NUMBER: _ClassVar[int]
    RETURN_TIME_FIELD_NUMBER: _ClassVar[int]
    UNTIL_TIME_FIELD_NUMBER: _ClassVar[int]
    GUESTS_FIELD_NUMBER: _ClassVar[int]
    GUESTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    name: str
    quantity: Quantity
    deadline: _duration_pb2.Duration
    reason: str
    state: ReclaimState
    create_time: _timestamp_pb2.Timestamp
    reclaim_time: _timestamp_pb2.Timestamp
    return_time: _timestamp_pb2.Timestamp
    until_time: _timestamp_pb2.Timestamp
    guests: int
    guests_left: int
    def __init__(self, name: _Optional[str] = ..., quantity: _Optional[_Union[Quantity, _Mapping]] = ..., deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., reason: _Optional[str] = ..., state: _Optional[_Union[ReclaimState, str]] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reclaim_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., return_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., guests: _Optional[int] = ..., guests_left: _Optional[int] = ...) -> None: ...
