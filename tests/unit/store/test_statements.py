"""The statements: portable text, few shapes, and plans that read only what they return."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Dialect
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql.base import PGDialect

from intertie.store.sql.sqlite import SqliteDatabase
from intertie.store.sql.statements import CHUNK_ROWS, Statements, chunks

_postgresql: Callable[..., Dialect] = PGDialect
_PLACEHOLDERS = {
    "read_head": 1,
    "bump_epoch": 1,
    "hold": 2,
    "advance": 4,
    "get": 3,
    "events": 3,
    "events_of_key": 4,
}


@pytest.mark.parametrize(
    ("dialect", "mark"),
    [(sqlite.dialect(paramstyle="qmark"), "?"), (_postgresql(paramstyle="format"), "%s")],
    ids=["sqlite", "postgresql"],
)
def test_both_dialects_bind_the_same_arguments(dialect: Dialect, mark: str) -> None:
    statements = Statements(dialect)
    for name, count in _PLACEHOLDERS.items():
        assert getattr(statements, name).count(mark) == count, name
    assert statements.insert_claims(3).count(mark) == 15
    assert statements.insert_events(3).count(mark) == 15
    assert statements.put_rows(3).count(mark) == 18
    assert statements.delete_rows(3).count(mark) == 5
    assert statements.read_claims(3).count(mark) == 4
    assert statements.forget_claims.count(mark) == 3
    assert statements.scan(from_start=True).count(mark) == 4
    assert statements.list_rows(bounded=False, descending=True).count(mark) == 4
    assert statements.list_rows(bounded=True, descending=False).count(mark) == 5


@given(count=st.integers(0, 5 * CHUNK_ROWS))
def test_chunks_cover_everything_once_in_a_few_sizes(count: int) -> None:
    cut = list(chunks(count))
    assert [place for start, size in cut for place in range(start, start + size)] == [*range(count)]
    assert {size for _, size in cut} <= {1 << power for power in range(20)}
    assert all(size <= CHUNK_ROWS for _, size in cut)


@pytest.fixture
def database(tmp_path: Path) -> SqliteDatabase:
    made = SqliteDatabase(tmp_path / "store.db")
    made.create()
    made.migrate()
    return made


@pytest.fixture
def connection(database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    opened = database.connect_writer()
    yield opened
    opened.close()


def test_no_read_sorts_or_walks_a_whole_table(
    database: SqliteDatabase, connection: sqlite3.Connection
) -> None:
    statements = database.statements
    expected_index = {
        statements.get: "sqlite_autoindex_rows_1",
        statements.scan(from_start=True): "sqlite_autoindex_rows_1",
        statements.scan(from_start=False): "sqlite_autoindex_rows_1",
        statements.list_rows(bounded=True, descending=True): "rows_listed",
        statements.list_rows(bounded=False, descending=False): "rows_listed",
        statements.events: "sqlite_autoindex_events_1",
        statements.events_of_key: "events_of_key",
        statements.read_claims(8): "PRIMARY KEY",
    }
    for sql, index in expected_index.items():
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", ("x",) * sql.count("?")).fetchall()
        (step,) = [row[3] for row in plan]
        assert step.startswith("SEARCH"), sql
        assert index in step, sql


def test_a_reading_connection_cannot_write(
    database: SqliteDatabase, connection: sqlite3.Connection
) -> None:
    reader = database.connect_reader()
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("DELETE FROM meta")
    reader.close()


def test_the_writer_is_durable_at_commit(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
