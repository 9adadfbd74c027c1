"""What the federation knows of all pairs: a value with a revision that grows with what it shows.

A row is what one region measured towards others; only the region itself may write it, so nobody can
make itself look near. Both directions of a pair are kept apart, for they may differ. A pair that
nobody measured is missing, and never read as near.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from intertie.latency.stats import Stats

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Measurement:
    """Statistics of a pair, and when the newest answer in them came, on our own clock."""

    stats: Stats
    at_ns: int

    def age_ms(self, now_ns: int) -> int:
        """Since the newest answer."""
        return max(0, (now_ns - self.at_ns) // MS)


Row = Mapping[str, Measurement]


@dataclass(frozen=True, slots=True)
class Matrix:
    """See the module's text. `rows` is by who measured, then by whom it measured."""

    revision: int = 0
    rows: Mapping[str, Row] = field(default_factory=dict)

    def get(self, origin: str, region: str) -> Measurement | None:
        """What `origin` measured towards `region`; None if nothing."""
        return self.rows.get(origin, {}).get(region)

    def heard(self, origin: str, stats: Mapping[str, Stats], now_ns: int) -> "Matrix":
        """With a new row of `origin`: whom it does not name it no longer reaches."""
        row = {region: Measurement(s, now_ns - s.age_ms * MS) for region, s in stats.items()}
        return _with(self, origin, row)

    def fresh(self, now_ns: int, keep_ms: int) -> "Matrix":
        """Without what is older than `keep_ms`."""
        found = self
        for origin, row in self.rows.items():
            left = {region: m for region, m in row.items() if m.age_ms(now_ns) <= keep_ms}
            if len(left) < len(row):
                found = _with(found, origin, left)
        return found

    def pairs(self, regions: Iterable[str]) -> list[tuple[str, str, Measurement | None]]:
        """Every ordered pair of these regions, measured or not."""
        ids = sorted(regions)
        return [(origin, region, self.get(origin, region)) for origin in ids for region in ids]


def _with(matrix: Matrix, origin: str, row: Row) -> Matrix:
    before = matrix.rows.get(origin, {})
    rows = {other: old for other, old in matrix.rows.items() if other != origin}
    if row:
        rows[origin] = row
    grows = _shown(before) != _shown(row)
    return replace(matrix, revision=matrix.revision + grows, rows=rows)


def _shown(row: Row) -> dict[str, int]:
    return {region: m.stats.p95_us for region, m in row.items()}
