"""Dataclass <-> protobuf message, from their declarations alone.

`mapper(Model, PbMessage)` is built once per pair and cached. A fault in a message is INVALID_FIELD
with the path as people write it (`resources.cpu`, `run.files[2].size`), never the message's own
names. Knows nothing of any single area; the modules beside it name the pairs.
"""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from intertie.errors import IntertieError, invalid
from intertie.wire.generate import Read, Write, generate
from intertie.wire.matching import Match, Override, match_fields
from intertie.wire.scalars import FaultError

M = TypeVar("M")
P = TypeVar("P", bound=Message)


class Mapper(Generic[M, P]):
    """Converts between values of one dataclass and messages of one type."""

    __slots__ = ("_message", "_read", "_write", "model")

    def __init__(self, model: type[M], message: type[P], read: Read, write: Write) -> None:
        self.model = model
        self._message = message
        self._read = read
        self._write = write

    def to_pb(self, value: M) -> P:
        """The message of a value; INVALID_FIELD if a field does not fit into it."""
        message = self._message()
        self.fill(value, message)
        return message

    def fill(self, value: M, message: P) -> None:
        """Write a value into an empty message, one inside another for instance."""
        try:
            self._write(value, message)
        except FaultError as fault:
            raise _invalid(fault) from None

    def from_pb(self, message: P, field: str = "") -> M:
        """The value of a message; INVALID_FIELD with the path below `field`."""
        try:
            value: M = self._read(message)
        except FaultError as fault:
            raise _invalid(fault.under(field) if field else fault) from None
        return value


_CONVERTERS: dict[tuple[type[Any], str], tuple[Read, Write]] = {}


def mapper(model: type[M], message: type[P], overrides: Sequence[Override] = ()) -> Mapper[M, P]:
    """The mapper of a pair; asserts that the two declarations fit each other."""
    read, write = _converters(model, cast(Descriptor, message.DESCRIPTOR), overrides)
    return Mapper(model, message, read, write)


def _converters(
    model: type[Any], message: Descriptor, overrides: Sequence[Override] = ()
) -> tuple[Read, Write]:
    key = (model, message.full_name)
    if key not in _CONVERTERS:
        matches = match_fields(model, message, overrides)
        _CONVERTERS[key] = generate(model, matches, overrides, _inner)
    return _CONVERTERS[key]


def _inner(match: Match) -> tuple[Read, Write]:
    assert match.inner is not None, match.name
    assert match.descriptor.message_type is not None, match.name
    return _converters(match.inner, match.descriptor.message_type)


def _invalid(fault: FaultError) -> IntertieError:
    return invalid(fault.path or "message", fault.text)
