"""A store with a queue of faults in front of a real one: each fault strikes one commit.

    store = FaultyStore(MemoryStore())
    store.inject(Fault.FAIL_AFTER)        # the next commit is applied, and its caller is not told
    gate = store.delay()                  # the one after it waits until gate.release()

Reads pass through, except while `unreachable` is set. Must not change what the inner store means.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import Enum, auto

from intertie.ports import (
    Claim,
    Row,
    ShardCommit,
    ShardHead,
    Store,
    StoredEvent,
    StoreUnavailableError,
)


class Fault(Enum):
    """What happens to one commit."""

    NONE = auto()
    """Nothing: it passes, and the faults behind it wait for later commits."""
    FAIL_BEFORE = auto()
    """StoreUnavailableError, and nothing was applied."""
    FAIL_AFTER = auto()
    """StoreUnavailableError, although all was applied: the outcome that callers must expect."""
    FENCE = auto()
    """Another owner takes the shards first, so the inner store refuses with FencedError."""


class Gate:
    """Holds one commit back, before it reaches the inner store."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def reached(self) -> None:
        """Wait until the commit stands at the gate."""
        await self._reached.wait()

    def release(self) -> None:
        """Let the commit go on."""
        self._released.set()

    async def wait(self) -> None:
        """Stand at the gate (called by the store)."""
        self._reached.set()
        await self._released.wait()


class FaultyStore:
    """`intertie.ports.Store` around another. `commits` counts the calls, faulty ones too."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.unreachable = False
        self.commits = 0
        self._faults: deque[Fault | Gate] = deque()

    def inject(self, *faults: Fault) -> None:
        """Queue faults for the next commits, one each, in order."""
        self._faults.extend(faults)

    def delay(self) -> Gate:
        """Queue a gate: one commit waits there until the test releases it."""
        gate = Gate()
        self._faults.append(gate)
        return gate

    @property
    def pending(self) -> int:
        """Faults that have not struck yet."""
        return len(self._faults)

    async def commit(self, commits: Sequence[ShardCommit]) -> None:
        """See `Store.commit`, with the next fault of the queue."""
        self.commits += 1
        fault = self._faults.popleft() if self._faults else Fault.NONE
        if isinstance(fault, Gate):
            await fault.wait()
        if fault is Fault.FAIL_BEFORE:
            raise StoreUnavailableError("injected: failed before the commit")
        if fault is Fault.FENCE:
            for shard in sorted({commit.shard for commit in commits}):
                await self.inner.acquire(shard)
        await self._reach().commit(commits)
        if fault is Fault.FAIL_AFTER:
            raise StoreUnavailableError("injected: failed after the commit")

    async def acquire(self, shard: int) -> ShardHead:
        """See `Store.acquire`."""
        return await self._reach().acquire(shard)

    async def get(self, shard: int, kind: str, key: str) -> bytes | None:
        """See `Store.get`."""
        return await self._reach().get(shard, kind, key)

    async def scan(self, shard: int, kind: str) -> AsyncIterator[Row]:
        """See `Store.scan`."""
        async for row in self._reach().scan(shard, kind):
            yield row

    async def list_rows(
        self,
        kind: str,
        scope: str,
        *,
        after: str = "",
        before: str = "",
        limit: int,
        descending: bool = False,
    ) -> Sequence[Row]:
        """See `Store.list_rows`."""
        return await self._reach().list_rows(
            kind, scope, after=after, before=before, limit=limit, descending=descending
        )

    async def events(
        self, shard: int, after: int, *, limit: int, key: str | None = None
    ) -> Sequence[StoredEvent]:
        """See `Store.events`."""
        return await self._reach().events(shard, after, limit=limit, key=key)

    async def last_seq(self, shard: int) -> int:
        """See `Store.last_seq`."""
        return await self._reach().last_seq(shard)

    async def claims(self, names: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Claim]:
        """See `Store.claims`."""
        return await self._reach().claims(names)

    async def forget_claims(self, space: str, before_utc_ms: int, *, limit: int) -> int:
        """See `Store.forget_claims`."""
        return await self._reach().forget_claims(space, before_utc_ms, limit=limit)

    async def close(self) -> None:
        """See `Store.close`; closes the inner store."""
        await self.inner.close()

    def _reach(self) -> Store:
        if self.unreachable:
            raise StoreUnavailableError("injected: unreachable")
        return self.inner
