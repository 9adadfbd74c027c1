"""What callers of a pump get, and when: answers, order, callers that went away, room."""

import asyncio
from typing import Any

import pytest

from intertie.drive.effects import Replayed
from intertie.errors import IntertieError, Reason
from intertie.store import pump as pump_module
from intertie.testing.cores.bank import Move, Notice
from intertie.testing.waiting import consistently, eventually


async def test_an_answer_means_that_the_change_is_stored_and_seen(bank: Any) -> None:
    assert await bank.move(5) == 5
    assert bank.seen() == 5
    assert await bank.stored() == 5
    assert bank.released == [Notice("", 5)]
    assert len(bank.logged) == 2


async def test_a_refusal_of_the_core_is_raised_to_its_caller(bank: Any) -> None:
    with pytest.raises(IntertieError, match="amount") as refused:
        await bank.move(-5)
    assert refused.value.reason is Reason.INVALID_FIELD


async def test_a_retry_is_answered_with_what_was_made(bank: Any) -> None:
    assert await bank.move(5, "m1") == 5
    assert await bank.move(5, "m1") == Replayed("m1 of 5")
    with pytest.raises(IntertieError) as refused:
        await bank.move(6, "m1")
    assert refused.value.reason is Reason.REQUEST_ID_REUSED
    assert bank.seen() == 5


async def test_retries_at_the_same_time_make_one_change(bank: Any) -> None:
    answers = await asyncio.gather(*(bank.move(5, "m1") for _ in range(50)))
    assert sorted(map(repr, answers)) == sorted(["5"] + [repr(Replayed("m1 of 5"))] * 49)
    assert await bank.stored() == 5


async def test_what_is_submitted_together_shares_one_commit(bank: Any) -> None:
    before = bank.store.commits
    answers = await asyncio.gather(*(bank.move(1) for _ in range(200)))
    assert answers == list(range(1, 201))
    assert bank.store.commits == before + 1


async def test_nothing_leaves_while_the_commit_runs(bank: Any) -> None:
    gate = bank.store.delay()
    answer = bank.move(5)
    await gate.reached()
    await consistently(lambda: not answer.done() and not bank.released, 0.05)
    assert bank.seen() == 0
    gate.release()
    assert await answer == 5
    assert bank.released == [Notice("", 5)]


async def test_what_comes_during_a_commit_shares_the_next_one(bank: Any) -> None:
    before = bank.store.commits
    gate = bank.store.delay()
    first = bank.move(1)
    await gate.reached()
    later = [bank.move(1) for _ in range(20)]
    gate.release()
    await asyncio.gather(first, *later)
    assert bank.store.commits == before + 2


async def test_a_caller_that_goes_away_leaves_its_change_and_the_pump_alone(bank: Any) -> None:
    gate = bank.store.delay()
    gone = asyncio.ensure_future(bank.pump.ask(lambda t: Move(t, "ann", "bob", 5)))
    await gate.reached()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    gate.release()
    assert await bank.move(1) == 6
    assert await bank.stored() == 6


async def test_events_that_are_told_are_handled_without_an_answer(bank: Any) -> None:
    for _ in range(10):
        bank.pump.tell(Move(0, "ann", "bob", 1))
    await eventually(lambda: bank.seen() == 10, 5)
    assert await bank.stored() == 10


async def test_whoever_tells_a_lot_waits_for_room(bank: Any) -> None:
    gate = bank.store.delay()
    first = bank.move(1)
    await gate.reached()
    for _ in range(10):
        bank.pump.tell(Move(0, "ann", "bob", 1))
    room = asyncio.ensure_future(bank.pump.room(5))
    await consistently(lambda: not room.done(), 0.05)
    gate.release()
    await asyncio.wait_for(room, 5)
    assert await first == 1


async def test_callers_beyond_the_limit_are_told_to_come_back(
    bank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "MAX_WAITING", 3)
    gate = bank.store.delay()
    waiting = [bank.move(1) for _ in range(3)]
    with pytest.raises(IntertieError) as refused:
        bank.move(1)
    assert refused.value.reason is Reason.RATE_LIMITED
    await gate.reached()
    gate.release()
    await asyncio.gather(*waiting)
    assert await bank.move(1) == 4
