"""SQLite's side of the SQL store: files, connections and their settings. Knows no table."""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from intertie.store.sql.migrations import MIGRATIONS, Migration, migrate
from intertie.store.sql.statements import Statements

_BUSY_TIMEOUT_S = 5.0
_CACHED_STATEMENTS = 256
_WRITER_CACHE_KIB = 64 * 1024
_WAL_PAGES = 4000  # 16 MiB between two checkpoints: each page is then written back once, not often
_WAL_KEPT_BYTES = 64 << 20


class SqliteDatabase:
    """One database file. Opens connections; the caller closes them.

    WAL with synchronous=FULL: a commit has reached the disk when it returns, readers never wait.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.statements = Statements(sqlite_dialect(paramstyle="qmark"))

    def create(self) -> None:
        """Make the file, readable by its owner only; SQLite gives -wal and -shm the same mode."""
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def migrate(self, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
        """Bring the tables to this version's schema."""
        engine = self._engine()
        try:
            with engine.connect() as connection:
                migrate(connection, migrations, str(self.path))
        except DBAPIError as wrapped:
            raise wrapped.orig or wrapped from None
        finally:
            engine.dispose()

    def connect_writer(self) -> sqlite3.Connection:
        """The one connection that writes. It begins and ends transactions only when told."""
        return self._connect(
            "rw",
            "journal_mode=WAL",
            "synchronous=FULL",
            f"cache_size=-{_WRITER_CACHE_KIB}",
            f"wal_autocheckpoint={_WAL_PAGES}",
            f"journal_size_limit={_WAL_KEPT_BYTES}",
            "temp_store=MEMORY",
        )

    def connect_reader(self) -> sqlite3.Connection:
        """A connection that cannot write."""
        return self._connect("ro", "query_only=ON")

    def _connect(self, mode: str, *settings: str) -> sqlite3.Connection:
        # A connection is used by one thread at a time, but closed by another.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=_BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_CACHED_STATEMENTS,
        )
        try:
            for setting in settings:
                connection.execute(f"PRAGMA {setting}").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    def _engine(self) -> Engine:
        engine = create_engine("sqlite://", creator=self.connect_writer, poolclass=NullPool)

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            # The driver begins no transaction for DDL by itself.
            connection.exec_driver_sql("BEGIN IMMEDIATE")

        return engine
