"""Round trips as the router reads them: what regions measured, else what was declared.

A bound is held by what the origin itself measured. Where it measured nothing, what the other side
measured backwards is an estimate, for a region could make itself look near by it; what the
federation's operator declared is one too. What was not measured of late is not known any more.
"""

from collections.abc import Iterable

from federation.domain.routing.known.latency import Estimated, Latencies, Measured
from intertie.latency import Matrix, Measurement, Stats
from intertie.model.link import RttReport
from intertie.ports import Clock

SWEEP_NS = 1_000_000_000
"""Old measurements are looked for once in so long, at most."""


class Distances:
    """See the module's text; a `Latencies`.

    Args:
        clock: time.
        declared: what is known besides; bandwidths too.
        keep_ms: age at which a measurement is forgotten.
    """

    def __init__(self, clock: Clock, declared: Latencies, keep_ms: int) -> None:
        self._clock = clock
        self._declared = declared
        self._keep_ms = keep_ms
        self._matrix = Matrix()
        self._swept_ns = 0

    def heard(self, origin: str, report: RttReport) -> None:
        """Keep what a region measured, instead of what it measured before."""
        stats = {
            trip.region: Stats(
                p50_us=trip.p50_us,
                p95_us=trip.p95_us,
                samples=trip.samples,
                lost=trip.lost,
                age_ms=trip.age_ms,
            )
            for trip in report.round_trips
            if trip.age_ms <= self._keep_ms
        }
        self._matrix = self._matrix.heard(origin, stats, self._clock.now().boot_ns)

    @property
    def revision(self) -> int:
        """As in `Latencies`."""
        now_ns = self._clock.now().boot_ns
        if now_ns - self._swept_ns >= SWEEP_NS:
            self._swept_ns = now_ns
            self._matrix = self._matrix.fresh(now_ns, self._keep_ms)
        return self._matrix.revision + self._declared.revision

    def p95(self, origin: str, region: str) -> Measured | Estimated | None:
        """As in `Latencies`."""
        found = self._matrix.get(origin, region)
        if found is not None:
            age_ms = found.age_ms(self._clock.now().boot_ns)
            return Measured(found.stats.p95_us / 1000, age_ms)
        declared = self._declared.p95(origin, region)
        if declared is not None:
            return declared
        back = self._matrix.get(region, origin)
        return None if back is None else Estimated(back.stats.p95_us / 1000)

    def bandwidth(self, region: str) -> float | None:
        """As in `Latencies`."""
        return self._declared.bandwidth(region)

    def pairs(self, regions: Iterable[str]) -> list[tuple[str, str, Measurement | None]]:
        """Every ordered pair of these regions, measured of late or not."""
        assert self.revision >= 0, "asked for, so that what is old is gone"
        return self._matrix.pairs(regions)
