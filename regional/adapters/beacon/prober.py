"""Probes the beacons that the federation names, and reports what it measured, again and again.

Rounds and the probes in them are spread at random, so that regions that started together do not
probe together. What a region reports is its own row; it says nothing about anybody else's.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from intertie.latency import Window
from intertie.model.link import Beacons, RoundTrip, RttReport
from intertie.ports import Clock, IdSource
from regional.adapters.beacon.asking import ask

MOST_BEACONS = 256
"""Beacons that one region probes; pairs beyond stay unmeasured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often beacons are probed, how long an echo may take, and how many probes count."""

    every_ms: int
    timeout_ms: int
    window: int
    keep_ms: int
    via: Mapping[str, str] = field(default_factory=dict)


class Prober:
    """See the module's text.

    Args:
        clock: time.
        ids: for nonces.
        rng: for spreading.
        rhythm: intervals; `via` names other addresses of beacons, where we reach them by those.
        report: takes what was measured; may be lost.
    """

    def __init__(
        self,
        clock: Clock,
        ids: IdSource,
        rng: random.Random,
        rhythm: Rhythm,
        report: Callable[[RttReport], None],
    ) -> None:
        self._clock = clock
        self._ids = ids
        self._rng = rng
        self._rhythm = rhythm
        self._report = report
        self._addresses: dict[str, str] = {}
        self._windows: dict[str, tuple[str, Window]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; nothing is probed until the federation names beacons."""
        self._task = asyncio.create_task(self._run(), name="beacon prober")

    async def stop(self) -> None:
        """End; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def heard(self, message: Beacons) -> None:
        """Probe these from now on. A beacon that moved is measured anew; one that is away for a
        while keeps its window.
        """
        named = {b.region: self._rhythm.via.get(b.region, b.address) for b in message.beacons}
        self._addresses = dict(sorted(named.items())[:MOST_BEACONS])

    async def _run(self) -> None:
        every_s = self._rhythm.every_ms / 1000
        while True:
            addresses = self._addresses
            async with asyncio.TaskGroup() as group:
                for region, address in addresses.items():
                    group.create_task(self._probe(region, address, every_s / 2))
            self._tell()
            await asyncio.sleep(every_s * (0.25 + self._rng.random() / 2))

    async def _probe(self, region: str, address: str, within_s: float) -> None:
        await asyncio.sleep(within_s * self._rng.random())
        nonce = bytes.fromhex(self._ids.token_hex(16))
        timeout_s = self._rhythm.timeout_ms / 1000
        rtt_us = await ask(address, nonce, lambda: self._clock.now().boot_ns, timeout_s)
        if self._addresses.get(region) != address:
            return  # named otherwise meanwhile
        measured, window = self._windows.get(region, ("", None))
        if window is None or measured != address:
            window = Window(self._rhythm.window, self._rhythm.keep_ms)
            self._windows[region] = address, window
        window.add(self._clock.now().boot_ns, rtt_us)

    def _tell(self) -> None:
        now_ns = self._clock.now().boot_ns
        known = {region: window.stats(now_ns) for region, (_, window) in self._windows.items()}
        found = {region: stats for region, stats in known.items() if stats is not None}
        trips = tuple(
            RoundTrip(
                region=region,
                p50_us=stats.p50_us,
                p95_us=stats.p95_us,
                samples=stats.samples,
                lost=stats.lost,
                age_ms=stats.age_ms,
            )
            for region, stats in sorted(found.items())
        )
        gone = known.keys() - found.keys() - self._addresses.keys()
        self._windows = {r: kept for r, kept in self._windows.items() if r not in gone}
        if self._addresses:
            self._report(RttReport(round_trips=trips))
