"""Draws of regions in proportion to their weights, without replacement, repeatable from a seed.

The numbers come from SplitMix64 (Steele, Lea, Flood 2014), a few lines that any language can
repeat: whoever has the weights and the seed can check who was drawn.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

SEED_BITS = 63
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def unit(seed: int, number: int) -> float:
    """The number-th uniform value of a seed, in [0, 1)."""
    assert seed >= 0 <= number, "a seed and a number are counted from nothing up"
    z = (seed + (number + 1) * _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def draw(weights: Sequence[float], seed: int, count: int) -> list[int]:
    """Indices of up to `count` different regions; those of weight 0 only after all others."""
    return draw_cumulated(list(accumulate(weights)), seed, count)


def draw_cumulated(ends: Sequence[float], seed: int, count: int) -> list[int]:
    """The same on cumulated weights: `ends[i]` is the sum of the weights up to i.

    Each later draw takes its point in the total less what was drawn, and steps over the intervals
    of those: exactly the draw without replacement, in logarithmic time.
    """
    count = min(count, len(ends))
    assert count >= 0, "so many regions or none"
    if not count or ends[-1] <= 0.0:
        return []
    drawn = [_at(ends, unit(seed, 0) * ends[-1])]
    gaps = [_interval(ends, drawn[0])]
    assert gaps[0][1] > 0.0, "what weighs nothing is not drawn"
    left = ends[-1] - gaps[0][1]
    while len(drawn) < count and left > 0.0:
        at = unit(seed, len(drawn)) * left
        for start, width in gaps:
            if at >= start:
                at += width
        index = _at(ends, at)
        if index in drawn or _interval(ends, index)[1] <= 0.0:
            index = _next(ends, drawn)  # rounding at the very edge of an interval
            if index < 0:
                break
        drawn.append(index)
        if len(drawn) < count:
            gaps = sorted([*gaps, _interval(ends, index)])
            left -= _interval(ends, index)[1]
    return drawn


def _at(ends: Sequence[float], point: float) -> int:
    return min(bisect_right(ends, point), len(ends) - 1)


def _interval(ends: Sequence[float], index: int) -> tuple[float, float]:
    """Where the interval of an index starts, and how wide it is."""
    start = ends[index - 1] if index else 0.0
    assert ends[index] >= start, "sums of weights do not fall"
    return start, ends[index] - start


def _next(ends: Sequence[float], drawn: Sequence[int]) -> int:
    """The first index that has a weight and was not drawn, -1 if there is none."""
    before = 0.0
    for index, end in enumerate(ends):
        if end > before and index not in drawn:
            return index
        before = float(end)
    return -1
