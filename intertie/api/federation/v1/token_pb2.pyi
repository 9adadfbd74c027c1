from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Epoch(_message.Message):
    __slots__ = ("generation", "n")
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    generation: int
    n: int
    def __init__(self, generation: _Optional[int] = ..., n: _Optional[int] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("epoch", "sub")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    SUB_FIELD_NUMBER: _ClassVar[int]
    epoch: Epoch
    sub: int
    def __init__(self, epoch: _Optional[_Union[Epoch, _Mapping]] = ..., sub: _Optional[int] = ...) -> None: ...
