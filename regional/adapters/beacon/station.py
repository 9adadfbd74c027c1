"""A region's part in measuring round trips: the echo that others probe, and our probes of theirs."""

import random
from collections.abc import Callable

from intertie.model.link import Beacons, RttReport
from intertie.ports import Clock, IdSource
from regional.adapters.beacon.echo import Beacon
from regional.adapters.beacon.prober import Prober, Rhythm
from regional.config import Beacon as BeaconConfig


class Station:
    """See the module's text.

    Args:
        config: ports and intervals.
        clock: time.
        ids: for nonces.
        rng: for spreading.
        report: takes what was measured; may be lost.
    """

    def __init__(
        self,
        config: BeaconConfig,
        clock: Clock,
        ids: IdSource,
        rng: random.Random,
        report: Callable[[RttReport], None],
    ) -> None:
        self._config = config
        self._echo = Beacon(clock, config.listen, config.per_second) if config.listen else None
        rhythm = Rhythm(
            every_ms=config.every,
            timeout_ms=config.timeout,
            window=config.window,
            keep_ms=config.keep,
            via=config.via,
        )
        self._prober = Prober(clock, ids, rng, rhythm, report)

    @property
    def address(self) -> str:
        """Where probes are echoed, as host:port for others; empty if nowhere."""
        if self._echo is None:
            return ""
        host = self._config.listen.rpartition(":")[0]
        return self._config.advertise or f"{host}:{self._echo.port}"

    async def start(self) -> None:
        """Open the port, if there is one, and begin to probe."""
        if self._echo is not None:
            await self._echo.start()
        self._prober.start()

    async def stop(self) -> None:
        """End both; idempotent."""
        await self._prober.stop()
        if self._echo is not None:
            await self._echo.stop()

    def heard(self, beacons: Beacons) -> None:
        """The federation names the beacons of others."""
        self._prober.heard(beacons)
