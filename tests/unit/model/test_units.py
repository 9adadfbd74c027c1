"""Sizes, durations and shares as people write them."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CallerError
from intertie.model.units import (
    MAX_VALUE,
    format_bytes,
    format_milli,
    format_millis,
    parse_bytes,
    parse_milli,
    parse_millis,
)

COUNTS = st.integers(0, 2**62)
PARSERS = [parse_bytes, parse_millis, parse_milli]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MiB", 512 << 20),
        ("1.5GiB", 3 << 29),
        ("2GB", 2_000_000_000),
        ("3kB", 3000),
        ("0.5KiB", 512),
        ("7 B", 7),
        ("1PiB", 1 << 50),
        (1048576, 1048576),
        ("1048576", 1048576),
        (0, 0),
    ],
)
def test_a_size_is_read_exactly(text: str | int, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("90s", 90_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("250ms", 250),
        ("1d", 86_400_000),
        ("1.5h", 5_400_000),
        ("1m0.25s", 60_250),
        ("0", 0),
        (0, 0),
    ],
)
def test_a_duration_is_read_exactly(text: str | int, ms: int) -> None:
    assert parse_millis(text) == ms


@pytest.mark.parametrize(
    ("text", "milli"), [("1", 1000), (2, 2000), ("0.5", 500), (0.5, 500), ("1500m", 1500)]
)
def test_a_share_is_read_exactly(text: str | float, milli: int) -> None:
    assert parse_milli(text) == milli


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "-5m",
        "nan",
        ".nan",
        "inf",
        "1e3",
        "+1",
        "1,5",
        "0x10",
        "MiB",
        "1 2",
        "½",
        "\u0661",
        "1" * 65,
    ],
)
def test_what_is_no_plain_number_is_refused(parse: Callable[..., int], text: str) -> None:
    with pytest.raises(CallerError):
        parse(text)


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("value", [True, -1, float("nan"), float("inf")])
def test_what_only_looks_like_a_number_to_python_is_refused(
    parse: Callable[..., int], value: float
) -> None:
    with pytest.raises(CallerError):
        parse(value)


@pytest.mark.parametrize(
    ("parse", "text", "hint"),
    [
        (parse_bytes, "512Mib", "did you mean MiB?"),
        (parse_bytes, "512mb", "did you mean MB?"),
        (parse_bytes, "5Gi", "did you mean"),
        (parse_bytes, "5Q", "units are B, KiB"),
        (parse_millis, "5S", "did you mean s?"),
        (parse_millis, "5min", "did you mean m"),
        (parse_milli, "2cores", "no unit 'cores'"),
    ],
)
def test_an_unknown_unit_names_the_nearest(parse: Callable[..., int], text: str, hint: str) -> None:
    with pytest.raises(CallerError) as caught:
        parse(text, "resources.x")
    assert hint in caught.value.message
    assert caught.value.fields[0].field == "resources.x"


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bytes, "0.3B"),
        (parse_bytes, "0.1KiB"),
        (parse_millis, "0.5ms"),
        (parse_milli, "0.0001"),
    ],
)
def test_what_is_no_whole_number_of_the_base_unit_is_never_rounded(
    parse: Callable[..., int], text: str
) -> None:
    with pytest.raises(CallerError, match="no whole number of"):
        parse(text)


@pytest.mark.parametrize("text", ["30m1h", "1s1s", "1s5", "5m 1s"])
def test_the_parts_of_a_duration_go_from_long_to_short_each_once(text: str) -> None:
    with pytest.raises(CallerError):
        parse_millis(text)


def test_a_bare_number_is_no_duration() -> None:
    with pytest.raises(CallerError, match="90"):
        parse_millis(90)


@pytest.mark.parametrize(
    ("parse", "text"), [(parse_bytes, "9999999PiB"), (parse_millis, "99999999999999d")]
)
def test_a_value_beyond_64_bits_is_refused(parse: Callable[..., int], text: str) -> None:
    with pytest.raises(CallerError, match="out of range"):
        parse(text)
    assert MAX_VALUE == 2**63 - 1


@given(COUNTS)
def test_a_printed_size_reads_back_as_the_same_number(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


@given(COUNTS)
def test_a_printed_duration_reads_back_as_the_same_number(ms: int) -> None:
    assert parse_millis(format_millis(ms)) == ms


@given(COUNTS)
def test_a_printed_share_reads_back_as_the_same_number(milli: int) -> None:
    assert parse_milli(format_milli(milli)) == milli


def test_numbers_are_printed_as_people_write_them() -> None:
    assert format_bytes(3 << 29) == "1536MiB"
    assert format_millis(5_400_000) == "1h30m"
    assert format_milli(1500) == "1.5"


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    for parse in PARSERS:
        with suppress(CallerError):
            assert 0 <= parse(text) <= MAX_VALUE
