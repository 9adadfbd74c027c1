"""Request ids are kept for seven days and more, and then forgotten in bounded steps."""

from typing import Any

import pytest

from intertie.ports import Claim, ShardCommit, StoreUnavailableError
from intertie.store import retention
from intertie.store.memory import MemoryStore
from intertie.store.retention import Retention
from intertie.testing.clock import FakeClock
from intertie.testing.waiting import eventually

DAY_S = 24 * 3_600


async def _claim(store: MemoryStore, clock: FakeClock, *names: str, space: str = "request") -> None:
    head = await store.acquire(0)
    now_ms = clock.now().utc_ms
    claims = [Claim(space, name, "digest", "result", now_ms) for name in names]
    await store.commit([ShardCommit(0, head.epoch, 0, claims)])


async def _known(store: MemoryStore, *names: str, space: str = "request") -> set[str]:
    return {name for _, name in await store.claims([(space, name) for name in names])}


async def test_a_request_id_is_known_for_a_week_and_then_forgotten() -> None:
    store, clock = MemoryStore(), FakeClock()
    sweeper = Retention(store, clock, "request")
    await _claim(store, clock, "old")
    await _claim(store, clock, "rid", space="rid")
    clock.advance(7 * DAY_S)
    await _claim(store, clock, "young")
    assert await sweeper.sweep() == 0
    assert await _known(store, "old") == {"old"}
    clock.advance(1 * DAY_S + 1)
    assert await sweeper.sweep() == 1
    assert await _known(store, "old", "young") == {"young"}
    assert await _known(store, "rid", space="rid") == {"rid"}, "names of a log are unique for ever"


async def test_many_are_forgotten_in_bounded_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "STEP", 10)
    monkeypatch.setattr(retention, "PAUSE_S", 0.0)
    store, clock, limits = MemoryStore(), FakeClock(), []
    forget = store.forget_claims

    async def noted(space: str, before_utc_ms: int, *, limit: int) -> int:
        limits.append(limit)
        return await forget(space, before_utc_ms, limit=limit)

    monkeypatch.setattr(store, "forget_claims", noted)
    await _claim(store, clock, *(f"r{n}" for n in range(25)))
    clock.advance(9 * DAY_S)
    assert await Retention(store, clock, "request").sweep() == 25
    assert limits == [10, 10, 10]


async def test_a_store_that_is_away_is_swept_later(monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock = MemoryStore(), FakeClock()
    forget, fails = store.forget_claims, [True]

    async def failing(*args: Any, **options: Any) -> int:
        if fails.pop() if fails else False:
            raise StoreUnavailableError("full")
        return await forget(*args, **options)

    monkeypatch.setattr(store, "forget_claims", failing)
    await _claim(store, clock, "old")
    clock.advance(9 * DAY_S)
    sweeper = Retention(store, clock, "request", every_s=0.01)
    sweeper.start()

    async def gone() -> bool:
        return await _known(store, "old") == set()

    await eventually(gone, 5.0)
    await sweeper.stop()
    await sweeper.stop()
