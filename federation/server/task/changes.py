"""The change log as watchers follow it: the newest entries from memory, older ones from the store.

Entries are given in only after their commit. A watcher reads by (shard, seq), so it sees each
change once and misses none, whatever was dropped from memory meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from intertie.drive.drive import Logged
from intertie.model.task import TaskEvent
from intertie.ports import ShardHead, Store

KEPT = 512
"""Entries of each shard that stay in memory."""


class Changes:
    """See the module's text.

    Args:
        store: where all entries are.
        heads: the shards as last acquired; they move when the core was reloaded.
        decode: reads the body of an entry.
    """

    def __init__(
        self,
        store: Store,
        heads: Callable[[], Mapping[int, ShardHead]],
        decode: Callable[[bytes], TaskEvent],
    ) -> None:
        self._store = store
        self._acquired = heads
        self._decode = decode
        self._heads: dict[int, int] = {}
        self._recent: dict[int, deque[Logged]] = {}
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def shards(self) -> Sequence[int]:
        """All shards of this replica."""
        return sorted(self._acquired())

    def head(self, shard: int) -> int:
        """The number of the newest committed entry."""
        acquired = self._acquired().get(shard)
        return max(self._heads.get(shard, 0), acquired.last_seq if acquired else 0)

    def committed(self, logged: Sequence[Logged]) -> None:
        """Take in what has just become durable, and wake the watchers."""
        if not logged:
            return
        for entry in logged:
            recent = self._recent.get(entry.shard)
            if recent is None:
                recent = self._recent[entry.shard] = deque(maxlen=KEPT)
            if recent and recent[-1].seq + 1 != entry.seq:
                recent.clear()  # a commit of unknown outcome lies between
            recent.append(entry)
            self._heads[entry.shard] = entry.seq
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def after(self, shard: int, seq: int, limit: int) -> Sequence[Logged]:
        """Entries of a shard above a number, in order."""
        recent = self._recent.get(shard)
        if seq >= self.head(shard):
            return []
        # A commit of unknown outcome leaves entries in the store alone, until a later one is told.
        if recent and recent[0].seq <= seq + 1 <= recent[-1].seq:
            start = seq + 1 - recent[0].seq
            return list(islice(recent, start, start + limit))
        stored = await self._store.events(shard, seq, limit=limit)
        return [Logged(e.shard, e.seq, e.key, e.scope, self._decode(e.body)) for e in stored]

    async def wait(self, within_s: float) -> None:
        """Return after the next commit, or when the time is over."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait([waiter], timeout=within_s)
        finally:
            self._waiters.discard(waiter)
