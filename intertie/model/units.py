"""How people write sizes, durations and shares, and how they are printed: exact both ways.

    512MiB  1.5GiB  2GB  1048576        bytes; a bare number is bytes
    90s  5m  1h30m  250ms  1d           milliseconds; a bare number is refused, except 0
    1  0.5  1500m                       thousandths (of a core, of a device)

A value that is no whole number of the base unit is refused, never rounded. No exponents, no signs.
"""

import difflib
import re
from collections.abc import Iterable, Mapping

from intertie.errors import IntertieError, invalid

MAX_VALUE = 2**63 - 1

SIZES: Mapping[str, int] = {
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "PiB": 1 << 50,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
}
"""Bytes of each unit of size."""

TIMES: Mapping[str, int] = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
"""Milliseconds of each unit of time, longest first."""

_NUMBER = r"[0-9]{1,19}(?:\.[0-9]{1,19})?"
_ONE = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)")
_PART = re.compile(rf"({_NUMBER})([A-Za-z]+)")
_MAX_TEXT = 64


def parse_bytes(text: str | float, field: str = "size") -> int:
    """Bytes of `512MiB` and the like."""
    number, unit = _number_and_unit(text, field, "a size such as 512MiB")
    if unit and unit not in SIZES:
        raise _unknown_unit(field, unit, SIZES)
    return _exact(number, SIZES[unit or "B"], field, "bytes")


def parse_millis(text: str | float, field: str = "duration") -> int:
    """Milliseconds of `1h30m` and the like."""
    written = _text(text, field, "a duration such as 90s")
    if written == "0":
        return 0
    parts = _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) != written:
        _number_and_unit(text, field, "a duration such as 90s")
        raise invalid(field, f"{written!r} is not a duration", remedy="Write 90s, 5m or 1h30m.")
    units = [unit for _, unit in parts]
    for unit in units:
        if unit not in TIMES:
            raise _unknown_unit(field, unit, TIMES)
    if units != [unit for unit in TIMES if unit in units]:
        raise invalid(field, f"{written!r}: units must go from long to short, each once")
    total = sum(_exact(number, TIMES[unit], field, "milliseconds") for number, unit in parts)
    return _bounded(total, field)


def parse_milli(text: str | float, field: str = "share") -> int:
    """Thousandths of `0.5`, `2` or `1500m`."""
    number, unit = _number_and_unit(text, field, "a number such as 0.5 or 1500m")
    if unit not in ("", "m"):
        raise _unknown_unit(field, unit, ("m",))
    return _exact(number, 1 if unit else 1000, field, "thousandths")


def format_bytes(size: int) -> str:
    """The shortest text that `parse_bytes` reads back as the same number."""
    assert size >= 0, size
    for unit in ("PiB", "TiB", "GiB", "MiB", "KiB"):
        if size and size % SIZES[unit] == 0:
            return f"{size // SIZES[unit]}{unit}"
    return f"{size}B"


def format_millis(ms: int) -> str:
    """The text that `parse_millis` reads back as the same number, `1h30m` for instance."""
    assert ms >= 0, ms
    parts = []
    rest = ms
    for unit, length in TIMES.items():
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def format_milli(milli: int) -> str:
    """The text that `parse_milli` reads back as the same number, `0.5` for instance."""
    assert milli >= 0, milli
    whole, rest = divmod(milli, 1000)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


def _text(value: str | float, field: str, wanted: str) -> str:
    if isinstance(value, bool):
        raise invalid(field, f"{str(value).lower()} is not {wanted}")
    text = str(value).strip()
    if len(text) > _MAX_TEXT:
        raise invalid(field, f"{text[:20]!r}... is too long for {wanted}")
    return text


def _number_and_unit(value: str | float, field: str, wanted: str) -> tuple[str, str]:
    text = _text(value, field, wanted)
    if text.startswith("-"):
        raise invalid(field, f"{text!r} is negative", remedy=f"Write {wanted}.")
    match = _ONE.fullmatch(text)
    if match is None:
        raise invalid(field, f"{text!r} is not {wanted}")
    return match[1], match[2]


def _exact(number: str, factor: int, field: str, base: str) -> int:
    whole, _, decimals = number.partition(".")
    scaled, rest = divmod(int(whole + decimals) * factor, 10 ** len(decimals))
    if rest:
        raise invalid(field, f"{number} is no whole number of {base}")
    return _bounded(scaled, field)


def _bounded(value: int, field: str) -> int:
    if value > MAX_VALUE:
        raise invalid(field, "is out of range")
    return value


def _unknown_unit(field: str, unit: str, units: Iterable[str]) -> IntertieError:
    known = list(units)
    same = [name for name in known if name.lower() == unit.lower()]
    near = same or difflib.get_close_matches(unit, known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else f"units are {', '.join(known)}"
    return invalid(field, f"there is no unit {unit[:20]!r}; {hint}")
