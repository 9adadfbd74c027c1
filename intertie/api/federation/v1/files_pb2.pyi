from intertie.api.federation.v1 import token_pb2 as _token_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StoredFile(_message.Message):
    __slots__ = ("path", "sha256", "size_bytes", "start")
    PATH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    path: str
    sha256: str
    size_bytes: int
    start: int
    def __init__(self, path: _Optional[str] = ..., sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., start: _Optional[int] = ...) -> None: ...

class CheckpointRef(_message.Message):
    __slots__ = ("step", "manifest", "size_bytes", "token", "committed_ms")
    STEP_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    step: int
    manifest: str
    size_bytes: int
    token: _token_pb2.Token
    committed_ms: int
    def __init__(self, step: _Optional[int] = ..., manifest: _Optional[str] = ..., size_bytes: _Optional[int] = ..., token: _Optional[_Union[_token_pb2.Token, _Mapping]] = ..., committed_ms: _Optional[int] = ...) -> None: ...
