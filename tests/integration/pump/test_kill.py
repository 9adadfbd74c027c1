"""kill -9 at any moment: what was acked is there after the restart, and nothing is there twice."""

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from time import perf_counter

from intertie.store.open import open_store
from intertie.testing.cores.bank import (
    ACCOUNT,
    DECODERS,
    SHARDS,
    balances_after,
    decode_moved,
    numbered_move,
)

PROCESS = Path(__file__).with_name("bank_process.py")
LIVES = 8
ENOUGH_S = 8.0
"""No further life begins after this time, on a slow machine."""
OVERLAP = 40
"""Moves that the next life repeats although they were acked."""


def one_life(url: str, first: int, acks: int) -> set[int]:
    """Start, read so many acks, kill -9; what else was acked by then counts too."""
    command = [sys.executable, str(PROCESS), url, str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(acks)]
        finally:
            process.kill()
        lines += process.stdout.readlines()
    acked = {int(line) for line in lines if line.endswith("\n")}
    assert len(acked) >= acks, "the process ended by itself"
    return acked


async def read_back(url: str) -> tuple[list[tuple[str, str, int]], dict[str, int]]:
    """The log as (move, account, amount), and the balances."""
    store = await asyncio.to_thread(open_store, url)
    entries, balances = [], {}
    for shard in range(SHARDS):
        stored = await store.events(shard, 0, limit=1_000_000)
        assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
        moved = [decode_moved(event.body) for event in stored]
        entries += [(entry.move, entry.account, entry.amount) for entry in moved]
        async for row in store.scan(shard, ACCOUNT):
            balances[row.key] = DECODERS[ACCOUNT](row.body).balance
    await store.close()
    return entries, balances


async def test_killed_at_random_moments_a_bank_loses_nothing_and_doubles_nothing(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path}/state/store.sqlite"
    random = Random(20260101)
    acked: set[int] = set()
    first = 0
    enough_at = perf_counter() + ENOUGH_S
    for _ in range(LIVES):
        if perf_counter() > enough_at:
            break
        acked |= await asyncio.to_thread(one_life, url, first, random.randint(1, 150))
        unknown = next(number for number in range(len(acked) + 1) if number not in acked)
        first = max(0, unknown - OVERLAP)
    entries, balances = await read_back(url)
    times = Counter(move for move, _, _ in entries)
    lost = {number for number in acked if f"m{number}" not in times}
    assert not lost
    assert set(times.values()) == {2}, "a move is one entry for each of its two accounts"
    assert balances == balances_after(numbered_move(int(move[1:])) for move in times)
