import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JoinPurpose(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOIN_PURPOSE_UNSPECIFIED: _ClassVar[JoinPurpose]
    JOIN_PURPOSE_REGION: _ClassVar[JoinPurpose]
    JOIN_PURPOSE_NODE: _ClassVar[JoinPurpose]
    JOIN_PURPOSE_CLIENT: _ClassVar[JoinPurpose]
    JOIN_PURPOSE_ADMIN: _ClassVar[JoinPurpose]
    JOIN_PURPOSE_BILLING: _ClassVar[JoinPurpose]

class JoinState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOIN_STATE_UNSPECIFIED: _ClassVar[JoinState]
    JOIN_STATE_REQUESTED: _ClassVar[JoinState]
    JOIN_STATE_APPROVED: _ClassVar[JoinState]
    JOIN_STATE_REJECTED: _ClassVar[JoinState]
JOIN_PURPOSE_UNSPECIFIED: JoinPurpose
JOIN_PURPOSE_REGION: JoinPurpose
JOIN_PURPOSE_NODE: JoinPurpose
JOIN_PURPOSE_CLIENT: JoinPurpose
JOIN_PURPOSE_ADMIN: JoinPurpose
JOIN_PURPOSE_BILLING: JoinPurpose
JOIN_STATE_UNSPECIFIED: JoinState
JOIN_STATE_REQUESTED: JoinState
JOIN_STATE_APPROVED: JoinState
JOIN_STATE_REJECTED: JoinState

class JoinToken(_message.Message):
    __slots__ = ("name", "purpose", "token", "subject", "expire_time", "max_uses", "uses", "pre_approved", "networks", "creator", "create_time", "revoked", "endpoints")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    MAX_USES_FIELD_NUMBER: _ClassVar[int]
    USES_FIELD_NUMBER: _ClassVar[int]
    PRE_APPROVED_FIELD_NUMBER: _ClassVar[int]
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    CREATOR_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    purpose: JoinPurpose
    token: str
    subject: str
    expire_time: _timestamp_pb2.Timestamp
    max_uses: int
    uses: int
    pre_approved: bool
    networks: _containers.RepeatedScalarFieldContainer[str]
    creator: str
    create_time: _timestamp_pb2.Timestamp
    revoked: bool
    endpoints: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., purpose: _Optional[_Union[JoinPurpose, str]] = ..., token: _Optional[str] = ..., subject: _Optional[str] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., max_uses: _Optional[int] = ..., uses: _Optional[int] = ..., pre_approved: bool = ..., networks: _Optional[_Iterable[str]] = ..., creator: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked: bool = ..., endpoints: _Optional[_Iterable[str]] = ...) -> None: ...

class Credentials(_message.Message):
    __slots__ = ("cert_pem", "chain_pem", "trust_pem", "serial", "expire_time")
    CERT_PEM_FIELD_NUMBER: _ClassVar[int]
    CHAIN_PEM_FIELD_NUMBER: _ClassVar[int]
    TRUST_PEM_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    cert_pem: bytes
    chain_pem: bytes
    trust_pem: bytes
    serial: str
    expire_time: _timestamp_pb2.Timestamp
    def __init__(self, cert_pem: _Optional[bytes] = ..., chain_pem: _Optional[bytes] = ..., trust_pem: _Optional[bytes] = ..., serial: _Optional[str] = ..., expire_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FederationAccess(_message.Message):
    __slots__ = ("trust_domain", "endpoints", "grant_keys", "witnesses", "price_version")
    TRUST_DOMAIN_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    GRANT_KEYS_FIELD_NUMBER: _ClassVar[int]
    WITNESSES_FIELD_NUMBER: _ClassVar[int]
    PRICE_VERSION_FIELD_NUMBER: _ClassVar[int]
    trust_domain: str
    endpoints: _containers.RepeatedScalarFieldContainer[str]
    grant_keys: _containers.RepeatedScalarFieldContainer[str]
    witnesses: _containers.RepeatedScalarFieldContainer[str]
    price_version: str
    def __init__(self, trust_domain: _Optional[str] = ..., endpoints: _Optional[_Iterable[str]] = ..., grant_keys: _Optional[_Iterable[str]] = ..., witnesses: _Optional[_Iterable[str]] = ..., price_version: _Optional[str] = ...) -> None: ...

class Join(_message.Message):
    __slots__ = ("name", "purpose", "state", "subject", "key_sha256", "jurisdiction", "hosts", "software", "address", "inviter", "create_time", "decide_time", "decider", "reason", "credentials", "federation")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KEY_SHA256_FIELD_NUMBER: _ClassVar[int]
    JURISDICTION_FIELD_NUMBER: _ClassVar[int]
    HOSTS_FIELD_NUMBER: _ClassVar[int]
    SOFTWARE_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    INVITER_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DECIDE_TIME_FIELD_NUMBER: _ClassVar[int]
    DECIDER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    FEDERATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    purpose: JoinPurpose
    state: JoinState
    subject: str
    key_sha256: str
    jurisdiction: str
    hosts: _containers.RepeatedScalarFieldContainer[str]
    software: str
    address: str
    inviter: str
    create_time: _timestamp_pb2.Timestamp
    decide_time: _timestamp_pb2.Timestamp
    decider: str
    reason: str
    credentials: Credentials
    federation: FederationAccess
    def __init__(self, name: _Optional[str] = ..., purpose: _Optional[_Union[JoinPurpose, str]] = ..., state: _Optional[_Union[JoinState, str]] = ..., subject: _Optional[str] = ..., key_sha256: _Optional[str] = ..., jurisdiction: _Optional[str] = ..., hosts: _Optional[_Iterable[str]] = ..., software: _Optional[str] = ..., address: _Optional[str] = ..., inviter: _Optional[str] = ..., create_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decide_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., decider: _Optional[str] = ..., reason: _Optional[str] = ..., credentials: _Optional[_Union[Credentials, _Mapping]] = ..., federation: _Optional[_Union[FederationAccess, _Mapping]] = ...) -> None: ...
