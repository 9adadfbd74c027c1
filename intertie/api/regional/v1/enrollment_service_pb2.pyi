import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from intertie.api.federation.v1 import join_pb2 as _join_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateNodeTokenRequest(_message.Message):
    __slots__ = ("max_uses", "networks", "ttl", "node", "request_id")
    MAX_USES_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    max_uses: int
    networks: _containers.RepeatedScalarFieldContainer[str]
    ttl: _duration_pb2.Duration
    node: str
    request_id: str
    def __init__(self, max_uses: _Optional[int] = ..., networks: _Optional[_Iterable[str]] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., node: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ListNodeTokensRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListNodeTokensResponse(_message.Message):
    __slots__ = ("tokens", "next_page_token")
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tokens: _containers.RepeatedCompositeFieldContainer[_join_pb2.JoinToken]
    next_page_token: str
    def __init__(self, tokens: _Optional[_Iterable[_Union[_join_pb2.JoinToken, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RevokeNodeTokenRequest(_message.Message):
    __slots__ = ("name", "reason", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class EnrollRequest(_message.Message):
    __slots__ = ("token", "node", "csr_pem", "software", "protocol_min", "protocol_max", "validate_only")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    CSR_PEM_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MAX_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    token: str
    node: str
    csr_pem: bytes
    software: str
    protocol_min: int
    protocol_max: int
    validate_only: bool
    def __init__(self, token: _Optional[str] = ..., node: _Optional[str] = ..., csr_pem: _Optional[bytes] = ..., software: _Optional[str] = ..., protocol_min: _Optional[int] = ..., protocol_max: _Optional[int] = ..., validate_only: bool = ...) -> None: ...

class Enrollment(_message.Message):
    __slots__ = ("subject", "credentials", "region", "trust_domain", "jurisdiction", "endpoints")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    TRUST_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    subject: str
    credentials: _join_pb2.Credentials
    region: str
    trust_domain: str
    jurisdiction: str
    endpoints: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, subject: _Optional[str] = ..., credentials: _Optional[_Union[_join_pb2.Credentials, _Mapping]] = ..., region: _Optional[str] = ..., trust_domain: _Optional[str] = ..., jurisdiction: _Optional[str] = ..., endpoints: _Optional[_Iterable[str]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("csr_pem",)
    CSR_PEM_FIELD_NUMBER: _ClassVar[int]
    csr_pem: bytes
    def __init__(self, csr_pem: _Optional[bytes] = ...) -> None: ...
