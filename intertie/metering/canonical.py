"""Canonical JSON of a record: a narrow profile of RFC 8785 (JCS).

One object; ASCII snake_case keys; values are strings (NFC, no control characters), integers within
2^53-1, booleans, flat arrays of those, or one nested object of those. No floats, no null. In this
profile the sorted, tightly packed output of Python's encoder *is* the RFC 8785 form, because keys
are ASCII (section 3.2.3) and no number needs ECMAScript's float rules (section 3.2.2.3).

Must not know what a record means; it must be fast: every verified record passes through `parse`.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, NoReturn, cast

from intertie.metering.faults import Fault, MeteringError

MAX_BYTES = 32 * 1024
MAX_INT = 2**53 - 1
"""Largest magnitude that every JSON reader keeps exact (RFC 8785, section 3.2.2.3)."""

Scalar = str | int | bool
Flat = Scalar | list[Scalar]
Value = Flat | dict[str, Flat]
Object = dict[str, Value]

_FORMATS: Mapping[type, str] = {str: '"%s"', int: "%d", bool: "%s"}

_KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def _refuse(what: str) -> MeteringError:
    return MeteringError(Fault.NON_CANONICAL, what)


def _refuse_number(text: str) -> NoReturn:
    raise _refuse(f"number {text[:40]}: only integers are allowed")


# The scanner is the C one: hooks are called only for what is refused anyway.
_SCAN = json.JSONDecoder(parse_float=_refuse_number, parse_constant=_refuse_number).raw_decode
_DUMP = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode


def encode(obj: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of an object of the profile; refuse any other object."""
    text = _fast_text(obj)
    if text is None:
        members = dict(obj)
        _check_members(members)
        _check_strings(_strings(members))
        text = _DUMP(members)
    if len(text) > MAX_BYTES or len(data := text.encode()) > MAX_BYTES:
        raise _refuse(f"more than {MAX_BYTES} bytes")
    return data


def parse(data: bytes) -> Object:
    """Return the object that these canonical bytes say; refuse every other spelling of it.

    Duplicate keys, spaces, other orders, other escapes, `-0` and leading zeros are all caught by
    the same test: encoding the result must give back the bytes received.
    """
    if len(data) > MAX_BYTES:
        raise _refuse(f"{len(data)} bytes: at most {MAX_BYTES} are allowed")
    try:
        text = data.decode()
        obj, _ = _SCAN(text)
    except (ValueError, RecursionError) as fault:
        raise _refuse(f"not UTF-8 JSON: {fault}") from None
    if type(obj) is not dict:
        raise _refuse(f"expected one object, got {type(obj).__name__}")
    if _fast_text(obj) != text:
        _check_members(obj)
        _check_strings(_strings(obj))
        if _DUMP(obj) != text:
            raise _refuse("bytes are not the canonical form of what they say")
    return cast(Object, obj)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How to write flat objects of one set of keys and types, several times faster."""

    form: str
    values: Callable[[Any], tuple[Any, ...]]
    numbers: Callable[[Any], tuple[int, ...]]
    quotes: int


def _fast_text(obj: Mapping[str, Any]) -> str | None:
    """The canonical text of a flat object whose texts need no escape and no look; else None.

    A log repeats a handful of shapes; for each, a format is kept. What this returns is what the
    encoder would write (a test holds them against each other); None only means "look closer".
    """
    shape = _shape(tuple(obj), tuple(map(type, obj.values())))
    if shape is None:
        return None
    numbers = shape.numbers(obj)
    if max(numbers) > MAX_INT or min(numbers) < -MAX_INT:
        return None
    text = shape.form % shape.values(obj)
    if text.isascii() and text.isprintable() and "\\" not in text:  # so: NFC, and no control
        return text if text.count('"') == shape.quotes else None
    return None


@lru_cache(maxsize=1024)
def _shape(keys: tuple[object, ...], kinds: tuple[type, ...]) -> _Shape | None:
    """The shape of an object of two numbers or more, of texts and of booleans."""
    assert len(keys) == len(kinds), "each member has a key and a type"
    names: list[str] = [key for key in keys if type(key) is str and _KEY.fullmatch(key)]
    kind_of = dict(zip(names, kinds, strict=False))
    numbers = [name for name in names if kind_of[name] is int]
    if len(names) < len(keys) or len(numbers) < 2 or not set(kinds) <= _FORMATS.keys():
        return None
    names.sort()
    form = ",".join(f'"{name}":{_FORMATS[kind_of[name]]}' for name in names)
    texts = sum(kind_of[name] is str for name in names)
    bools = tuple(at for at, name in enumerate(names) if kind_of[name] is bool)
    values = _with_words(names, bools) if bools else itemgetter(*names)
    return _Shape("{" + form + "}", values, itemgetter(*numbers), 2 * (len(names) + texts))


def _with_words(names: list[str], bools: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Values by name, with JSON's words for the booleans at these places."""
    get = itemgetter(*names)

    def values(obj: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a mapping, as itemgetter takes it
        found = list(get(obj))
        for at in bools:
            found[at] = "true" if found[at] else "false"
        return tuple(found)

    return values


def _check_members(obj: dict[str, Any]) -> None:
    _check_keys(tuple(obj))
    for key, value in obj.items():
        kind = type(value)
        if kind is str:
            continue
        if kind is int:
            if not -MAX_INT <= value <= MAX_INT:
                raise _refuse(f"{key}: {value} is beyond 2^53-1")
        elif kind is dict:
            _check_keys(tuple(value))
            for inner, member in value.items():
                _check_flat(f"{key}.{inner}", member)
        else:
            _check_flat(key, value)


def _check_flat(path: str, value: object) -> None:
    if type(value) is list:
        for item in value:
            _check_scalar(path, item)
    else:
        _check_scalar(path, value)


def _check_scalar(path: str, value: object) -> None:
    if type(value) is int:
        if not -MAX_INT <= value <= MAX_INT:
            raise _refuse(f"{path}: {value} is beyond 2^53-1")
    elif type(value) is not str and type(value) is not bool:
        raise _refuse(f"{path}: {type(value).__name__} is not allowed here")


@lru_cache(maxsize=1024)
def _check_keys(keys: tuple[object, ...]) -> None:
    """Check the key set once per shape; logs repeat a handful of shapes."""
    for key in keys:
        if type(key) is not str or not _KEY.fullmatch(key):
            raise _refuse(f"key {key!r}: only ASCII snake_case is allowed")


def _strings(obj: Mapping[str, Any]) -> Iterable[str]:
    for value in obj.values():
        if type(value) is str:
            yield value
        elif type(value) is list:
            yield from (item for item in value if type(item) is str)
        elif type(value) is dict:
            yield from _strings(value)


def _check_strings(strings: Iterable[str]) -> None:
    for text in strings:
        if text.isascii() and text.isprintable():
            continue
        if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
            raise _refuse(f"string {text[:40]!r}: control characters are not allowed")
        if not unicodedata.is_normalized("NFC", text):
            raise _refuse(f"string {text[:40]!r}: not in Unicode NFC")
