"""Gives back the room of a blob root: unfinished uploads that stand still, blobs nobody needs.

Which blobs are needed is the service's to say, blob by blob; without such a judge finished blobs
stay. Must not delete a blob while somebody holds it (`BlobStore.hold`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from intertie.errors import IntertieError
from intertie.ports import Clock, FencedError, StoreUnavailableError
from intertie.store.blobs import BlobStore
from intertie.telemetry.logs import logger

PAUSE_EVERY = 100
PAUSE_S = 0.05
"""After so many blobs: the store is there for others first."""

LetGo = Callable[[str, int], Awaitable[bool]]
"""Called with a digest and an instant (UTC ms) while the blob is held: whether nobody needs it, nor
has asked for it since. What says yes has made that durable.
"""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Collected:
    """What one sweep gave up."""

    uploads: int
    blobs: int


class BlobCollector:
    """Sweeps one blob root from time to time.

    Args:
        blobs: the root.
        clock: what time it is.
        upload_ms: unfinished uploads that got no byte for so long are given up.
        every_s: how long between two sweeps.
        keep_ms: for how long a blob stays at least after it came.
        let_go: judges blobs; None = finished blobs stay.
    """

    def __init__(
        self,
        blobs: BlobStore,
        clock: Clock,
        *,
        upload_ms: int,
        every_s: float,
        keep_ms: int = 0,
        let_go: LetGo | None = None,
    ) -> None:
        assert every_s > 0, "sweeps have time between them"
        self._blobs = blobs
        self._clock = clock
        self._upload_ms = upload_ms
        self._every_s = every_s
        self._keep_ms = keep_ms
        self._let_go = let_go
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, with a sweep at once."""
        assert self._task is None, "started once"
        self._task = asyncio.create_task(self._run(), name="blob collector")

    async def stop(self) -> None:
        """End; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def sweep(self) -> Collected:
        """Give up everything that is due."""
        now_ms = self._clock.now().utc_ms
        uploads = await self._blobs.collect_uploads(now_ms - self._upload_ms)
        if self._let_go is None:
            return Collected(uploads, 0)
        seen = gone = 0
        async for sha256 in self._blobs.aged(now_ms - self._keep_ms):
            gone += await self._collect(sha256, now_ms - self._keep_ms, self._let_go)
            seen += 1
            if seen % PAUSE_EVERY == 0:
                await asyncio.sleep(PAUSE_S)
        return Collected(uploads, gone)

    async def _collect(self, sha256: str, before_ms: int, let_go: LetGo) -> bool:
        async with self._blobs.hold(sha256):
            return await let_go(sha256, before_ms) and await self._blobs.delete(sha256)

    async def _run(self) -> None:
        while True:
            try:
                collected = await self.sweep()
            except (FencedError, StoreUnavailableError, IntertieError) as fault:
                _log.warning("blobs not collected; later", fault=str(fault))
            else:
                if collected.uploads or collected.blobs:
                    _log.info("blobs collected", uploads=collected.uploads, blobs=collected.blobs)
            await asyncio.sleep(self._every_s)
