"""Beacon and prober of a region, by its configuration; reports leave by the links that stand."""

import random
from collections.abc import Callable, Sequence

from intertie.model.link import Beacons, RttReport
from intertie.ports import Clock, IdSource
from regional.adapters.beacon.echo import Beacon
from regional.adapters.beacon.prober import Prober, Rhythm
from regional.adapters.federation_link import FederationLink
from regional.config import Beacon as Settings

BEACONS = "beacons"


class Ranging:
    """See the module's text."""

    def __init__(self, settings: Settings, clock: Clock, ids: IdSource, rng: random.Random) -> None:
        self._settings = settings
        self._links: Callable[[], Sequence[FederationLink]] = tuple
        self._beacon = Beacon(clock, settings.listen, settings.per_second)
        rhythm = Rhythm(
            every_ms=settings.every,
            timeout_ms=settings.timeout,
            window=settings.window,
            keep_ms=settings.keep,
            via=settings.via,
        )
        self._prober = Prober(clock, ids, rng, rhythm, self._report)

    async def start(self, links: Callable[[], Sequence[FederationLink]]) -> None:
        """Echo probes of others, if we are to, and probe theirs; `links` stand when asked for."""
        self._links = links
        if self._settings.listen:
            await self._beacon.start()
        self._prober.start()

    async def stop(self) -> None:
        """End both; idempotent."""
        await self._prober.stop()
        await self._beacon.stop()

    @property
    def address(self) -> str:
        """Where probes are echoed, as host:port for others; empty if nowhere."""
        host = self._settings.listen.rpartition(":")[0]
        return self._settings.advertise or (f"{host}:{self._beacon.port}" if host else "")

    def heard(self, message: Beacons) -> None:
        """The federation names beacons."""
        self._prober.heard(message)

    def _report(self, report: RttReport) -> None:
        for link in self._links():
            link.tell(BEACONS, report)
