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
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NoReturn, cast

from intertie.metering.faults import Fault, MeteringError

MAX_BYTES = 32 * 1024
MAX_INT = 2**53 - 1
"""Largest magnitude that every JSON reader keeps exact (RFC 8785, section 3.2.2.3)."""

Scalar = str | int | bool
Flat = Scalar | list[Scalar]
Value = Flat | dict[str, Flat]
Object = dict[str, Value]

_FORMATS: Mapping[type, str] = {str: '"%s"', int: "%d"}

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
    members = dict(obj)
    _check_members(members)
    text = _DUMP(members)
    if not _is_plain(text):
        _check_strings(_strings(members))
    data = text.encode()
    if len(data) > MAX_BYTES:
        raise _refuse(f"{len(data)} bytes: at most {MAX_BYTES} are allowed")
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
    if not _is_plain(text):
        _check_members(obj)
        _check_strings(_strings(obj))
        same = _DUMP(obj) == text
    else:
        same = _spells_plain(obj, text)
    if not same:
        raise _refuse("bytes are not the canonical form of what they say")
    return cast(Object, obj)


def _is_plain(text: str) -> bool:
    """Whether the strings in a JSON text need no look: ASCII without escapes and DEL."""
    return text.isascii() and "\\" not in text and "\x7f" not in text


def _spells_plain(obj: dict[str, Any], text: str) -> bool:
    """Check the members of an object, and whether a plain text is its canonical form.

    The hot path. A log repeats a handful of shapes (keys and types); for each, a format is kept
    that writes the canonical form of a flat object several times faster than the encoder does.
    """
    values = tuple(obj.values())
    form, numbers = _shape(tuple(obj), tuple(map(type, values)))
    if not form:
        _check_members(obj)
        return _DUMP(obj) == text
    for at in numbers:
        if not -MAX_INT <= values[at] <= MAX_INT:
            raise _refuse(f"{values[at]} is beyond 2^53-1")
    return form % values == text


@lru_cache(maxsize=1024)
def _shape(keys: tuple[str, ...], kinds: tuple[type, ...]) -> tuple[str, tuple[int, ...]]:
    """The format of a flat object of texts and numbers, and where its numbers stand; else ""."""
    if not set(kinds) <= _FORMATS.keys() or list(keys) != sorted(keys):
        return "", ()
    _check_keys(keys)
    members = (f'"{key}":{_FORMATS[kind]}' for key, kind in zip(keys, kinds, strict=True))
    numbers = tuple(at for at, kind in enumerate(kinds) if kind is int)
    return "{" + ",".join(members) + "}", numbers


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
