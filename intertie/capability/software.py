"""Does a node have the software that a variant needs? `cuda` or `cuda>=12.4` over name -> version.

One rule for the router, which asks it of a region's summary, and the region, which asks it of a
node. A version that is not numbers and dots satisfies only a condition without one.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest

_CONDITION = re.compile(r"([a-z][a-z0-9_.-]*)(?: ?(>=|<=|==|>|<) ?([0-9][0-9A-Za-z.+-]*))?")
_LEADING = re.compile(r"[0-9]+(?:\.[0-9]+)*")


def holds(conditions: Sequence[str], software: Mapping[str, str]) -> bool:
    """Whether every condition holds; one that is malformed holds nowhere."""
    return all(_holds(condition, software) for condition in conditions)


def _holds(condition: str, software: Mapping[str, str]) -> bool:
    match = _CONDITION.fullmatch(condition)
    if match is None:
        return False
    name, op, wanted = match.groups()
    found = software.get(name)
    if found is None or op is None:
        return found is not None
    have, need = _LEADING.match(found), _LEADING.match(wanted)
    assert need is not None, "the form begins with a digit"
    return have is not None and _compare(have[0], op, need[0])


def _compare(have: str, op: str, need: str) -> bool:
    pairs = list(zip_longest(_numbers(have), _numbers(need), fillvalue=0))
    left, right = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    return {
        ">=": left >= right,
        "<=": left <= right,
        ">": left > right,
        "<": left < right,
        "==": left == right,
    }[op]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
