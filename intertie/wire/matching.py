"""Which field of a dataclass is which field of a protobuf message, and of what sort it is.

One reading of type hints and descriptors, done once per pair when a mapper is built. Every field of
the dataclass must have its field in the message and the other way round, with types that fit;
anything else is our own bug and fails the build of the mapper. Converts no value;
`intertie.wire.generate` writes the code that does.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from intertie.model import spec as spec_model


class Sort(StrEnum):
    """How one field is converted."""

    SCALAR = "scalar"
    ENUM = "enum"
    MESSAGE = "message"
    DURATION = "duration"
    TIMESTAMP = "timestamp"
    SCALARS = "scalars"
    MESSAGES = "messages"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class Override:
    """Fields that are not alike: some of the model's, made of one field of the message.

    `read` gives the values of `fields`, in order; it raises `ValueError` with a text for people.
    """

    fields: tuple[str, ...]
    pb: str
    read: Callable[[Any], tuple[Any, ...]]
    write: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Match:
    """One field on both sides. `inner` is the dataclass or the enum inside, if there is one.

    `fallback` is what an unset field of the message means, MISSING if it must be set.
    """

    name: str
    pb: str
    sort: Sort
    descriptor: FieldDescriptor
    optional: bool
    fallback: Any
    inner: type[Any] | None = None


_ALIASES: Mapping[str, str] = {
    "size": "size_bytes",
    "memory": "memory_bytes",
    "disk": "disk_bytes",
    "shm": "shm_bytes",
    "cpu": "cpu_millis",
    "fraction": "fraction_millis",
    "currency": "currency_code",
    "memory_peak": "memory_peak_bytes",
    "device_memory": "device_memory_bytes",
    "max_cpu": "max_cpu_millis",
    "free_cpu": "free_cpu_millis",
    "max_memory": "max_memory_bytes",
    "free_memory": "free_memory_bytes",
    "max_disk": "max_disk_bytes",
    "free_disk": "free_disk_bytes",
    "created_ms": "create_time",
    "updated_ms": "update_time",
    "assigned_ms": "assign_time",
    "started_ms": "start_time",
    "ended_ms": "end_time",
    "committed_ms": "commit_time",
    "since_ms": "since_time",
    "next_ms": "next_time",
    "at_ms": "event_time",
    "seen_ms": "seen_time",
    "queued_ms": "queue_time",
    "expires_ms": "expire_time",
    "issued_ms": "issue_time",
    "decided_ms": "decide_time",
    "reclaimed_ms": "reclaim_time",
    "returned_ms": "return_time",
    "until_ms": "until_time",
    "share": "share_millis",
    "left_cpu": "left_cpu_millis",
    "left_memory": "left_memory_bytes",
}
"""Names in messages where they differ: units are spoken out there, instants end in `_time`."""

MESSAGE_NAMES: Mapping[str, str] = {
    "Bytes": "ByteChunk",
    "AgentBytes": "AgentByteChunk",
    "When": "VariantCondition",
    "PolicyVersion": "Policy",
    "WhoAmI": "WhoAmIResponse",
}
"""Names of messages where they differ from the dataclass."""

_DURATION, _TIMESTAMP = "google.protobuf.Duration", "google.protobuf.Timestamp"
_F = FieldDescriptor
_SCALARS: Mapping[type, frozenset[int]] = {
    str: frozenset({_F.TYPE_STRING}),
    bytes: frozenset({_F.TYPE_BYTES}),
    bool: frozenset({_F.TYPE_BOOL}),
    int: frozenset({_F.TYPE_INT32, _F.TYPE_INT64}),
    float: frozenset({_F.TYPE_DOUBLE}),
}


def match_fields(
    model: type[Any], message: Descriptor, overrides: Sequence[Override] = ()
) -> tuple[Match, ...]:
    """Pair the fields of a dataclass with those of a message; asserts that nothing is left over."""
    expected = MESSAGE_NAMES.get(model.__name__, model.__name__)
    assert message.name == expected, f"{model.__name__} is paired with {message.full_name}"
    hints = get_type_hints(model)
    taken = {name for override in overrides for name in override.fields}
    matches = tuple(
        _match(model, field, hints[field.name], message)
        for field in dataclasses.fields(model)
        if field.name not in taken
    )
    found = {match.pb for match in matches} | {override.pb for override in overrides}
    left = set(message.fields_by_name) - found
    assert not left, f"{message.full_name} has {sorted(left)}, {model.__name__} has not"
    return matches


def unset_is_default(model: type[Any]) -> bool:
    """Whether a zero in a message means the default of the dataclass.

    It does in a spec, which people write by hand in any language; in all other messages both sides
    are ours and a zero is a zero.
    """
    return model.__module__ == spec_model.__name__


def pb_name(name: str, message: Descriptor) -> str:
    """The field of the message that belongs to a field of the model."""
    candidates = (name, _ALIASES.get(name, ""), name.removesuffix("_ms"))
    for candidate in candidates:
        if candidate in message.fields_by_name:
            return candidate
    raise AssertionError(f"{message.full_name} has none of {candidates}")


def enum_numbers(enum: type[StrEnum], descriptor: EnumDescriptor) -> Mapping[StrEnum, int]:
    """The number of each member; asserts that both sides have the same members."""
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    numbers = {member: descriptor.values_by_name[prefix + member.name].number for member in enum}
    assert len(numbers) + 1 == len(descriptor.values), f"{enum.__name__}, {descriptor.full_name}"
    return numbers


def _match(
    model: type[Any], field: "dataclasses.Field[Any]", hint: object, message: Descriptor
) -> Match:
    name = pb_name(field.name, message)
    descriptor = message.fields_by_name[name]
    hint, optional = _without_none(hint)
    sort, inner = _sort(hint, descriptor)
    where = f"{model.__name__}.{field.name}"
    if optional and sort is Sort.SCALAR:
        assert descriptor.has_presence, f"{where}: `optional` is missing in the message"
    fallback = _fallback(field)
    if sort is Sort.SCALAR and unset_is_default(model):
        assert fallback is not True, f"{where}: a message could not say false"
    return Match(field.name, name, sort, descriptor, optional, fallback, inner)


def _fallback(field: "dataclasses.Field[Any]") -> object:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING


def _without_none(hint: object) -> tuple[object, bool]:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    inner = [part for part in get_args(hint) if part is not type(None)]
    assert len(inner) == 1, f"{hint} is not one type or None"
    return inner[0], True


def _sort(hint: object, descriptor: FieldDescriptor) -> tuple[Sort, type[Any] | None]:
    origin = get_origin(hint)
    if origin is Mapping:
        entry = descriptor.message_type.fields_by_name
        _assert_scalar(get_args(hint)[0], entry["key"])
        _assert_scalar(get_args(hint)[1], entry["value"])
        return Sort.MAP, None
    assert descriptor.is_repeated == (origin is tuple), descriptor.full_name
    if origin is tuple:
        item = get_args(hint)[0]
        if dataclasses.is_dataclass(item):
            assert isinstance(item, type), item
            assert descriptor.message_type is not None, descriptor.full_name
            return Sort.MESSAGES, item
        _assert_scalar(item, descriptor)
        return Sort.SCALARS, None
    if descriptor.message_type is not None:
        return _message_sort(hint, descriptor)
    if descriptor.enum_type is not None:
        assert isinstance(hint, type), descriptor.full_name
        assert issubclass(hint, StrEnum), descriptor.full_name
        return Sort.ENUM, hint
    _assert_scalar(hint, descriptor)
    return Sort.SCALAR, None


def _message_sort(hint: object, descriptor: FieldDescriptor) -> tuple[Sort, type[Any] | None]:
    known = {_DURATION: Sort.DURATION, _TIMESTAMP: Sort.TIMESTAMP}
    sort = known.get(descriptor.message_type.full_name)
    if sort is not None:
        assert hint is int, descriptor.full_name
        return sort, None
    assert isinstance(hint, type), descriptor.full_name
    assert dataclasses.is_dataclass(hint), descriptor.full_name
    return Sort.MESSAGE, hint


def _assert_scalar(hint: object, descriptor: FieldDescriptor) -> None:
    assert isinstance(hint, type), descriptor.full_name
    assert descriptor.type in _SCALARS[hint], f"{descriptor.full_name} is no {hint}"
