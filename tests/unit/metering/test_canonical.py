"""The canonical form: one spelling for each object, everything else refused."""

import contextlib
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.metering import canonical
from intertie.metering.faults import Fault, MeteringError

KEYS = st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,4}){0,2}", fullmatch=True)
TEXTS = st.one_of(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=12),
)
NUMBERS = st.integers(-canonical.MAX_INT, canonical.MAX_INT)
SCALARS = TEXTS | NUMBERS | st.booleans()
FLAT = SCALARS | st.lists(SCALARS, max_size=4)
OBJECTS = st.dictionaries(KEYS, FLAT | st.dictionaries(KEYS, FLAT, max_size=3), max_size=6)


def _is_nfc(obj: dict[str, Any]) -> bool:
    return unicodedata.is_normalized("NFC", json.dumps(obj, ensure_ascii=False))


@given(OBJECTS.filter(_is_nfc))
def test_every_object_of_the_profile_round_trips(obj: dict[str, Any]) -> None:
    data = canonical.encode(obj)
    assert canonical.parse(data) == obj
    assert canonical.encode(canonical.parse(data)) == data


@given(st.binary(max_size=80) | OBJECTS.map(lambda obj: json.dumps(obj).encode()))
def test_what_parses_is_canonical_and_nothing_else_escapes(data: bytes) -> None:
    obj = None
    with contextlib.suppress(MeteringError):  # and no other exception
        obj = canonical.parse(data)
    assert obj is None or canonical.encode(obj) == data


REFUSED = {
    "duplicate key": b'{"a":1,"a":1}',
    "duplicate key with another value": b'{"a":1,"a":2}',
    "duplicate nested key": b'{"a":{"b":1,"b":1}}',
    "space": b'{"a": 1}',
    "trailing newline": b'{"a":1}\n',
    "leading space": b' {"a":1}',
    "trailing object": b'{"a":1}{}',
    "unsorted keys": b'{"b":1,"a":1}',
    "unsorted keys with text outside ASCII": '{"b":"é","a":1}'.encode(),
    "unsorted nested keys": b'{"a":{"c":1,"b":1}}',
    "float": b'{"a":1.0}',
    "exponent": b'{"a":1e3}',
    "not a number": b'{"a":NaN}',
    "infinity": b'{"a":-Infinity}',
    "minus zero": b'{"a":-0}',
    "leading zero": b'{"a":01}',
    "plus": b'{"a":+1}',
    "null": b'{"a":null}',
    "nested null": b'{"a":{"b":null}}',
    "null in a list": b'{"a":[null]}',
    "2^53": b'{"a":9007199254740992}',
    "-2^53": b'{"a":-9007199254740992}',
    "2^53 in a list": b'{"a":[9007199254740992]}',
    "2^53 beside text": '{"a":9007199254740992,"b":"é"}'.encode(),
    "5,000 digits": b'{"a":' + b"9" * 5000 + b"}",
    "list of lists": b'{"a":[[1]]}',
    "object in a list": b'{"a":[{}]}',
    "two levels": b'{"a":{"b":{"c":1}}}',
    "deep": b'{"a":' + b"[" * 30_000,
    "list": b"[]",
    "string": b'"a"',
    "nothing": b"",
    "not UTF-8": b'{"a":"\xff"}',
    "byte order mark": b'\xef\xbb\xbf{"a":1}',
    "escape of a plain letter": b'{"a":"\\u0041"}',
    "escaped slash": b'{"a":"\\/"}',
    "control character": b'{"a":"\\n"}',
    "raw control character": b'{"a":"\n"}',
    "DEL": b'{"a":"\x7f"}',
    "C1 control": b'{"a":"\xc2\x85"}',
    "control in a list": b'{"a":["\\u0001"]}',
    "control in a nested object": b'{"a":{"b":["\\u0001"]}}',
    "lone surrogate": b'{"a":"\\ud800"}',
    "not NFC": '{"a":"e\u0301"}'.encode(),
    "upper case key": b'{"A":1}',
    "dotted key": b'{"a.b":1}',
    "empty key": b'{"":1}',
    "key with a dash": b'{"a-b":1}',
    "key with two underscores": b'{"a__b":1}',
    "key outside ASCII": '{"é":1}'.encode(),
    "bad nested key": b'{"a":{"B":1}}',
    "too long": b'{"a":"' + b"x" * canonical.MAX_BYTES + b'"}',
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED.keys())
def test_other_spellings_are_refused(data: bytes) -> None:
    with pytest.raises(MeteringError) as caught:
        canonical.parse(data)
    assert caught.value.fault is Fault.NON_CANONICAL


@pytest.mark.parametrize(
    "obj",
    [
        {"a": 1.5},
        {"a": None},
        {"a": 2**53},
        {"a": ["x", 2**53]},
        {"a": b"x"},
        {"A": 1},
        {1: 1},
        {"a": {"b": {}}},
        {"a": "\x00"},
        {"a": "\x7f"},
        {"a": "e\u0301"},
        {"a": "\ud800"},
        {"a": "x" * canonical.MAX_BYTES},
    ],
    ids=str,
)
def test_objects_outside_the_profile_are_not_encoded(obj: dict[str, Any]) -> None:
    with pytest.raises(MeteringError) as caught:
        canonical.encode(obj)
    assert caught.value.fault is Fault.NON_CANONICAL


def test_quotes_and_backslashes_are_escaped_as_rfc_8785_asks() -> None:
    data = canonical.encode({"a": 'say "no" \\ /', "b": "\u2028é€😀"})
    assert data == '{"a":"say \\"no\\" \\\\ /","b":"\u2028é€😀"}'.encode()
    assert canonical.parse(data) == {"a": 'say "no" \\ /', "b": "\u2028é€😀"}


@given(
    st.dictionaries(
        st.sampled_from([f"k{n}" for n in range(8)]),
        st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.sampled_from(["a", "true", "%d"]),
        min_size=2,
    )
)
def test_flat_objects_with_booleans_are_written_as_the_encoder_writes_them(
    obj: dict[str, Any],
) -> None:
    written = canonical.encode(obj)
    assert written == json.dumps(obj, sort_keys=True, separators=(",", ":")).encode()
    assert canonical.parse(written) == obj
    assert {k: type(v) for k, v in canonical.parse(written).items()} == {
        k: type(v) for k, v in obj.items()
    }


def test_a_percent_sign_is_nothing_special() -> None:
    data = b'{"a":"100%d %s %%","b":7}'
    assert canonical.parse(data) == {"a": "100%d %s %%", "b": 7}
    assert canonical.encode(canonical.parse(data)) == data
