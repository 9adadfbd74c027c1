"""Forgets request_ids after their time, a few at once, so that a store does not grow for ever.

A repeated request is answered with what it made for at least seven days (contract.md); after that
its id is as good as new. A day is added, for clocks that differ. Must not be given names that are
unique for ever: the rids of a metering log are.
"""

import asyncio

from intertie.ports import Clock, FencedError, Store, StoreUnavailableError
from intertie.telemetry.logs import logger

KEEP_MS = 8 * 24 * 3_600_000
EVERY_S = 3_600.0
STEP = 1_000
"""Claims forgotten in one transaction: others wait no longer than for a commit."""
PAUSE_S = 0.05
"""Between two steps: the store is there for others first."""

_log = logger(__name__)


class Retention:
    """Sweeps one space of claims from time to time.

    Args:
        store: where they are.
        clock: what time it is.
        space: of which names.
        every_s: how long between two sweeps.
    """

    def __init__(self, store: Store, clock: Clock, space: str, *, every_s: float = EVERY_S) -> None:
        assert every_s > 0, "sweeps have time between them"
        self._store = store
        self._clock = clock
        self._space = space
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, with a sweep at once."""
        assert self._task is None, "started once"
        self._task = asyncio.create_task(self._run(), name="retention")

    async def stop(self) -> None:
        """End; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def sweep(self) -> int:
        """Forget everything that is due, in steps; how many there were."""
        before_ms = self._clock.now().utc_ms - KEEP_MS
        total = 0
        while True:
            gone = await self._store.forget_claims(self._space, before_ms, limit=STEP)
            assert 0 <= gone <= STEP, "a step is bounded"
            total += gone
            if gone < STEP:
                return total
            await asyncio.sleep(PAUSE_S)

    async def _run(self) -> None:
        while True:
            try:
                gone = await self.sweep()
            except (FencedError, StoreUnavailableError) as fault:
                _log.warning("request ids not forgotten; later", fault=str(fault))
            else:
                if gone:
                    _log.info("request ids forgotten", count=gone)
            await asyncio.sleep(self._every_s)
