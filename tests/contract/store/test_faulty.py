"""The faults that the faulty store injects, each seen from its caller's side."""

import asyncio

import pytest

from intertie.ports import Event, FencedError, Put, ShardCommit, StoreUnavailableError
from intertie.store.memory import MemoryStore
from intertie.testing.faulty_store import Fault, FaultyStore

_FIRST = [ShardCommit(0, 1, 1, [Put("task", "t", b"x")], [Event("t", "", b"")])]


@pytest.fixture
async def faulty() -> FaultyStore:
    store = FaultyStore(MemoryStore())
    await store.acquire(0)
    return store


async def test_a_failure_before_the_commit_applies_nothing(faulty: FaultyStore) -> None:
    faulty.inject(Fault.FAIL_BEFORE)
    with pytest.raises(StoreUnavailableError):
        await faulty.commit(_FIRST)
    assert await faulty.get(0, "task", "t") is None
    await faulty.commit(_FIRST)
    assert faulty.commits == 2


async def test_a_failure_after_the_commit_has_applied_it(faulty: FaultyStore) -> None:
    faulty.inject(Fault.FAIL_AFTER)
    with pytest.raises(StoreUnavailableError):
        await faulty.commit(_FIRST)
    assert await faulty.get(0, "task", "t") == b"x"
    assert await faulty.last_seq(0) == 1


async def test_a_fence_is_another_owner(faulty: FaultyStore) -> None:
    faulty.inject(Fault.FENCE)
    with pytest.raises(FencedError):
        await faulty.commit(_FIRST)
    assert (await faulty.acquire(0)).epoch == 3


async def test_a_delayed_commit_waits_for_its_release(faulty: FaultyStore) -> None:
    gate = faulty.delay()
    commit = asyncio.create_task(faulty.commit(_FIRST))
    await gate.reached()
    assert await faulty.get(0, "task", "t") is None
    gate.release()
    await commit
    assert await faulty.get(0, "task", "t") == b"x"


async def test_faults_strike_in_order_one_commit_each(faulty: FaultyStore) -> None:
    faulty.inject(Fault.NONE, Fault.FAIL_BEFORE)
    await faulty.commit(_FIRST)
    assert faulty.pending == 1
    with pytest.raises(StoreUnavailableError):
        await faulty.commit([])
    await faulty.commit([])


async def test_an_unreachable_store_answers_nothing_until_it_is_back(faulty: FaultyStore) -> None:
    faulty.unreachable = True
    with pytest.raises(StoreUnavailableError):
        await faulty.commit(_FIRST)
    with pytest.raises(StoreUnavailableError):
        await faulty.get(0, "task", "t")
    faulty.unreachable = False
    await faulty.commit(_FIRST)
