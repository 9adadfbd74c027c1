"""Levenshtein distance twice: the quick way that is used, and the definition that tests it."""

from functools import cache


def distance(left: str, right: str) -> int:
    """Insertions, deletions and substitutions that turn one string into the other."""
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        row = [i]
        for j, b in enumerate(right, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


@cache
def by_definition(left: str, right: str) -> int:
    """The recursive definition, as it stands in a textbook."""
    if not left or not right:
        return len(left) + len(right)
    return min(
        by_definition(left[1:], right) + 1,
        by_definition(left, right[1:]) + 1,
        by_definition(left[1:], right[1:]) + (left[0] != right[0]),
    )
