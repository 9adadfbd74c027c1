"""Round trips and bandwidths as the router reads them; who measures them is another's business.

A pair that nobody measured is not a pair without distance: `p95` says None, and a bound on it does
not hold (tasks.md, `latency`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Measured:
    """A p95 round trip that beacons measured; `age_ms` since the newest probe in it."""

    p95_ms: float
    age_ms: int = 0


@dataclass(frozen=True, slots=True)
class Estimated:
    """A p95 round trip that follows from coordinates, not from probes of this pair."""

    p95_ms: float


class Latencies(Protocol):
    """Round trips from origins (region ids, or `lat,lon`) to regions.

    `revision` grows with every change that `p95` would show: candidate sets are kept by it.
    `bandwidth` is in bytes a second towards a region, None where neither measured nor declared.
    """

    @property
    def revision(self) -> int:
        """Grows with every change."""
        ...

    def p95(self, origin: str, region: str) -> Measured | Estimated | None:
        """The round trip from an origin to a region, None if the pair is unmeasured."""
        ...

    def bandwidth(self, region: str) -> float | None:
        """Bytes a second towards a region, None if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class KnownLatencies:
    """A fixed table: what a federation knows that measures nothing, and what tests know."""

    pairs: Mapping[tuple[str, str], Measured | Estimated]
    bandwidths: Mapping[str, float]
    revision: int = 0

    def p95(self, origin: str, region: str) -> Measured | Estimated | None:
        """As in `Latencies`."""
        return self.pairs.get((origin, region))

    def bandwidth(self, region: str) -> float | None:
        """As in `Latencies`."""
        return self.bandwidths.get(region)


UNMEASURED = KnownLatencies({}, {})
"""Nothing is known."""
