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
    drawn: list[int] = []
    gaps: list[tuple[float, float]] = []
    count = min(count, len(ends))
    left = float(ends[-1]) if count else 0.0
    while len(drawn) < count and left > 0.0:
        at = unit(seed, len(drawn)) * left
        for start, width in gaps:
            if at >= start:
                at += width
        index = min(bisect_right(ends, at), len(ends) - 1)
        start = ends[index - 1] if index else 0.0
        width = ends[index] - start
        if index in drawn or width <= 0.0:  # rounding at the very edge of an interval
            index = _next(ends, drawn)
            if index < 0:
                break
            start = ends[index - 1] if index else 0.0
            width = ends[index] - start
        drawn.append(index)
        gaps.append((start, width))
        if len(gaps) > 1:
            gaps.sort()
        left -= width
    return drawn


def _next(ends: Sequence[float], drawn: Sequence[int]) -> int:
    """The first index that has a weight and was not drawn, -1 if there is none."""
    before = 0.0
    for index, end in enumerate(ends):
        if end > before and index not in drawn:
            return index
        before = float(end)
    return -1
