import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Policy(_message.Message):
    __slots__ = ("name", "revision", "sha256", "body", "etag", "create_time", "creator", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    revision: int
    sha256: str
    body: bytes
    etag: str
    create_time: _timestamp_pb2.Timestamp
    creator: str
    reason: str
    def __init__(self, name: _Optional[str] = ..., revision: _Optional[int] = ..., sha256: _Optional[str] = ..., body: _Optional[bytes] = ..., etag: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., creator: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class SetPolicyRequest(_message.Message):
    __slots__ = ("body", "etag", "reason", "request_id", "validate_only")
    BODY_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    body: bytes
    etag: str
    reason: str
    request_id: str
    validate_only: bool
    def __init__(self, body: _Optional[bytes] = ..., etag: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., validate_only: bool = ...) -> None: ...

class ListPolicyVersionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPolicyVersionsResponse(_message.Message):
    __slots__ = ("policies", "next_page_token")
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    policies: _containers.RepeatedCompositeFieldContainer[Policy]
    next_page_token: str
    def __init__(self, policies: _Optional[_Iterable[_Union[Policy, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RehearsePolicyRequest(_message.Message):
    __slots__ = ("body", "limit")
    BODY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    body: bytes
    limit: int
    def __init__(self, body: _Optional[bytes] = ..., limit: _Optional[int] = ...) -> None: ...

class RehearsePolicyResponse(_message.Message):
    __slots__ = ("changes", "tasks", "total")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[PolicyChange]
    tasks: int
    total: int
    def __init__(self, changes: _Optional[_Iterable[_Union[PolicyChange, _Mapping]]] = ..., tasks: _Optional[int] = ..., total: _Optional[int] = ...) -> None: ...

class PolicyChange(_message.Message):
    __slots__ = ("task", "region", "assigned", "allowed_now", "allowed_then", "rule", "reason")
    TASK_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_NOW_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_THEN_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    task: str
    region: str
    assigned: bool
    allowed_now: bool
    allowed_then: bool
    rule: str
    reason: str
    def __init__(self, task: _Optional[str] = ..., region: _Optional[str] = ..., assigned: bool = ..., allowed_now: bool = ..., allowed_then: bool = ..., rule: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
