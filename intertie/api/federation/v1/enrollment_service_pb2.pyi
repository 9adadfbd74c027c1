import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from intertie.api.federation.v1 import join_pb2 as _join_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CreateJoinTokenRequest(_message.Message):
    __slots__ = ("purpose", "region", "project", "member", "ttl", "pre_approved", "request_id")
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    PRE_APPROVED_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    purpose: _join_pb2.JoinPurpose
    region: str
    project: str
    member: str
    ttl: _duration_pb2.Duration
    pre_approved: bool
    request_id: str
    def __init__(self, purpose: _Optional[_Union[_join_pb2.JoinPurpose, str]] = ..., region: _Optional[str] = ..., project: _Optional[str] = ..., member: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., pre_approved: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class RequestJoinRequest(_message.Message):
    __slots__ = ("token", "csr_pem", "jurisdiction", "hosts", "software", "protocol_min", "protocol_max", "validate_only", "log_key_proof")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CSR_PEM_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MIN_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_MAX_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    LOG_KEY_PROOF_FIELD_NUMBER: _ClassVar[int]
    token: str
    csr_pem: bytes
    jurisdiction: str
    hosts: _containers.RepeatedScalarFieldContainer[str]
    software: str
    protocol_min: int
    protocol_max: int
    validate_only: bool
    log_key_proof: LogKeyProof
    def __init__(self, token: _Optional[str] = ..., csr_pem: _Optional[bytes] = ..., jurisdiction: _Optional[str] = ..., hosts: _Optional[_Iterable[str]] = ..., software: _Optional[str] = ..., protocol_min: _Optional[int] = ..., protocol_max: _Optional[int] = ..., validate_only: bool = ..., log_key_proof: _Optional[_Union[LogKeyProof, _Mapping]] = ...) -> None: ...

class LogKeyProof(_message.Message):
    __slots__ = ("region", "signed_ms", "signature")
    REGION_FIELD_NUMBER: _ClassVar[int]
    SIGNED_MS_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    region: str
    signed_ms: int
    signature: bytes
    def __init__(self, region: _Optional[str] = ..., signed_ms: _Optional[int] = ..., signature: _Optional[bytes] = ...) -> None: ...

class GetJoinRequest(_message.Message):
    __slots__ = ("name", "token")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    name: str
    token: str
    def __init__(self, name: _Optional[str] = ..., token: _Optional[str] = ...) -> None: ...

class RenewCertificateRequest(_message.Message):
    __slots__ = ("csr_pem",)
    CSR_PEM_FIELD_NUMBER: _ClassVar[int]
    csr_pem: bytes
    def __init__(self, csr_pem: _Optional[bytes] = ...) -> None: ...

class RevokeIdentityRequest(_message.Message):
    __slots__ = ("subject", "serial", "reason", "request_id")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    subject: str
    serial: str
    reason: str
    request_id: str
    def __init__(self, subject: _Optional[str] = ..., serial: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class Ban(_message.Message):
    __slots__ = ("subject", "serial", "reason", "banner", "create_time")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BANNER_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    subject: str
    serial: str
    reason: str
    banner: str
    create_time: _timestamp_pb2.Timestamp
    def __init__(self, subject: _Optional[str] = ..., serial: _Optional[str] = ..., reason: _Optional[str] = ..., banner: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class IssuedIdentity(_message.Message):
    __slots__ = ("subject", "key_sha256", "serial", "issue_time", "expire_time", "banned")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KEY_SHA256_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    ISSUE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    BANNED_FIELD_NUMBER: _ClassVar[int]
    subject: str
    key_sha256: str
    serial: str
    issue_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    banned: bool
    def __init__(self, subject: _Optional[str] = ..., key_sha256: _Optional[str] = ..., serial: _Optional[str] = ..., issue_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., banned: bool = ...) -> None: ...

class ListIdentitiesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListIdentitiesResponse(_message.Message):
    __slots__ = ("identities", "next_page_token")
    IDENTITIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    identities: _containers.RepeatedCompositeFieldContainer[IssuedIdentity]
    next_page_token: str
    def __init__(self, identities: _Optional[_Iterable[_Union[IssuedIdentity, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WhoAmIRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WhoAmIResponse(_message.Message):
    __slots__ = ("subject", "role", "project", "region", "serial", "expire_time")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PROJECT_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    subject: str
    role: str
    project: str
    region: str
    serial: str
    expire_time: _timestamp_pb2.Timestamp
    def __init__(self, subject: _Optional[str] = ..., role: _Optional[str] = ..., project: _Optional[str] = ..., region: _Optional[str] = ..., serial: _Optional[str] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
