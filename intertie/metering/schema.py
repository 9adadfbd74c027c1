"""The schema of `intertie.usage/v1`: which fields each kind of record has, and what they may hold.

`check` is on the hot path of verification (one call a record). The set of keys is judged once per
shape and remembered; of the values, those that repeat from record to record are judged once per
combination. Must not change a record: it says yes, or names the field at fault.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.rids import ID, MONTH, TOKEN
from intertie.model.meters import METERS
from intertie.model.states import FailureClass, Outcome

TYPE = "intertie.usage/v1"
SEALED = ("seq", "recorded_ms", "salt")
"""Fields set when a record is sequenced; they do not decide whether two records are the same."""
SPAN = ("first_seq", "last_seq")
"""Also set when sequenced, in a run_end: where the run's usage stands in the log."""

CAUSES = ("owner", "region", "federation", "task", "submitter")


def _one_of(words: Iterable[object]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(str(word)) for word in words))


TEXT = re.compile(r".{1,512}", re.DOTALL)
_HEX64 = re.compile(r"[0-9a-f]{64}")
_SUM = re.compile(r"-?(?:0|[1-9][0-9]{0,38})")

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "region": ID,
    "salt": re.compile(r"[0-9a-f]{32}"),
    "project": ID,
    "payer": ID,
    "principal": TEXT,
    "task": ID,
    "run": TOKEN,
    "node": TEXT,
    "grant_sha256": _HEX64,
    "evidence_sha256": _HEX64,
    "policy_sha256": _HEX64,
    "meter": _one_of(METERS),
    "model": TEXT,
    "isolation": TEXT,
    "class": TEXT,
    "outcome": _one_of(Outcome),
    "failure_class": _one_of(FailureClass),
    "cause": _one_of(CAUSES),
    "checkpoint": TEXT,
    "jurisdiction": TEXT,
    "verdict": TEXT,
    "reason": TEXT,
    "month": MONTH,
    "old_vkey": TEXT,
    "new_vkey": TEXT,
}
COUNTS = frozenset(
    {
        "seq",
        "recorded_ms",
        "rank",
        "quantity",
        "start_ms",
        "end_ms",
        "boot_ms",
        "useful_ms",
        "reclaimed_ms",
        "lost_ms",
        "first_seq",
        "last_seq",
        "record_count",
    }
)
_VARYING = frozenset({"salt", "evidence_sha256", "task", "run", "grant_sha256"})
"""Values that are new with each task: judged one by one, so that the combinations of the others are
few and remembered."""

_EVERY = frozenset(("type", "kind", "region", "rid", *SEALED))
_RUN = frozenset(["project", "payer", "principal", "task", "run", "rank", "node"])
_SPAN_MS = frozenset(["start_ms", "end_ms", "boot_ms"])
_USAGE_EXTRA = frozenset(["grant_sha256", "evidence_sha256", "model", "isolation", "class"])

REQUIRED: Mapping[str, frozenset[str]] = {
    "usage": _EVERY | _RUN | _SPAN_MS | {"meter", "quantity"},
    "run_end": _EVERY
    | _RUN
    | _SPAN_MS
    | {"outcome", "useful_ms", "reclaimed_ms", "lost_ms", "cause", "complete"},
    "placement": _EVERY | _RUN | {"start_ms", "jurisdiction", "policy_sha256", "verdict"},
    "adjustment": _EVERY | _RUN | _SPAN_MS | {"meter", "quantity", "adjusts", "reason"},
    "void": _EVERY | _RUN | _SPAN_MS | {"meter", "quantity", "adjusts", "reason"},
    "period_close": _EVERY | {"payer", "month", "meters", "sums", "record_count"},
    "key_rotation": _EVERY | {"old_vkey", "new_vkey"},
    "heartbeat": _EVERY,
}
OPTIONAL: Mapping[str, frozenset[str]] = {
    "usage": _USAGE_EXTRA,
    "run_end": frozenset({"failure_class", "checkpoint", "grant_sha256", "evidence_sha256", *SPAN}),
    "placement": frozenset({"grant_sha256", "evidence_sha256"}),
    "adjustment": _USAGE_EXTRA,
    "void": _USAGE_EXTRA,
    "period_close": frozenset(SPAN),
    "key_rotation": frozenset(),
    "heartbeat": frozenset(),
}
KINDS = tuple(REQUIRED)
CORRECTIONS = ("adjustment", "void")

_APART = frozenset({"type", "kind", "rid", "complete", "adjusts", "meters", "sums"})
for _kind in KINDS:
    _fields = REQUIRED[_kind] | OPTIONAL[_kind]
    assert not REQUIRED[_kind] & OPTIONAL[_kind], f"{_kind}: a field is required or optional"
    assert _fields <= PATTERNS.keys() | COUNTS | _APART, f"{_kind}: a field that nothing checks"
assert OPTIONAL.keys() == REQUIRED.keys(), "each kind has its optional fields"


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to judge the values of one shape."""

    counts: Callable[[Any], tuple[Any, ...]]
    count_names: tuple[str, ...]
    repeated: Callable[[Any], tuple[Any, ...]]
    repeated_names: tuple[str, ...]
    varying: tuple[tuple[str, Callable[[str], re.Match[str] | None]], ...]


def check(record: Mapping[str, Any]) -> None:
    """Refuse an object that is no record of this schema, naming the field."""
    if record.get("type") != TYPE:
        raise _wrong("type", f"expected {TYPE!r}, got {record.get('type')!r}")
    kind = record.get("kind")
    plan = _plan(kind, tuple(record))
    try:
        counts = plan.counts(record)
        if min(counts) < 0 or bool in map(type, counts):  # True is an int to Python
            _check_counts(kind, plan.count_names, counts)
        _check_repeated(plan.repeated_names, plan.repeated(record))
        for name, matches in plan.varying:
            if matches(record[name]) is None:
                raise _wrong(name, f"{record[name][:80]!r} is not allowed")
        if type(record["rid"]) is not str:
            raise _wrong("rid", f"expected a text, got {record['rid']!r}")
    except TypeError:
        raise _wrong("record", "a field holds a value of another type") from None
    if kind == "usage":
        check_usage_rid(record)
    else:
        _RULES[str(kind)](record)


def _check_counts(kind: object, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
    for name, value in zip(names, values, strict=True):
        signed = name == "quantity" and kind in CORRECTIONS
        if type(value) is not int or (value < 0 and not signed):
            raise _wrong(name, f"expected a count, got {value!r}")


@lru_cache(maxsize=1024)
def _plan(kind: object, keys: tuple[str, ...]) -> _Plan:
    if not isinstance(kind, str) or kind not in REQUIRED:
        raise _wrong("kind", f"{kind!r} is not one of {', '.join(KINDS)}")
    names = frozenset(keys)
    for name in sorted(REQUIRED[kind] - names):
        raise _wrong(name, f"missing in a record of kind {kind}")
    for name in sorted(names - REQUIRED[kind] - OPTIONAL[kind]):
        raise _wrong(name, f"not a field of kind {kind}")
    repeated = tuple(name for name in keys if name in PATTERNS and name not in _VARYING)
    getter = itemgetter(*repeated, "type")  # two keys at least: the result is always a tuple
    varying = tuple((n, PATTERNS[n].fullmatch) for n in keys if n in _VARYING)
    assert "rid" in names, "each kind has a rid"
    counts = tuple(name for name in keys if name in COUNTS)  # seq and recorded_ms at least
    return _Plan(itemgetter(*counts), counts, getter, repeated, varying)


@lru_cache(maxsize=1 << 15)
def _check_repeated(names: tuple[str, ...], values: tuple[Any, ...]) -> None:
    for name, value in zip(names, values, strict=False):
        if PATTERNS[name].fullmatch(value) is None:
            raise _wrong(name, f"{value[:80]!r} is not allowed")


def check_usage_rid(record: Mapping[str, Any]) -> None:
    """The rid must say the same as the fields: replay is decided on it."""
    head = f"{record['task']}/{record['run']}/{record['rank']}/"
    tail = f"/{record['meter']}"
    rid: str = record["rid"]
    number = rid[len(head) : -len(tail)]
    if not rid.startswith(head) or not rid.endswith(tail) or not _is_count(number):
        raise _wrong("rid", f"expected {head}<interval>{tail}, got {rid[:120]!r}")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text[0] != "0" or text == "0")


def _check_run_rid(record: Mapping[str, Any]) -> None:
    want = f"{record['task']}/{record['run']}/{record['rank']}/{record['kind']}"
    if record["rid"] != want:
        raise _wrong("rid", f"expected {want}, got {record['rid'][:120]!r}")


def _check_run_end(record: Mapping[str, Any]) -> None:
    _check_run_rid(record)
    if type(record["complete"]) is not bool:
        raise _wrong("complete", f"expected true or false, got {record['complete']!r}")
    if ("first_seq" in record) != ("last_seq" in record):
        raise _wrong("first_seq", "first_seq and last_seq come together")
    ran, lost = record["boot_ms"], record["lost_ms"]
    if record["useful_ms"] + lost != ran:
        got = record["useful_ms"] + lost
        raise _wrong("useful_ms", f"useful + lost: expected {ran} ms, got {got}")
    if record["reclaimed_ms"] > lost:
        raise _wrong("reclaimed_ms", f"expected a part of {lost} lost ms")


def _check_correction(record: Mapping[str, Any]) -> None:
    word = "adj" if record["kind"] == "adjustment" else "void"
    head = f"{record['task']}/{record['run']}/{record['rank']}/"
    base, _, number = record["rid"].rpartition(f"/{record['meter']}/{word}/")
    interval = base.removeprefix(head)
    if not base.startswith(head) or not _is_count(interval) or not _is_count(number):
        raise _wrong("rid", f"expected <rid>/{word}/<n>, got {record['rid'][:120]!r}")
    target = record["adjusts"]
    if (
        type(target) is not dict
        or set(target) != {"seq", "leaf_hash"}
        or type(target["seq"]) is not int
        or type(target["leaf_hash"]) is not str
        or _HEX64.fullmatch(target["leaf_hash"]) is None
    ):
        raise _wrong("adjusts", "expected {leaf_hash, seq} of an earlier record")


def _check_period_close(record: Mapping[str, Any]) -> None:
    want = f"{record['payer']}/{record['month']}"
    if record["rid"] != want:
        raise _wrong("rid", f"expected {want}, got {record['rid'][:120]!r}")
    meters, sums = record["meters"], record["sums"]
    if type(meters) is not list or type(sums) is not list or len(meters) != len(sums):
        raise _wrong("sums", "expected one sum for each of meters")
    for meter, total in zip(meters, sums, strict=True):
        if meter not in METERS or type(total) is not str or _SUM.fullmatch(total) is None:
            raise _wrong("sums", f"{meter!r}: expected a decimal string, got {total!r}")


def _check_numbered(record: Mapping[str, Any]) -> None:
    head, _, number = record["rid"].partition("/")
    if head != record["kind"] or not _is_count(number) or number == "0":
        raise _wrong("rid", f"expected {record['kind']}/<n>, got {record['rid'][:120]!r}")


_RULES: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "run_end": _check_run_end,
    "placement": _check_run_rid,
    "adjustment": _check_correction,
    "void": _check_correction,
    "period_close": _check_period_close,
    "key_rotation": _check_numbered,
    "heartbeat": _check_numbered,
}
assert {"usage", *_RULES} == set(KINDS), "each kind has its rule"


def _wrong(field: str, what: str) -> MeteringError:
    return MeteringError(Fault.NON_CANONICAL, f"{field}: {what}")
