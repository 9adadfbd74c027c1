"""The filter of ListTasks: a small part of AIP-160, refused by name where it goes beyond.

    state = "RUNNING" AND labels.team = "vision" AND display_name != nightly

Comparisons with `=` and `!=`, joined by AND. A value is a quoted string or a bare word. Must not
know how tasks are read.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from intertie.errors import IntertieError, invalid
from intertie.model.names import LABEL_KEY
from intertie.model.spec import Kind, Priority
from intertie.model.states import FailureClass, TaskState
from intertie.model.task import Task

MAX_FILTER = 2_000
MAX_COMPARISONS = 20

_TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<operator>!=|<=|>=|=|<|>|:)|(?P<word>[^\s=!<>:()\"',]+)|(?P<other>\S))"
)
_LABELS = "labels."

_FIELDS: Mapping[str, Callable[[Task], str]] = {
    "state": lambda task: task.state.value,
    "group": lambda task: task.group,
    "region": lambda task: task.region,
    "display_name": lambda task: task.spec.name if task.spec else "",
    "kind": lambda task: task.spec.kind.value if task.spec else "",
    "priority": lambda task: task.spec.priority.value if task.spec else "",
    "failure_class": lambda task: task.failure_class.value if task.failure_class else "",
}
_VALUES: Mapping[str, Iterable[str]] = {
    "state": [state.value for state in TaskState],
    "kind": [kind.value for kind in Kind],
    "priority": [priority.value for priority in Priority],
    "failure_class": [failure.value for failure in FailureClass],
}
"""Fields with a closed set of values: another one is a mistake, not an empty answer."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison; `negated` for `!=`."""

    field: str
    value: str
    negated: bool

    def holds(self, task: Task) -> bool:
        """Whether a task passes."""
        return (_value(task, self.field) == self.value) is not self.negated


@dataclass(frozen=True, slots=True)
class Filter:
    """A conjunction; the empty one lets everything pass."""

    comparisons: tuple[Comparison, ...] = ()

    def matches(self, task: Task) -> bool:
        """Whether a task passes all comparisons."""
        return all(comparison.holds(task) for comparison in self.comparisons)


def parse_filter(text: str) -> Filter:
    """Read a filter; INVALID_FIELD `filter` naming the place and what is served instead."""
    if len(text) > MAX_FILTER:
        raise invalid("filter", f"is over {MAX_FILTER} characters")
    tokens = list(_tokens(text))
    if not tokens:
        return Filter()
    found: list[Comparison] = []
    at = 0
    while True:
        found.append(_comparison(tokens[at : at + 3], len(text)))
        at += 3
        if at >= len(tokens):
            return Filter(tuple(found))
        kind, word, where = tokens[at]
        if kind != "word" or word != "AND":
            raise _fault(where, f"expected AND, got {word!r}", "Join comparisons by AND.")
        if len(found) == MAX_COMPARISONS:
            raise invalid("filter", f"has more than {MAX_COMPARISONS} comparisons")
        at += 1


_Token = tuple[str, str, int]


def _tokens(text: str) -> Iterable[_Token]:
    end = len(text.rstrip())
    at = 0
    while at < end:
        match = _TOKEN.match(text, at)
        assert match is not None, "the pattern takes any character"
        kind = match.lastgroup
        assert kind is not None, "each alternative has a name"
        if kind == "other":
            bad = match["other"]
            raise _fault(match.start("other"), f"{bad!r} is not served", "Use = != AND only.")
        yield kind, match[kind], match.start(kind)
        at = match.end()


def _comparison(tokens: list[_Token], end: int) -> Comparison:
    if len(tokens) < 3:
        where = tokens[-1][2] if tokens else end
        raise _fault(where, "the comparison is not complete", 'Write field = "value".')
    (field_kind, field, where), (_, operator, op_at), (value_kind, raw, value_at) = tokens
    if field_kind != "word":
        raise _fault(where, f"expected a field, got {field!r}", 'Write field = "value".')
    if operator not in ("=", "!="):
        raise _fault(op_at, f"{operator!r} is not served", "Compare with = or !=.")
    if value_kind == "operator":
        raise _fault(value_at, f"expected a value, got {raw!r}", "Quote the value.")
    value = re.sub(r"\\(.)", r"\1", raw[1:-1]) if value_kind == "string" else raw
    _check_field(field, where)
    known = _VALUES.get(field)
    if known is not None and value not in known:
        near = difflib.get_close_matches(value.upper(), list(known), n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(known)}."
        raise _fault(value_at, f"{value[:60]!r} is no {field}", hint)
    return Comparison(field, value, operator == "!=")


def _check_field(field: str, where: int) -> None:
    if field in _FIELDS:
        return
    if field.startswith(_LABELS) and LABEL_KEY.fullmatch(field.removeprefix(_LABELS)):
        return
    near = difflib.get_close_matches(field, [*_FIELDS, _LABELS + "KEY"], n=1)
    served = ", ".join([*_FIELDS, _LABELS + "KEY"])
    hint = f"Did you mean {near[0]}?" if near else f"Fields are {served}."
    raise _fault(where, f"there is no field {field[:60]!r}", hint)


def _value(task: Task, field: str) -> str:
    if field.startswith(_LABELS):
        return task.spec.labels.get(field.removeprefix(_LABELS), "") if task.spec else ""
    return _FIELDS[field](task)


def _fault(where: int, what: str, remedy: str) -> IntertieError:
    return invalid("filter", f"at character {where + 1}: {what}", remedy=remedy)
