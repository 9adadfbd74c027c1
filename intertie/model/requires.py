"""What a task requires of a node's tags: `long_run`, `interconnect>=nvlink`, `deployment in (vm)`.

A requirement is one comparison; all of a task's must hold. It is typed: an unknown tag, a word that
the tag does not have, or an order where there is none, is a fault of the spec.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from intertie.model.tags import TAGS, Choice, Flag, Level, Number, Tag, Word, nearest

_FORM = re.compile(
    r"\s*(?P<name>[a-z][a-z0-9_]*)\s*"
    r"(?:(?P<op>>=|<=|==|!=|>|<|=)\s*(?P<value>[A-Za-z0-9_.+-]+)"
    r"|in\s*\(\s*(?P<words>[A-Za-z0-9_.+-]+(?:\s*,\s*[A-Za-z0-9_.+-]+)*)\s*\))?\s*"
)
_ORDER = frozenset({">=", "<=", ">", "<"})
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One comparison: `op` is `>= <= > < == !=`, or `in` with one value or more."""

    name: str
    op: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        """As a person writes it."""
        if self.op == "in":
            return f"{self.name} in ({', '.join(self.values)})"
        return f"{self.name}{self.op}{self.values[0]}"

    def holds(self, tags: Mapping[str, str]) -> bool:
        """Whether it holds of a node with these tags; what is not known does not hold."""
        have = tags.get(self.name)
        if have is None:
            return False
        if self.op == "in":
            return any(_compare(self.name, have, "==", value) for value in self.values)
        return _compare(self.name, have, self.op, self.values[0])


def requirement_fault(text: str) -> str:
    """What is wrong with a requirement; empty if nothing is."""
    match = _FORM.fullmatch(text)
    if match is None:
        return f"{text[:80]!r} is no requirement; write NAME, NAME>=VALUE or NAME in (VALUE, VALUE)"
    name, tag = match["name"], TAGS.get(match["name"])
    if tag is None:
        return f"there is no tag {name}{nearest(name, TAGS)}"
    made = _read(match)
    if made.op in _ORDER and not isinstance(tag.type, Level | Number):
        return f"{name} has no order: use ==, != or in"
    return next((fault for value in made.values if (fault := _value_fault(name, tag, value))), "")


def all_hold(texts: Sequence[str], tags: Mapping[str, str]) -> bool:
    """Whether every requirement holds; one with a fault holds nowhere."""
    return all(not _fault(text) and requirement(text).holds(tags) for text in texts)


@lru_cache(maxsize=4096)
def _fault(text: str) -> str:
    return requirement_fault(text)


@lru_cache(maxsize=4096)
def requirement(text: str) -> Requirement:
    """Read a requirement that has no fault.

    Raises:
        ValueError: it has one, see `requirement_fault`.
    """
    match = _FORM.fullmatch(text)
    fault = requirement_fault(text)
    if fault or match is None:
        raise ValueError(fault)
    return _read(match)


def _read(match: re.Match[str]) -> Requirement:
    if match["words"]:
        words = tuple(word.strip() for word in match["words"].split(","))
        return Requirement(match["name"], "in", words)
    if match["op"]:
        op = "==" if match["op"] == "=" else match["op"]
        return Requirement(match["name"], op, (match["value"],))
    return Requirement(match["name"], "==", ("true",))


def _value_fault(name: str, tag: Tag, value: str) -> str:
    match tag.type:
        case Flag():
            known: tuple[str, ...] = ("true", "false")
        case Choice(words=words):
            known = words
        case Level() as level:
            known = level.words
        case Number(unit=unit):
            fits = _NUMBER.fullmatch(value)
            return "" if fits else f"{name} is a number of {unit}: write {name}>=100"
        case Word():
            return ""
    if value in known:
        return ""
    return f"{name} is one of {', '.join(known)}, not {value}{nearest(value, known)}"


def _compare(name: str, have: str, op: str, need: str) -> bool:
    left, right = _keys(TAGS[name].type, have, need)
    if left is None or right is None:
        return False
    if op in ("==", "!="):
        return (left == right) == (op == "==")
    assert not isinstance(left, str), "an order of words was refused"
    assert not isinstance(right, str), "an order of words was refused"
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[op]


def _keys(type_: object, have: str, need: str) -> tuple[float | str | None, float | str | None]:
    match type_:
        case Level() as level:
            return level.rank(have), level.rank(need)
        case Number():
            return _number(have), _number(need)
    return have, need


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None
