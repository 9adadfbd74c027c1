"""`Membership` without a server: etcd's rules on a dictionary, in one event loop.

For tests, and for a federation in one process. It passes the same contract suite as the real
client. Faults on demand: `away` makes every operation fail, `lose_answers` applies writes and loses
the answers, `lose_history` makes every watch start over. Nothing is durable.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field

from intertie.ports import Clock
from intertie.store.etcd.faults import EtcdUnavailableError, LeaseGoneError, OutcomeUnknownError
from intertie.store.etcd.port import (
    Absent,
    Delete,
    Entry,
    Guard,
    Lease,
    Listing,
    Put,
    Remove,
    Resync,
    TxnResult,
    Unchanged,
    UnderLease,
    WatchEvent,
    Write,
)

_NANO = 1_000_000_000


@dataclass(slots=True)
class _HeldLease:
    ttl_s: int
    ends_ns: int
    keys: set[str] = field(default_factory=set)


@dataclass(frozen=True, eq=False, slots=True)
class _Watcher:
    prefix: str
    queue: asyncio.Queue[WatchEvent | None] = field(default_factory=asyncio.Queue)


class MemoryEtcd:
    """See `port.Membership` for the operations.

    Args:
        clock: ends leases. With a clock that a test moves, call `expire` after moving it.
    """

    def __init__(self, clock: Clock) -> None:
        self.away = False
        self.lose_answers = 0
        self._clock = clock
        self._revision = 1
        self._entries: dict[str, Entry] = {}
        self._leases: dict[int, _HeldLease] = {}
        self._next_lease = 1
        self._watchers: set[_Watcher] = set()
        self._closed = False

    async def get(self, key: str) -> Entry | None:
        """Read a key."""
        self._answer(f"read {key}")
        return self._entries.get(key)

    async def list(self, prefix: str) -> Listing:
        """Read all keys under a prefix."""
        self._answer(f"list {prefix}")
        return self._listing(prefix)

    async def txn(
        self,
        guards: tuple[Guard, ...],
        operations: tuple[Write | Remove, ...],
        *,
        repeatable: bool = False,
    ) -> TxnResult:
        """Do all operations at one revision if all guards hold, else nothing."""
        assert len({o.key for o in operations}) == len(operations), "each key at most once"
        self._answer("write")
        result = self._apply(guards, operations)
        if self.lose_answers == 0:
            return result
        self.lose_answers -= 1
        if not repeatable:
            raise OutcomeUnknownError("write", "the answer was lost on purpose")
        return self._apply(guards, operations)

    async def grant(self, ttl_s: int) -> Lease:
        """Make a lease."""
        self._answer("grant a lease")
        lease, self._next_lease = self._next_lease, self._next_lease + 1
        self._leases[lease] = _HeldLease(ttl_s, self._end_of(ttl_s))
        return Lease(lease, ttl_s)

    async def renew(self, lease: int, *, timeout_s: float) -> Lease:
        """Renew a lease once."""
        self._answer(f"renew a lease within {timeout_s} s")
        held = self._leases.get(lease)
        if held is None:
            raise LeaseGoneError(lease)
        held.ends_ns = self._end_of(held.ttl_s)
        return Lease(lease, held.ttl_s)

    async def revoke(self, lease: int) -> None:
        """End a lease and delete its keys."""
        self._answer("revoke a lease")
        self._end_lease(lease)

    async def watch(self, prefix: str) -> AsyncGenerator[WatchEvent, None]:
        """Follow a prefix for ever: first a Resync, then each change once, in order."""
        watcher = _Watcher(prefix)
        self._watchers.add(watcher)
        try:
            if not self._closed:
                yield self._resync(prefix)
            while not self._closed and (event := await watcher.queue.get()) is not None:
                yield event
        finally:
            self._watchers.discard(watcher)

    async def compact(self, revision: int) -> None:
        """Forget history, of which none is kept."""
        self._answer(f"compact to {revision}")

    async def close(self) -> None:
        """End all watches; idempotent."""
        self._closed = True
        for watcher in self._watchers:
            watcher.queue.put_nowait(None)

    def expire(self) -> None:
        """End the leases whose time is over; happens by itself as real time passes."""
        now_ns = self._clock.now().boot_ns
        for lease in [n for n, held in self._leases.items() if held.ends_ns <= now_ns]:
            self._end_lease(lease)

    def lose_history(self) -> None:
        """Make every watch tell everything again, as after a compaction."""
        for watcher in self._watchers:
            watcher.queue.put_nowait(self._resync(watcher.prefix))

    def _answer(self, doing: str) -> None:
        if self.away or self._closed:
            raise EtcdUnavailableError(doing, "it is away")
        self.expire()

    def _end_of(self, ttl_s: int) -> int:
        asyncio.get_running_loop().call_later(ttl_s + 0.001, self.expire)
        return self._clock.now().boot_ns + ttl_s * _NANO

    def _listing(self, prefix: str) -> Listing:
        entries = [entry for key, entry in self._entries.items() if key.startswith(prefix)]
        return Listing(self._revision, tuple(sorted(entries, key=lambda entry: entry.key)))

    def _resync(self, prefix: str) -> Resync:
        listing = self._listing(prefix)
        return Resync(listing.revision, listing.entries)

    def _apply(
        self, guards: tuple[Guard, ...], operations: tuple[Write | Remove, ...]
    ) -> TxnResult:
        if not all(self._holds(guard) for guard in guards):
            keys = [guard.key for guard in guards if guard.key in self._entries]
            return TxnResult(False, self._revision, {key: self._entries[key] for key in keys})
        for operation in operations:
            lease = operation.lease if isinstance(operation, Write) else 0
            if lease and lease not in self._leases:
                raise LeaseGoneError(lease)
        self._commit(operations)
        return TxnResult(True, self._revision)

    def _holds(self, guard: Guard) -> bool:
        entry = self._entries.get(guard.key)
        match guard:
            case Absent():
                return entry is None
            case Unchanged():
                return entry is not None and entry.mod_revision == guard.mod_revision
            case UnderLease():
                return entry is not None and entry.lease == guard.lease

    def _commit(self, operations: Iterable[Write | Remove]) -> None:
        """Apply all operations at the next revision; deleting nothing makes no revision."""
        revision = self._revision + 1
        for operation in operations:
            old = self._entries.pop(operation.key, None)
            if old is not None and old.lease:
                self._leases[old.lease].keys.discard(old.key)
            if isinstance(operation, Write):
                self._tell(Put(self._write(operation, old, revision)))
            elif old is not None:
                self._tell(Delete(old.key, revision))
            else:
                continue
            self._revision = revision

    def _write(self, write: Write, old: Entry | None, revision: int) -> Entry:
        created = revision if old is None else old.create_revision
        entry = Entry(write.key, write.value, created, revision, write.lease)
        self._entries[write.key] = entry
        if write.lease:
            self._leases[write.lease].keys.add(write.key)
        return entry

    def _end_lease(self, lease: int) -> None:
        held = self._leases.get(lease)
        if held is not None:
            self._commit([Remove(key) for key in sorted(held.keys)])
            del self._leases[lease]

    def _tell(self, event: Put | Delete) -> None:
        key = event.entry.key if isinstance(event, Put) else event.key
        for watcher in self._watchers:
            if key.startswith(watcher.prefix):
                watcher.queue.put_nowait(event)
