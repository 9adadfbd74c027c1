"""Grants are read back from the store, in order; what cannot be read costs no later question."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from federation.adapters.grant_reads import GrantReads
from federation.domain.core import GRANT
from federation.domain.events import GrantRead, ReadGrant
from intertie.model.token import Epoch
from intertie.ports import Put, ShardCommit
from intertie.store.memory import MemoryStore
from intertie.testing.faulty_store import FaultyStore
from intertie.testing.waiting import eventually


@pytest.fixture
async def store() -> AsyncIterator[FaultyStore]:
    inner = MemoryStore()
    head = await inner.acquire(1)
    puts = [Put(GRANT, f"digest-{n}", b"grant %d" % n) for n in range(3)]
    await inner.commit([ShardCommit(1, head.epoch, 1, puts)])
    yield FaultyStore(inner)
    await inner.close()


@pytest.fixture
async def told(store: FaultyStore) -> AsyncIterator[Any]:
    """The reader, with what it told."""
    heard: list[GrantRead] = []
    reads = GrantReads(store, heard.append)
    reads.start()
    yield reads, heard
    await reads.stop()
    await reads.stop()


def asked(n: int) -> ReadGrant:
    return ReadGrant(task=f"task-{n}", epoch=Epoch(1, n), shard=1, sha256=f"digest-{n}")


async def test_grants_are_told_as_they_were_stored_in_the_order_of_the_questions(told: Any) -> None:
    reads, heard = told
    for n in (2, 0, 1):
        reads.ask(asked(n))
    await eventually(lambda: len(heard) == 3, 5.0)
    assert [(h.task, h.epoch.n, h.grant) for h in heard] == [
        (f"task-{n}", n, b"grant %d" % n) for n in (2, 0, 1)
    ]


async def test_a_store_that_is_away_costs_the_question_and_no_later_one(
    store: FaultyStore, told: Any
) -> None:
    reads, heard = told
    store.unreachable = True
    reads.ask(asked(0))
    await eventually(lambda: reads._asked.empty(), 5.0)
    store.unreachable = False
    reads.ask(asked(7))  # is not there
    reads.ask(asked(1))
    await eventually(lambda: heard, 5.0)
    assert [h.task for h in heard] == ["task-1"]
