"""Bodies round-trip, tolerate other versions, and refuse damage."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.store.codec import decoder, encode


class _State(StrEnum):
    ON = "ON"
    OFF = "OFF"


class _Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    name: str
    state: _State = _State.ON
    level: _Level = _Level.LOW
    count: int = 7
    ratio: float = 0.5
    flag: bool = False
    body: bytes = b""
    maybe: int | None = None
    part: _Part | None = None
    parts: tuple[_Part, ...] = ()
    pair: tuple[str, int] = ("", 0)
    tags: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[_State, tuple[_Level, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Older:
    name: str


_INTS = st.integers(-(2**63), 2**63 - 1)
_PARTS = st.builds(_Part, name=st.text(), weight=_INTS)
_STATES = st.sampled_from(_State)
_WHOLES = st.builds(
    _Whole,
    name=st.text(),
    state=_STATES,
    level=st.sampled_from(_Level),
    count=_INTS,
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    flag=st.booleans(),
    body=st.binary(),
    maybe=st.none() | _INTS,
    part=st.none() | _PARTS,
    parts=st.lists(_PARTS, max_size=3).map(tuple),
    pair=st.tuples(st.text(), _INTS),
    tags=st.frozensets(st.text(), max_size=4),
    labels=st.dictionaries(st.text(), st.text(), max_size=4),
    levels=st.dictionaries(_STATES, st.lists(st.sampled_from(_Level), max_size=2).map(tuple)),
)
_read = decoder(_Whole)


@given(value=_WHOLES)
def test_what_is_encoded_is_decoded_the_same(value: _Whole) -> None:
    assert _read(encode(value)) == value


@given(tags=st.lists(st.text(), unique=True))
def test_equal_values_have_equal_bytes(tags: list[str]) -> None:
    forward = _Whole(name="", tags=frozenset(tags), labels=dict.fromkeys(tags, ""))
    backward = _Whole(
        name="", tags=frozenset(reversed(tags)), labels=dict.fromkeys(reversed(tags), "")
    )
    assert encode(forward) == encode(backward)


def test_enums_are_stored_by_value() -> None:
    assert b'"state":"OFF"' in encode(_Whole(name="", state=_State.OFF))


def test_fields_that_the_writer_did_not_know_take_their_defaults() -> None:
    assert _read(encode(_Older("x"))) == _Whole(name="x")


def test_fields_that_the_reader_does_not_know_are_ignored() -> None:
    assert decoder(_Older)(encode(_Whole(name="x", count=3))) == _Older("x")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"name":1}', b'{"name":"x","state":"BROKEN"}', b"\xff"],
)
def test_a_damaged_body_names_the_type(body: bytes) -> None:
    with pytest.raises(IntertieError) as caught:
        _read(body)
    assert caught.value.reason is Reason.INTERNAL
    assert "_Whole" in caught.value.message
