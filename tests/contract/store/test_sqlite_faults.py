"""A full disk and a killed process: nothing acked is lost, nothing is half there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from intertie.ports import Change, Claim, Event, Put, ShardCommit, Store, StoreUnavailableError
from intertie.store.open import open_store

_ROWS = 7
_WRITER = f"""
import asyncio, sys
from intertie.ports import Claim, Event, Put, ShardCommit
from intertie.store.open import open_store

async def write():
    store = open_store("sqlite:///" + sys.argv[1])
    head = await store.acquire(0)
    n, seq = head.last_seq // {_ROWS}, head.last_seq + 1
    while True:
        names = [f"{{n:06}}-{{i}}" for i in range({_ROWS})]
        changes = [Put("task", name, b"x" * 500, "p", name) for name in names]
        changes += [Claim("rid", name, "", "", n) for name in names]
        events = [Event(name, "p", b"") for name in names]
        await store.commit([ShardCommit(0, head.epoch, seq, changes, events)])
        print(n, flush=True)
        n, seq = n + 1, seq + {_ROWS}

asyncio.run(write())
"""


def _write_until_killed(path: Path, acks: int) -> int:
    """Run a writer, kill -9 it after some acks; returns the last number it acked."""
    repository = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(repository)},
    ) as process:
        assert process.stdout is not None
        acked = [int(process.stdout.readline()) for _ in range(acks)]
        process.send_signal(signal.SIGKILL)
        acked += [int(line) for line in process.stdout.read().split(b"\n")[:-1]]
        assert process.wait() == -signal.SIGKILL
    return acked[-1]


async def test_a_killed_writer_loses_no_acked_commit_and_leaves_no_half(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for acks in (1, 40, 150):
        last_acked = _write_until_killed(path, acks)
        store = open_store(f"sqlite:///{path}")
        try:
            keys = [row.key async for row in store.scan(0, "task")]
            last_seq = await store.last_seq(0)
            assert last_seq >= (last_acked + 1) * _ROWS
            assert keys == [f"{i // _ROWS:06}-{i % _ROWS}" for i in range(last_seq)]
            events = await store.events(0, 0, limit=last_seq + 1)
            assert [(event.seq, event.key) for event in events] == list(enumerate(keys, 1))
            assert len(await store.claims([("rid", key) for key in keys])) == last_seq
            listed = await store.list_rows("task", "p", limit=last_seq + 1)
            assert [row.key for row in listed] == keys
        finally:
            await store.close()


async def _fill(store: Store, epoch: int, n: int) -> int:
    """Commit until the store refuses; returns the number of the refused commit."""
    while True:
        put = Put("task", f"{n:06}", os.urandom(20_000))
        changes: list[Change] = [put, Claim("rid", f"{n}", "", "", 0)]
        try:
            await store.commit([ShardCommit(0, epoch, n, changes, [Event("t", "", b"")])])
        except StoreUnavailableError:
            return n
        n += 1


async def test_a_full_disk_refuses_and_the_store_goes_on_when_there_is_space(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (1 << 20))
    store = open_store(f"sqlite:///{small_disk}/state/store.db")
    head = await store.acquire(0)
    refused = await _fill(store, head.epoch, 1)
    assert refused > 10
    assert await store.last_seq(0) == refused - 1
    assert len([row async for row in store.scan(0, "task")]) == refused - 1
    assert await store.claims([("rid", f"{refused}")]) == {}
    assert await _fill(store, head.epoch, refused) == refused
    ballast.unlink()
    again = await _fill(store, head.epoch, refused)
    assert again > refused
    await store.close()
    reopened = open_store(f"sqlite:///{small_disk}/state/store.db")
    assert await reopened.last_seq(0) == again - 1
    assert len(await reopened.events(0, 0, limit=again)) == again - 1
    await reopened.close()


async def test_a_directory_that_cannot_be_made_is_the_worlds_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnavailableError, match="file"):
        open_store(f"sqlite:///{tmp_path}/file/store.db")


async def test_our_own_mistake_is_not_taken_for_an_outage(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    await store.acquire(0)
    with pytest.raises(OverflowError):
        await store.commit([ShardCommit(0, 1, 0, [Claim("s", "n", "", "", 1 << 70)])])
    with pytest.raises(UnicodeEncodeError):
        await store.commit([ShardCommit(0, 1, 0, [Put("k", "\ud800", b"")])])
    await store.commit([ShardCommit(0, 1, 0, [Put("k", "fine", b"")])])
    await store.close()
