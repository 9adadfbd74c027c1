"""Timers of a core under load, under a clock that stands still, and behind a chatty release."""

import asyncio
from typing import Any

import pytest

from intertie.clock import SystemClock
from intertie.store import pump as pump_module
from intertie.testing.clock import FakeClock
from intertie.testing.cores.bank import Move, Promise
from intertie.testing.waiting import consistently, eventually

MS = 1_000_000


async def test_a_tick_comes_at_the_deadline_of_the_core(bank: Any) -> None:
    clock = SystemClock()
    await bank.move(5)
    due_ns = clock.now().boot_ns + 50 * MS
    assert await bank.pump.ask(lambda ticket: Promise(ticket, due_ns)) == 0
    late_ns = clock.now().boot_ns - due_ns
    assert 0 <= late_ns < 1_000 * MS


async def test_no_tick_comes_while_the_clock_stands_still(
    start_bank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "SLEEP_MOST_S", 0.01)
    clock = FakeClock()
    bank = await start_bank(clock)
    due_ns = clock.now().boot_ns + 20 * MS
    promised = bank.pump.submit(lambda ticket: Promise(ticket, due_ns))
    await consistently(lambda: not promised.done(), 0.1)
    clock.advance(0.02)
    assert await asyncio.wait_for(promised, 5) == 0


async def test_a_deadline_that_passed_during_a_suspend_is_seen_without_an_event(
    start_bank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump_module, "SLEEP_MOST_S", 0.02)
    clock = FakeClock()
    bank = await start_bank(clock)
    promised = bank.pump.submit(
        lambda ticket: Promise(ticket, clock.now().boot_ns + 3_600_000 * MS)
    )
    await eventually(lambda: bank.pump.drive.deadline is not None, 5)
    clock.advance(3_600)
    assert await asyncio.wait_for(promised, 5) == 0


async def test_a_flood_of_events_does_not_starve_ticks(start_bank: Any) -> None:
    bank = await start_bank(max_batch=10)
    flooding = True

    async def flood() -> None:
        while flooding:
            await bank.pump.room(50)
            bank.pump.tell(Move(0, "ann", "bob", 1))

    flood_task = asyncio.ensure_future(flood())
    try:
        await eventually(lambda: bank.seen() > 50, 10)
        for _ in range(5):
            due_ns = SystemClock().now().boot_ns + 10 * MS
            await asyncio.wait_for(bank.pump.ask(lambda t: Promise(t, due_ns)), 5)  # noqa: B023 - made at once
    finally:
        flooding = False
        await flood_task


async def test_a_release_that_tells_the_pump_does_not_hold_the_event_loop(bank: Any) -> None:
    told = 0

    def again(effects: object) -> None:
        nonlocal told
        told += 1
        bank.pump.tell(Move(0, "ann", "bob", 1))

    bank.on_release = again
    await bank.move(1)
    await eventually(lambda: told > 20, 10)
    bank.on_release = lambda effects: None
    await eventually(lambda: not bank.pump.drive.backlog, 10)
