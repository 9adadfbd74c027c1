"""Reads the records of a log fast: one regular expression for each shape that repeats.

Nearly all leaves of a log are usage records of a few shapes. From the first of a shape a pattern is
made that accepts only canonical bytes of records of the schema with exactly these keys, with texts
in plain ASCII; a leaf that it matches needs no JSON parser. All others go through
`records.parse_record`, which alone says what a record is and what is wrong with one. A test holds
the two against each other.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from intertie.metering import schema
from intertie.metering.records import parse_record

MAX_SHAPES = 4

_COUNT = r"(0|[1-9][0-9]{0,14})"  # less than 2^53 for sure
_PLAIN = r'"([ !#-\[\]-~]{1,512})"'  # printable ASCII but for quote and backslash


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    counts: tuple[str, ...]


class RecordReader:
    """Reads leaves one after the other; remembers the shapes it met last."""

    def __init__(self) -> None:
        self._forms: list[_Form] = []

    def read(self, leaf: bytes) -> dict[str, Any]:
        """Return the record that a leaf is.

        Raises:
            MeteringError: non_canonical.
        """
        text = leaf.decode("latin-1")  # never fails; what is not ASCII is never matched
        for form in self._forms:
            match = form.pattern.fullmatch(text)
            if match is not None:
                record: dict[str, Any] = dict(zip(form.names, match.groups(), strict=True))
                for name in form.counts:
                    record[name] = int(record[name])
                schema.check_usage_rid(record)
                return record
        record = parse_record(leaf)
        if record["kind"] == "usage":
            self._forms = [_form(tuple(record)), *self._forms][:MAX_SHAPES]
        return record


@lru_cache(maxsize=256)
def _form(names: tuple[str, ...]) -> _Form:
    """The form of usage records with these keys, in canonical order."""
    assert list(names) == sorted(names), "canonical keys are sorted"
    assert {"kind", "rid", "salt", "type"} <= set(names), "each record has these"
    members = (f'"{name}":{_value(name)}' for name in names)
    counts = tuple(name for name in names if name in schema.COUNTS)
    return _Form(re.compile("{" + ",".join(members) + "}"), names, counts)


def _value(name: str) -> str:
    if name in schema.COUNTS:
        return _COUNT
    if name in ("type", "kind"):
        return f'"({re.escape({"type": schema.TYPE, "kind": "usage"}[name])})"'
    pattern = schema.PATTERNS.get(name, schema.TEXT)
    return _PLAIN if pattern is schema.TEXT else f'"({pattern.pattern})"'
