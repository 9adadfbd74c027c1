"""The messages of a link: one envelope with a oneof, one dataclass per member of it."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from google.protobuf.message import Message

from intertie.errors import invalid
from intertie.wire.mapping import Mapper, mapper

M = TypeVar("M")
P = TypeVar("P", bound=Message)


class OneOf(Generic[M, P]):
    """Converts between the values of a union and an envelope whose only oneof is `message`."""

    __slots__ = ("_by_field", "_by_type", "_envelope")

    def __init__(self, envelope: type[P], members: Mapping[str, type[Any]]) -> None:
        fields = envelope.DESCRIPTOR.oneofs_by_name["message"].fields
        assert {field.name for field in fields} == set(members), envelope.DESCRIPTOR.full_name
        assert len(fields) == len(envelope.DESCRIPTOR.fields), envelope.DESCRIPTOR.full_name
        self._envelope = envelope
        self._by_field: dict[str, Mapper[Any, Any]] = {
            name: mapper(model, type(getattr(envelope(), name))) for name, model in members.items()
        }
        self._by_type = {m.model: (name, m) for name, m in self._by_field.items()}

    @property
    def mappers(self) -> Mapping[str, Mapper[Any, Any]]:
        """The mapper of each member."""
        return self._by_field

    def to_pb(self, value: M) -> P:
        """The envelope of a value."""
        name, inner = self._by_type[type(value)]
        envelope = self._envelope()
        member = getattr(envelope, name)
        member.SetInParent()
        inner.fill(value, member)
        return envelope

    def from_pb(self, envelope: P) -> M:
        """The value in an envelope; INVALID_FIELD if it is empty or of a newer kind."""
        name = envelope.WhichOneof("message")
        if name is None:
            raise invalid("message", "is empty or of a kind that this version does not know")
        return cast(M, self._by_field[name].from_pb(getattr(envelope, name), name))
