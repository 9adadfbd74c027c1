"""How a pump ends: stopped, cancelled around, or broken by a fault of ours."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.testing.cores.bank import Break, Promise
from intertie.testing.waiting import consistently


async def refused(answer: Any, reason: Reason) -> None:
    with pytest.raises(IntertieError) as told:
        await asyncio.wait_for(answer, 5)
    assert told.value.reason is reason


def far() -> int:
    return SystemClock().now().boot_ns + 3_600 * 10**9


async def test_stopping_finishes_the_batch_that_runs(bank: Any) -> None:
    gate = bank.store.delay()
    begun = bank.move(5)
    await gate.reached()
    queued = bank.move(6)
    stopping = asyncio.ensure_future(bank.pump.stop())
    await consistently(lambda: not stopping.done(), 0.05)
    gate.release()
    await asyncio.wait_for(stopping, 5)
    assert await begun == 5
    await refused(queued, Reason.SHUTTING_DOWN)
    assert await bank.stored() == 5


async def test_stopping_refuses_those_who_are_owed_an_answer(bank: Any) -> None:
    owed = bank.pump.submit(lambda ticket: Promise(ticket, far()))
    await bank.move(1)
    await bank.pump.stop()
    await refused(owed, Reason.SHUTTING_DOWN)


async def test_after_stopping_nobody_is_taken_in(bank: Any) -> None:
    await bank.pump.stop()
    with pytest.raises(IntertieError) as told:
        bank.move(1)
    assert told.value.reason is Reason.SHUTTING_DOWN
    await bank.pump.room(0)


async def test_stopping_twice_is_as_stopping_once(bank: Any) -> None:
    await asyncio.gather(bank.pump.stop(), bank.pump.stop())
    await bank.pump.stop()
    await bank.pump.ended()


async def test_stopping_while_the_store_is_away_does_not_wait_for_it(bank: Any) -> None:
    bank.store.unreachable = True
    await refused(bank.move(1), Reason.STORE_UNAVAILABLE)
    async with asyncio.timeout(1):
        await bank.pump.stop()


async def test_a_commit_is_not_cancelled_with_whoever_stops_the_pump(bank: Any) -> None:
    gate = bank.store.delay()
    begun = bank.move(5)
    await gate.reached()
    stopping = asyncio.ensure_future(bank.pump.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    gate.release()
    assert await asyncio.wait_for(begun, 5) == 5
    assert await bank.stored() == 5


async def test_whoever_waits_for_the_end_does_not_bring_it_about(bank: Any) -> None:
    waiting = asyncio.ensure_future(bank.pump.ended())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await bank.move(1) == 1


async def test_a_failed_assertion_of_the_core_ends_the_pump_loudly(bank: Any) -> None:
    owed = bank.pump.submit(lambda ticket: Promise(ticket, far()))
    await bank.move(1)
    ended = asyncio.ensure_future(bank.pump.ended())
    with_it = bank.move(2)
    broke = bank.pump.submit(Break)
    for answer in (owed, with_it, broke):
        await refused(answer, Reason.INTERNAL)
    with pytest.raises(AssertionError, match="knows no Break"):
        await ended
    assert await bank.stored() == 1


async def test_a_broken_pump_refuses_what_was_queued_and_what_comes(start_bank: Any) -> None:
    bank = await start_bank(max_batch=1)
    broke = bank.pump.submit(Break)
    queued = bank.move(2)
    await refused(broke, Reason.INTERNAL)
    await refused(queued, Reason.SHUTTING_DOWN)
    with pytest.raises(IntertieError) as told:
        bank.move(1)
    assert told.value.reason is Reason.SHUTTING_DOWN
    with pytest.raises(AssertionError):
        await bank.pump.ended()


async def test_stopping_a_broken_pump_does_not_raise(bank: Any) -> None:
    bank.pump.tell(Break())
    with pytest.raises(AssertionError):
        await bank.pump.ended()
    await bank.pump.stop()


async def test_whoever_waits_for_room_is_let_go_when_the_pump_breaks(start_bank: Any) -> None:
    bank = await start_bank(max_batch=1)
    bank.pump.tell(Break())
    for _ in range(5):
        bank.pump.tell(Promise(0, far()))
    await asyncio.wait_for(bank.pump.room(1), 5)
    with pytest.raises(AssertionError):
        await bank.pump.ended()


async def test_a_release_that_raises_ends_the_pump_after_its_answers(bank: Any) -> None:
    def broken(effects: Sequence[object]) -> None:
        raise ZeroDivisionError("the shell")

    bank.on_release = broken
    assert await bank.move(5) == 5
    with pytest.raises(ZeroDivisionError):
        await bank.pump.ended()
    assert await bank.stored() == 5


async def test_callers_of_a_pump_that_never_began_are_refused_when_it_stops(bank: Any) -> None:
    idle = type(bank)(bank.store, SystemClock(), 2_000)
    waiting = idle.move(5)
    await idle.pump.stop()
    await refused(waiting, Reason.SHUTTING_DOWN)
