"""The Store port over SQLite: one thread writes, a few read, the event loop only waits.

Statements are in `statements`, a commit's order in `commit`, files and settings in `sqlite`. Must
not run a statement on the caller's thread.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence

from intertie.ports import (
    Claim,
    ConflictError,
    Row,
    ShardCommit,
    ShardHead,
    StoredEvent,
)
from intertie.store.lock import StateDirLock
from intertie.store.sql.commit import ClaimTakenError, apply, first_taken
from intertie.store.sql.sqlite import SqliteDatabase
from intertie.store.sql.statements import chunks
from intertie.store.sql.threads import Readers, Writer, transaction

SCAN_PAGE_ROWS = 1000


class SqliteStore:
    """`intertie.ports.Store` over one database file, which this process must own alone.

    A cancelled `commit` may still be applied: the writer's thread does not stop in the middle.
    """

    def __init__(self, database: SqliteDatabase, lock: StateDirLock) -> None:
        self._lock = lock
        self._statements = database.statements
        self._writer = Writer(database)
        self._readers = Readers(database)

    async def acquire(self, shard: int) -> ShardHead:
        """See `Store.acquire`."""

        def bump(connection: sqlite3.Connection) -> ShardHead:
            with transaction(connection) as cursor:
                cursor.execute(self._statements.bump_epoch, (shard,))
                cursor.execute(self._statements.read_head, (shard,))
                return ShardHead(shard, *cursor.fetchone())

        return await self._writer.run(bump)

    async def commit(self, commits: Sequence[ShardCommit]) -> None:
        """See `Store.commit`."""

        def run(connection: sqlite3.Connection) -> None:
            try:
                with transaction(connection) as cursor:
                    apply(cursor, self._statements, commits, sqlite3.IntegrityError)
            except ClaimTakenError as taken:
                # In the same job: no other write may come between the refusal and the look.
                standing = first_taken(connection.cursor(), self._statements, taken.claims)
                raise ConflictError(standing) from None

        await self._writer.run(run)

    async def get(self, shard: int, kind: str, key: str) -> bytes | None:
        """See `Store.get`."""
        found = await self._readers.fetch(self._statements.get, (shard, kind, key))
        return found[0][0] if found else None

    async def scan(self, shard: int, kind: str) -> AsyncIterator[Row]:
        """See `Store.scan`: by pages, so no reader holds a snapshot while the caller works."""
        sql, after = self._statements.scan(from_start=True), ""
        while True:
            page = await self._readers.fetch(sql, (shard, kind, after, SCAN_PAGE_ROWS))
            for found in page:
                yield Row(*found)
            if len(page) < SCAN_PAGE_ROWS:
                return
            sql, after = self._statements.scan(from_start=False), page[-1][2]

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
        sql = self._statements.list_rows(bounded=bool(before), descending=descending)
        bounds = (after, before) if before else (after,)
        found = await self._readers.fetch(sql, (kind, scope, *bounds, limit))
        return [Row(*row) for row in found]

    async def events(
        self, shard: int, after: int, *, limit: int, key: str | None = None
    ) -> Sequence[StoredEvent]:
        """See `Store.events`."""
        if key is None:
            found = await self._readers.fetch(self._statements.events, (shard, after, limit))
        else:
            arguments = (shard, key, after, limit)
            found = await self._readers.fetch(self._statements.events_of_key, arguments)
        return [StoredEvent(*event) for event in found]

    async def last_seq(self, shard: int) -> int:
        """See `Store.last_seq`."""
        found = await self._readers.fetch(self._statements.read_head, (shard,))
        return found[0][1] if found else 0

    async def claims(self, names: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Claim]:
        """See `Store.claims`."""
        by_space: dict[str, list[str]] = {}
        for space, name in names:
            by_space.setdefault(space, []).append(name)
        queries = [
            (self._statements.read_claims(size), (space, *wanted[start : start + size]))
            for space, wanted in by_space.items()
            for start, size in chunks(len(wanted))
        ]
        found = [Claim(*row) for row in await self._readers.fetch_all(queries)]
        return {(claim.space, claim.name): claim for claim in found}

    async def forget_claims(self, space: str, before_utc_ms: int, *, limit: int) -> int:
        """See `Store.forget_claims`: the oldest first."""

        def forget(connection: sqlite3.Connection) -> int:
            with transaction(connection) as cursor:
                cursor.execute(self._statements.forget_claims, (space, before_utc_ms, limit))
                return cursor.rowcount

        return await self._writer.run(forget)

    async def close(self) -> None:
        """See `Store.close`: waits for what was begun."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._readers.close()
        self._writer.close()
        self._lock.release()
