"""What the journal on disk survives: torn lines, damage, other versions, full disks, growth."""

import itertools
from pathlib import Path

import pytest

from intertie.errors import IntertieError, Reason
from intertie.ports import Delete, Put, ShardCommit, StoreUnavailableError
from intertie.store import journal
from intertie.store.journal import JournalStore


async def commit(store: JournalStore, epoch: int, key: str, body: bytes = b"x") -> None:
    await store.commit([ShardCommit(0, epoch, 1, changes=[Put("k", key, body)])])


async def commit_for_ever(store: JournalStore, epoch: int) -> None:
    for number in itertools.count():
        await commit(store, epoch, f"during{number}", b"w" * 4_096)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"z" * 65_536)


async def keys(store: JournalStore) -> list[str]:
    return [row.key async for row in store.scan(0, "k")]


@pytest.fixture
async def three_rows(tmp_path: Path) -> Path:
    store = JournalStore(tmp_path)
    head = await store.acquire(0)
    for key in ("a", "b", "c"):
        await commit(store, head.epoch, key)
    await store.close()
    return tmp_path / "journal"


@pytest.mark.parametrize("cut", [1, 5, 20])
async def test_a_torn_last_line_is_a_commit_that_nobody_was_told_of(
    three_rows: Path, cut: int
) -> None:
    data = three_rows.read_bytes()
    three_rows.write_bytes(data[:-cut])
    store = JournalStore(three_rows.parent)
    assert await keys(store) == ["a", "b"]
    head = await store.acquire(0)
    await commit(store, head.epoch, "d")
    await store.close()
    again = JournalStore(three_rows.parent)
    assert await keys(again) == ["a", "b", "d"]
    await again.close()


async def test_damage_before_the_end_is_refused_and_left_as_it_is(three_rows: Path) -> None:
    lines = three_rows.read_bytes().split(b"\n")
    lines[3] = lines[3][:-2] + b"??"
    damaged = b"\n".join(lines)
    three_rows.write_bytes(damaged)
    with pytest.raises(IntertieError, match="line 4 does not check") as refusal:
        JournalStore(three_rows.parent)
    assert refusal.value.reason is Reason.CONFIG_INVALID
    assert three_rows.read_bytes() == damaged


async def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    header = b'{"v":2}'
    (tmp_path / "journal").write_bytes(journal._line(header))
    with pytest.raises(IntertieError) as refusal:
        JournalStore(tmp_path)
    assert refusal.value.reason is Reason.STATE_DIR_NEWER


async def test_a_file_that_is_no_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("something else\n")
    with pytest.raises(IntertieError, match="header"):
        JournalStore(tmp_path)


async def test_a_directory_serves_one_process(three_rows: Path) -> None:
    store = JournalStore(three_rows.parent)
    with pytest.raises(IntertieError) as refusal:
        JournalStore(three_rows.parent)
    assert refusal.value.reason is Reason.STATE_DIR_IN_USE
    await store.close()
    await JournalStore(three_rows.parent).close()


async def test_an_outgrown_journal_is_rewritten_without_losing_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "COMPACT_FROM_BYTES", 10_000)
    store = JournalStore(tmp_path)
    head = await store.acquire(0)
    await commit(store, head.epoch, "stays")
    longest = 0
    for number in range(200):
        await commit(store, head.epoch, f"n{number}", b"y" * 200)
        gone = Delete("k", f"n{number}")
        await store.commit([ShardCommit(0, head.epoch, 1, changes=[gone])])
        longest = max(longest, (tmp_path / "journal").stat().st_size)
    assert longest < 12_000
    await store.close()
    again = JournalStore(tmp_path)
    assert await keys(again) == ["stays"]
    await again.close()


async def test_a_full_disk_refuses_commits_and_recovers_with_room(small_disk: Path) -> None:
    store = JournalStore(small_disk / "state")
    head = await store.acquire(0)
    await commit(store, head.epoch, "before")
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        fill(ballast)
    with pytest.raises(StoreUnavailableError):
        await commit_for_ever(store, head.epoch)
    known = await keys(store)
    ballast.unlink()
    await commit(store, head.epoch, "after")
    assert await keys(store) == sorted([*known, "after"])
    await store.close()
    again = JournalStore(small_disk / "state")
    assert await keys(again) == sorted([*known, "after"])
    await again.close()


async def test_rows_hold_any_bytes(tmp_path: Path) -> None:
    store = JournalStore(tmp_path)
    head = await store.acquire(0)
    body = bytes(range(256)) + b"\n" * 3
    await commit(store, head.epoch, "k\n\u2028", body)
    await store.close()
    again = JournalStore(tmp_path)
    assert await again.get(0, "k", "k\n\u2028") == body
    await again.close()
