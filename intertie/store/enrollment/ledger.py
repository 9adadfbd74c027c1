"""The port that enrolment needs of etcd (guarded transactions), and the same over a plain store.

etcd's client is a `Ledger` as it is. `StoreLedger` serves regions and federations without etcd: one
process owns the store, so an in-memory copy under one lock decides, and a shard of its own in the
store makes it durable. Must not know what the keys mean.
"""

import asyncio
from typing import Protocol

from intertie.errors import Reason, error
from intertie.ports import Delete as DeleteRow
from intertie.ports import FencedError, ShardCommit, Store, StoreUnavailableError
from intertie.ports import Put as PutRow
from intertie.store.etcd.port import (
    Absent,
    Entry,
    Guard,
    Listing,
    Remove,
    TxnResult,
    Unchanged,
    Write,
)

KIND = "enrollment"


class Ledger(Protocol):
    """Keys with guarded transactions; see `store.etcd.port.Membership` for the rules."""

    async def get(self, key: str) -> Entry | None:
        """Read a key."""
        ...

    async def list(self, prefix: str) -> Listing:
        """Read all keys under a prefix at one revision."""
        ...

    async def txn(
        self,
        guards: tuple[Guard, ...],
        operations: tuple[Write | Remove, ...],
        *,
        repeatable: bool = False,
    ) -> TxnResult:
        """Do all operations if all guards hold, else nothing."""
        ...


class StoreLedger:
    """See the module's text.

    Args:
        store: opened and owned by this process.
        shard: used by nobody else.
    """

    def __init__(self, store: Store, shard: int) -> None:
        self._store = store
        self._shard = shard
        self._lock = asyncio.Lock()
        self._entries: dict[str, Entry] | None = None
        self._revision = 0
        self._epoch = 0

    async def get(self, key: str) -> Entry | None:
        """Read a key."""
        async with self._lock:
            return (await self._loaded()).get(key)

    async def list(self, prefix: str) -> Listing:
        """Read all keys under a prefix."""
        async with self._lock:
            entries = await self._loaded()
            found = sorted(key for key in entries if key.startswith(prefix))
            return Listing(self._revision, tuple(entries[key] for key in found))

    async def txn(
        self,
        guards: tuple[Guard, ...],
        operations: tuple[Write | Remove, ...],
        *,
        repeatable: bool = False,
    ) -> TxnResult:
        """Do all operations if all guards hold, else nothing."""
        del repeatable  # nothing is lost between us and our own store
        async with self._lock:
            entries = await self._loaded()
            if not all(_holds(guard, entries) for guard in guards):
                standing = {g.key: entries[g.key] for g in guards if g.key in entries}
                return TxnResult(False, self._revision, standing)
            await self._commit(operations)
            self._revision += 1
            for operation in operations:
                self._apply(operation, entries)
            return TxnResult(True, self._revision)

    async def _loaded(self) -> dict[str, Entry]:
        if self._entries is None:
            try:
                self._epoch = (await self._store.acquire(self._shard)).epoch
                rows = [row async for row in self._store.scan(self._shard, KIND)]
            except StoreUnavailableError as problem:
                raise _unavailable(problem) from problem
            self._revision += 1
            self._entries = {
                row.key: Entry(row.key, row.body, self._revision, self._revision) for row in rows
            }
        return self._entries

    async def _commit(self, operations: tuple[Write | Remove, ...]) -> None:
        changes = [
            PutRow(KIND, each.key, each.value)
            if isinstance(each, Write)
            else DeleteRow(KIND, each.key)
            for each in operations
        ]
        try:
            await self._store.commit([ShardCommit(self._shard, self._epoch, 0, changes)])
        except (FencedError, StoreUnavailableError) as problem:
            self._entries = None  # it may have been applied: read it again
            raise _unavailable(problem) from problem

    def _apply(self, operation: Write | Remove, entries: dict[str, Entry]) -> None:
        if isinstance(operation, Remove):
            entries.pop(operation.key, None)
            return
        before = entries.get(operation.key)
        created = before.create_revision if before is not None else self._revision
        entries[operation.key] = Entry(operation.key, operation.value, created, self._revision)


def _holds(guard: Guard, entries: dict[str, Entry]) -> bool:
    standing = entries.get(guard.key)
    match guard:
        case Absent():
            return standing is None
        case Unchanged(mod_revision=revision):
            return standing is not None and standing.mod_revision == revision
        case _:
            raise AssertionError("a store has no leases")


def _unavailable(problem: Exception) -> Exception:
    return error(
        Reason.STORE_UNAVAILABLE,
        f"The store did not confirm: {problem}.",
        remedy="Try the same again.",
    )
