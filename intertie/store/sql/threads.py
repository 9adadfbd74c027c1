"""The threads that touch the database, and the connections that belong to them."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from intertie.ports import StoreUnavailableError
from intertie.store.sql.failures import translated
from intertie.store.sql.sqlite import SqliteDatabase

READER_THREADS = 2

T = TypeVar("T")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Cursor]:
    """BEGIN, then COMMIT or, after any error, ROLLBACK."""
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    try:
        yield cursor
        cursor.execute("COMMIT")
    except BaseException:
        # A full disk may have rolled back already.
        if connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise
    finally:
        cursor.close()


class _Threads:
    """A pool that refuses work once it is closed."""

    def __init__(self, database: SqliteDatabase, count: int, name: str) -> None:
        self._database = database
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def _submit(self, job: Callable[[], T]) -> T:
        try:
            future = self._executor.submit(job)
        except RuntimeError:
            raise StoreUnavailableError("the store is closed") from None
        return await asyncio.wrap_future(future)


class Writer(_Threads):
    """Runs jobs one after the other on the one connection that writes.

    After a refusal of the database the connection is replaced, so that nothing half-done or cached
    outlives it and the next job finds what the disk has.
    """

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database, 1, "store-writer")
        self._connection: sqlite3.Connection | None = None

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run `job` in the writer's thread."""
        return await self._submit(lambda: self._run(job))

    def close(self) -> None:
        """Finish what was begun and close; idempotent. Blocks."""
        self._executor.shutdown(wait=True)
        self._drop_connection()

    def _run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with translated(str(self._database.path)):
            try:
                if self._connection is None:
                    self._connection = self._database.connect_writer()
                return job(self._connection)
            except sqlite3.Error:
                self._drop_connection()
                raise

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):  # a checkpoint at closing may meet the same full disk
                self._connection.close()
            self._connection = None


class Readers(_Threads):
    """Runs queries, each on a snapshot that has every commit that has returned."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database, READER_THREADS, "store-reader")
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> list[Any]:
        """All rows of one query."""
        return await self.fetch_all([(sql, arguments)])

    async def fetch_all(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """All rows of several queries, each on its own snapshot."""
        return await self._submit(lambda: self._fetch(queries))

    def close(self) -> None:
        """Finish what was begun and close; idempotent. Blocks."""
        self._executor.shutdown(wait=True)
        while self._opened:
            self._opened.pop().close()

    def _fetch(self, queries: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        with translated(str(self._database.path)):
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._database.connect_reader()
                self._local.connection = connection
                self._opened.append(connection)
            found: list[Any] = []
            for sql, arguments in queries:
                found += connection.execute(sql, arguments).fetchall()
            return found
