from intertie.api.federation.v1 import link_pb2 as _link_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AttachRequest(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_link_pb2.RegionMessage]
    def __init__(self, messages: _Optional[_Iterable[_Union[_link_pb2.RegionMessage, _Mapping]]] = ...) -> None: ...

class AttachResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_link_pb2.FederationMessage]
    def __init__(self, messages: _Optional[_Iterable[_Union[_link_pb2.FederationMessage, _Mapping]]] = ...) -> None: ...
