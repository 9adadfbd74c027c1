"""Commits that fail: callers are told, the core is read back, and the store is not hammered."""

import asyncio
from typing import Any

import pytest

from intertie.clock import SystemClock
from intertie.drive.effects import Replayed
from intertie.errors import IntertieError, Reason
from intertie.store import pump as pump_module
from intertie.testing.cores.bank import Move, Notice, Promise
from intertie.testing.faulty_store import Fault
from intertie.testing.waiting import consistently, eventually

FAILURES = [Fault.FAIL_BEFORE, Fault.FAIL_AFTER, Fault.FENCE]


async def unconfirmed(answer: Any) -> None:
    with pytest.raises(IntertieError) as told:
        await answer
    assert told.value.reason is Reason.STORE_UNAVAILABLE
    assert told.value.retry_after_ms == 1_000


@pytest.mark.parametrize("fault", FAILURES)
async def test_a_failed_commit_is_told_and_a_retry_happens_once(bank: Any, fault: Fault) -> None:
    bank.store.inject(fault)
    await unconfirmed(bank.move(5, "m1"))
    answer = await bank.move(5, "m1")
    assert answer == (Replayed("m1 of 5") if fault is Fault.FAIL_AFTER else 5)
    assert await bank.move(1) == 6
    assert await bank.stored() == 6


@pytest.mark.parametrize("fault", FAILURES)
async def test_nothing_is_released_for_a_commit_that_was_not_confirmed(
    bank: Any, fault: Fault
) -> None:
    bank.store.inject(fault)
    await unconfirmed(bank.move(5))
    await bank.move(7)
    assert bank.released == [Notice("", 7)]


async def test_readers_see_an_unknown_commit_after_the_reload(bank: Any) -> None:
    bank.store.inject(Fault.FAIL_AFTER)
    await unconfirmed(bank.move(5))
    await eventually(lambda: bank.pump.is_loaded and bank.seen() == 5, 5)
    heads = bank.pump.heads.values()
    assert sum(head.last_seq for head in heads) == 2


async def test_all_callers_of_a_failed_batch_are_told(bank: Any) -> None:
    bank.store.inject(Fault.FAIL_BEFORE)
    answers = [bank.move(1) for _ in range(30)]
    for answer in answers:
        await unconfirmed(answer)
    assert await bank.move(1) == 1


async def test_a_caller_that_the_core_still_owes_an_answer_is_told(bank: Any) -> None:
    far = SystemClock().now().boot_ns + 3_600 * 10**9
    owed = bank.pump.submit(lambda ticket: Promise(ticket, far))
    await bank.move(1)
    bank.store.inject(Fault.FAIL_BEFORE)
    await unconfirmed(bank.move(1))
    await unconfirmed(owed)


async def test_while_the_store_is_away_callers_are_told_at_once(bank: Any) -> None:
    await bank.move(1)
    bank.store.unreachable = True
    for _ in range(20):
        async with asyncio.timeout(1):
            await unconfirmed(bank.move(1))
    assert not bank.pump.is_loaded
    assert bank.seen() == 1
    bank.store.unreachable = False
    await eventually(lambda: bank.pump.is_loaded, 10)
    assert await bank.move(1) == 2


async def test_messages_wait_until_the_store_is_back(bank: Any) -> None:
    bank.store.unreachable = True
    await unconfirmed(bank.move(1))
    for _ in range(5):
        bank.pump.tell(Move(0, "ann", "bob", 1))
    bank.store.unreachable = False
    await eventually(lambda: bank.seen() == 5, 10)


async def test_callers_do_not_hasten_the_next_try(
    bank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0
    acquire = bank.store.acquire

    async def counted(shard: int) -> Any:
        nonlocal tries
        tries += 1
        return await acquire(shard)

    monkeypatch.setattr(bank.store, "acquire", counted)
    monkeypatch.setattr(pump_module, "RETRY_FIRST_S", 60.0)
    monkeypatch.setattr(pump_module, "RETRY_MOST_S", 60.0)
    bank.store.unreachable = True
    for _ in range(50):
        await unconfirmed(bank.move(1))
    assert tries == 1


async def test_commits_that_always_fail_are_tried_less_and_less_often(
    bank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "RETRY_FIRST_S", 60.0)
    monkeypatch.setattr(pump_module, "RETRY_MOST_S", 60.0)
    bank.store.inject(*[Fault.FENCE] * 50)
    before = bank.store.commits
    for _ in range(3):
        bank.pump.tell(Move(0, "ann", "bob", 1))
        await eventually(lambda: not bank.pump.drive.backlog or not bank.pump.is_loaded, 5)
    bank.pump.tell(Move(0, "ann", "bob", 1))
    await consistently(lambda: bank.store.commits <= before + 2, 0.1)


async def test_a_commit_that_passes_ends_the_backoff(
    bank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "RETRY_FIRST_S", 60.0)
    monkeypatch.setattr(pump_module, "RETRY_MOST_S", 60.0)
    for _ in range(4):
        bank.store.inject(Fault.FAIL_BEFORE)
        await unconfirmed(bank.move(1))
        async with asyncio.timeout(30):
            await bank.move(1)


async def test_a_store_that_is_away_at_the_start_is_the_callers_problem(
    store: Any, start_bank: Any
) -> None:
    store.unreachable = True
    with pytest.raises(Exception, match="unreachable"):
        await start_bank()


async def test_a_second_owner_takes_over_and_the_first_does_not_write(
    bank: Any, start_bank: Any
) -> None:
    await bank.move(1)
    second = await start_bank()
    assert second.seen() == 1
    await unconfirmed(bank.move(1))
    assert await second.stored() == 1
