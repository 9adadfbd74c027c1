"""Wait for a condition, with a bound: the only place where tests let time pass.

A test that slept instead would be slow on a fast machine and wrong on a slow one. Nothing in
production may import this.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

T = TypeVar("T")

PAUSE_S = 0.01


class NeverHappenedError(AssertionError):
    """The condition did not become true within its bound."""

    def __init__(self, what: str, within_s: float, last: object) -> None:
        super().__init__(f"{what} did not happen within {within_s} s; last seen: {last!r}")


@overload
async def eventually(
    condition: Callable[[], Awaitable[T]], within_s: float, every_s: float = ..., *, what: str = ...
) -> T: ...
@overload
async def eventually(
    condition: Callable[[], T], within_s: float, every_s: float = ..., *, what: str = ...
) -> T: ...
async def eventually(
    condition: Callable[[], object],
    within_s: float,
    every_s: float = PAUSE_S,
    *,
    what: str = "the condition",
) -> object:
    """Call `condition` until it returns something true, and return that.

    `condition` is a plain or a coroutine function. An AssertionError from it counts as not yet, so
    it may be written with asserts (then ending in `return True`). Raises NeverHappenedError.
    """
    give_up_at = time.perf_counter() + within_s
    while True:
        try:
            answer = condition()
            value = await answer if inspect.isawaitable(answer) else answer
        except AssertionError as not_yet:
            last: object = not_yet
        else:
            if value:
                return value
            last = value
        if time.perf_counter() >= give_up_at:
            raise NeverHappenedError(what, within_s, last)
        await asyncio.sleep(every_s)


def eventually_sync(
    condition: Callable[[], T],
    within_s: float,
    every_s: float = PAUSE_S,
    *,
    what: str = "the condition",
) -> T:
    """Do as `eventually` does, for tests without an event loop."""
    give_up_at = time.perf_counter() + within_s
    while True:
        try:
            value = condition()
        except AssertionError as not_yet:
            last: object = not_yet
        else:
            if value:
                return value
            last = value
        if time.perf_counter() >= give_up_at:
            raise NeverHappenedError(what, within_s, last)
        time.sleep(every_s)


async def consistently(
    condition: Callable[[], object],
    for_s: float,
    every_s: float = PAUSE_S,
    *,
    what: str = "the condition",
) -> None:
    """Assert that `condition` stays true for `for_s`: it shows that a thing never happens."""
    stop_at = time.perf_counter() + for_s
    while time.perf_counter() < stop_at:
        assert condition(), f"{what} stopped being true"
        await asyncio.sleep(every_s)


async def let_pass(duration_s: float, why: str) -> None:
    """Let real time pass because it is the fault itself: a freeze, a silence. `why` names it.

    Never a way to wait for something: what is hoped for afterwards is awaited by `eventually`.
    """
    assert why, "say which fault takes this time"
    await asyncio.sleep(duration_s)
