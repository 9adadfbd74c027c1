from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PullEntriesRequest(_message.Message):
    __slots__ = ("origin", "start", "end")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    origin: str
    start: int
    end: int
    def __init__(self, origin: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class PullEntriesResponse(_message.Message):
    __slots__ = ("origin", "start", "entries", "hashes")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    HASHES_FIELD_NUMBER: _ClassVar[int]
    origin: str
    start: int
    entries: _containers.RepeatedScalarFieldContainer[bytes]
    hashes: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, origin: _Optional[str] = ..., start: _Optional[int] = ..., entries: _Optional[_Iterable[bytes]] = ..., hashes: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetLogCheckpointRequest(_message.Message):
    __slots__ = ("origin",)
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    origin: str
    def __init__(self, origin: _Optional[str] = ...) -> None: ...

class GetLogCheckpointResponse(_message.Message):
    __slots__ = ("notes",)
    NOTES_FIELD_NUMBER: _ClassVar[int]
    notes: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, notes: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetReceiptRequest(_message.Message):
    __slots__ = ("origin", "seq")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    origin: str
    seq: int
    def __init__(self, origin: _Optional[str] = ..., seq: _Optional[int] = ...) -> None: ...

class GetReceiptResponse(_message.Message):
    __slots__ = ("receipt",)
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    receipt: bytes
    def __init__(self, receipt: _Optional[bytes] = ...) -> None: ...

class GetWitnessedRequest(_message.Message):
    __slots__ = ("origin",)
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    origin: str
    def __init__(self, origin: _Optional[str] = ...) -> None: ...

class GetWitnessedResponse(_message.Message):
    __slots__ = ("note", "mirrored_size")
    NOTE_FIELD_NUMBER: _ClassVar[int]
    MIRRORED_SIZE_FIELD_NUMBER: _ClassVar[int]
    note: bytes
    mirrored_size: int
    def __init__(self, note: _Optional[bytes] = ..., mirrored_size: _Optional[int] = ...) -> None: ...

class AddLogCheckpointRequest(_message.Message):
    __slots__ = ("body",)
    BODY_FIELD_NUMBER: _ClassVar[int]
    body: bytes
    def __init__(self, body: _Optional[bytes] = ...) -> None: ...

class AddLogCheckpointResponse(_message.Message):
    __slots__ = ("status", "content_type", "body")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    status: int
    content_type: str
    body: bytes
    def __init__(self, status: _Optional[int] = ..., content_type: _Optional[str] = ..., body: _Optional[bytes] = ...) -> None: ...

class PushEntriesRequest(_message.Message):
    __slots__ = ("origin", "start", "entries")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    origin: str
    start: int
    entries: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, origin: _Optional[str] = ..., start: _Optional[int] = ..., entries: _Optional[_Iterable[bytes]] = ...) -> None: ...

class PushEntriesResponse(_message.Message):
    __slots__ = ("mirrored_size",)
    MIRRORED_SIZE_FIELD_NUMBER: _ClassVar[int]
    mirrored_size: int
    def __init__(self, mirrored_size: _Optional[int] = ...) -> None: ...

class GetTrustFileRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetTrustFileResponse(_message.Message):
    __slots__ = ("trust", "grant_keys")
    TRUST_FIELD_NUMBER: _ClassVar[int]
    GRANT_KEYS_FIELD_NUMBER: _ClassVar[int]
    trust: bytes
    grant_keys: bytes
    def __init__(self, trust: _Optional[bytes] = ..., grant_keys: _Optional[bytes] = ...) -> None: ...

class GetGrantsRequest(_message.Message):
    __slots__ = ("sha256",)
    SHA256_FIELD_NUMBER: _ClassVar[int]
    sha256: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sha256: _Optional[_Iterable[str]] = ...) -> None: ...

class GetGrantsResponse(_message.Message):
    __slots__ = ("grants",)
    GRANTS_FIELD_NUMBER: _ClassVar[int]
    grants: _containers.RepeatedCompositeFieldContainer[SignedGrant]
    def __init__(self, grants: _Optional[_Iterable[_Union[SignedGrant, _Mapping]]] = ...) -> None: ...

class SignedGrant(_message.Message):
    __slots__ = ("grant", "index", "proof", "envelope")
    GRANT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    grant: bytes
    index: int
    proof: _containers.RepeatedScalarFieldContainer[bytes]
    envelope: bytes
    def __init__(self, grant: _Optional[bytes] = ..., index: _Optional[int] = ..., proof: _Optional[_Iterable[bytes]] = ..., envelope: _Optional[bytes] = ...) -> None: ...

class GetStatementRequest(_message.Message):
    __slots__ = ("payer", "start_ms", "end_ms")
    PAYER_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    END_MS_FIELD_NUMBER: _ClassVar[int]
    payer: str
    start_ms: int
    end_ms: int
    def __init__(self, payer: _Optional[str] = ..., start_ms: _Optional[int] = ..., end_ms: _Optional[int] = ...) -> None: ...

class GetStatementResponse(_message.Message):
    __slots__ = ("statement", "envelope")
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    statement: bytes
    envelope: bytes
    def __init__(self, statement: _Optional[bytes] = ..., envelope: _Optional[bytes] = ...) -> None: ...
