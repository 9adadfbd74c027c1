"""What the SQLite store does with its directory: modes, lock, versions, wrong files."""

import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from intertie.errors import IntertieError, Reason
from intertie.ports import Put, ShardCommit
from intertie.store.lock import StateDirLock
from intertie.store.open import open_store
from intertie.store.sql.migrations import MIGRATIONS
from intertie.store.sql.sqlite import SqliteDatabase


async def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "state"
    store = open_store(f"sqlite:///{directory}/store.db")
    await store.acquire(0)
    assert directory.stat().st_mode & 0o777 == 0o700
    files = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert files == dict.fromkeys(["lock", "store.db", "store.db-shm", "store.db-wal"], 0o600)
    await store.close()


async def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    await open_store(f"sqlite:///{tmp_path}/store.db").close()
    assert tmp_path.stat().st_mode & 0o777 == 0o750


async def test_a_second_process_is_refused_with_the_first_ones_pid(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    with pytest.raises(IntertieError) as caught:
        open_store(url)
    assert caught.value.reason is Reason.STATE_DIR_IN_USE
    assert caught.value.metadata["pid"] == str(os.getpid())
    await store.close()
    await open_store(url).close()


def test_a_lock_left_by_a_dead_process_does_not_bind(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("123456789 and more\n", encoding="ascii")
    lock = StateDirLock(tmp_path)
    assert (tmp_path / "lock").read_text(encoding="ascii") == f"{os.getpid()}\n"
    lock.release()
    lock.release()


async def test_a_newer_schema_is_refused_by_both_numbers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    await open_store(url).close()
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    connection.close()
    for _ in range(2):  # the refusal releases the lock
        with pytest.raises(IntertieError) as caught:
            open_store(url)
        assert caught.value.reason is Reason.STATE_DIR_NEWER
        assert caught.value.metadata["found"] == "99"
        assert caught.value.metadata["newest_known"] == str(len(MIGRATIONS))
        assert "newer" in caught.value.remedy


def _add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE claims ADD COLUMN note TEXT NOT NULL DEFAULT 'old'"))


def _break_half_way(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE half (x INTEGER)"))
    connection.execute(text("CREATE TABLE half (x INTEGER)"))


def _query(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def test_a_store_of_version_1_is_brought_to_version_2_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(f"sqlite:///{path}")
    await store.acquire(0)
    await store.commit([ShardCommit(0, 1, 0, [Put("task", "t", b"kept")])])
    await store.close()
    for _ in range(2):  # the second time there is nothing to do
        SqliteDatabase(path).migrate((*MIGRATIONS, _add_column))
    assert _query(path, "SELECT value FROM meta WHERE name = 'schema_version'") == [("2",)]
    assert _query(path, "SELECT body FROM rows") == [(b"kept",)]
    assert _query(path, "SELECT note FROM claims") == []


def test_a_migration_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database = SqliteDatabase(path)
    database.create()
    with pytest.raises(Exception, match="half"):
        database.migrate((*MIGRATIONS, _add_column, _break_half_way))
    assert _query(path, "SELECT value FROM meta WHERE name = 'schema_version'") == [("2",)]
    assert _query(path, "SELECT name FROM sqlite_master WHERE name = 'half'") == []


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database " * 1000, encoding="ascii")
    with pytest.raises(IntertieError) as caught:
        open_store(f"sqlite:///{tmp_path}/store.db")
    assert caught.value.reason is Reason.CONFIG_INVALID
    assert "store.db" in caught.value.message


async def test_the_memory_store_has_a_url(tmp_path: Path) -> None:
    store = open_store("memory:")
    assert (await store.acquire(0)).epoch == 1
    await store.close()


@pytest.mark.parametrize(
    "url",
    ["", "sqlite:///", "sqlite://store.db", "mysql://u:secret@h/d", "postgresql://u:secret@h"],
)
def test_a_url_that_names_no_store_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(IntertieError) as caught:
        open_store(url)
    assert caught.value.reason is Reason.CONFIG_INVALID
    assert "secret" not in str(caught.value)
    assert "sqlite:///PATH" in caught.value.remedy
