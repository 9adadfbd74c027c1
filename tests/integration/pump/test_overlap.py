"""A crowd does not wait for the disk: its batch is decided meanwhile, and told after its commit."""

import asyncio
from typing import Any

import pytest

from intertie.errors import IntertieError, Reason
from intertie.store.pump import CROWD
from intertie.testing.cores.bank import Break
from intertie.testing.faulty_store import Fault
from intertie.testing.waiting import eventually


async def held_up(bank: Any) -> tuple[Any, asyncio.Future[object]]:
    """A commit that does not end, and who waits for it."""
    gate = bank.store.delay()
    first = bank.move(1)
    await eventually(lambda: bank.pump.drive.backlog == 0, 5, what="the first batch")
    return gate, first


async def test_a_crowd_is_decided_while_a_commit_runs_and_told_after_it(bank: Any) -> None:
    gate, first = await held_up(bank)
    crowd = [bank.move(1, f"m{n}") for n in range(CROWD)]
    await eventually(lambda: bank.pump.drive.backlog == 0, 5, what="the second batch")
    assert bank.seen() == 0
    assert not first.done()
    assert not any(answer.done() for answer in crowd)
    gate.release()
    assert [await first, *[await answer for answer in crowd]] == list(range(1, CROWD + 2))
    assert bank.seen() == await bank.stored() == CROWD + 1


async def test_few_wait_for_the_running_commit(bank: Any) -> None:
    gate, first = await held_up(bank)
    few = [bank.move(1) for _ in range(CROWD - 1)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert bank.pump.drive.backlog == CROWD - 1
    gate.release()
    await asyncio.gather(first, *few)
    assert bank.seen() == CROWD


async def test_a_crowd_behind_a_failed_commit_is_told_and_may_retry(bank: Any) -> None:
    gate, first = await held_up(bank)
    bank.store.inject(Fault.FAIL_AFTER)
    second = [bank.move(1, f"m{n}") for n in range(CROWD)]
    await eventually(lambda: bank.pump.drive.backlog == 0, 5, what="the second batch")
    third = [bank.move(1, f"n{n}") for n in range(CROWD)]
    gate.release()
    await first
    for answer in (*second, *third):
        with pytest.raises(IntertieError) as told:
            await answer
        assert told.value.reason is Reason.STORE_UNAVAILABLE
    await eventually(lambda: bank.pump.is_loaded, 5, what="the core")
    names = [f"{letter}{n}" for letter in "mn" for n in range(CROWD)]
    await asyncio.gather(*[bank.move(1, name) for name in names])
    assert bank.seen() == await bank.stored() == 2 * CROWD + 1


async def test_a_fault_in_the_batch_behind_leaves_the_running_commit_its_answer(bank: Any) -> None:
    gate, first = await held_up(bank)
    crowd = [bank.move(1) for _ in range(CROWD)]
    bank.pump.tell(Break())
    await asyncio.sleep(0)
    gate.release()
    assert await first == 1
    for answer in crowd:
        with pytest.raises(IntertieError):
            await answer
    with pytest.raises(AssertionError):
        await bank.pump.ended()
