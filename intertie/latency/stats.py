"""Percentiles of round trips, by nearest rank: always a value that was measured, never between."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_RTT_US = 60_000_000
"""A minute. Light goes once around the earth in 134 ms; what is longer is no round trip."""


@dataclass(frozen=True, slots=True)
class Stats:
    """The newest probes of one beacon.

    Args:
        p50_us: median round trip.
        p95_us: round trip that 95 of 100 probes do not exceed.
        samples: probes that were answered.
        lost: probes that were not.
        age_ms: since the newest answer.
    """

    p50_us: int
    p95_us: int
    samples: int
    lost: int = 0
    age_ms: int = 0


def rank(ordered: Sequence[int], percent: int) -> int:
    """The smallest value that `percent` of 100 do not exceed."""
    assert ordered, "a percentile of nothing"
    assert 0 < percent <= 100, "a percentile above 0"
    return ordered[-(-len(ordered) * percent // 100) - 1]
