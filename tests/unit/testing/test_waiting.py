"""`intertie.testing.waiting`: what tests wait with."""

from collections.abc import Iterator

import pytest

from intertie.testing.waiting import (
    NeverHappenedError,
    consistently,
    eventually,
    eventually_sync,
    let_pass,
)


def counter() -> Iterator[int]:
    return iter(range(1_000_000))


async def test_eventually_returns_the_first_true_value() -> None:
    numbers = counter()
    assert await eventually(lambda: next(numbers), within_s=5) == 1


async def test_eventually_awaits_a_coroutine_function() -> None:
    numbers = counter()

    async def beyond_two() -> bool:
        return next(numbers) > 2

    assert await eventually(beyond_two, within_s=5)
    assert next(numbers) == 4


async def test_a_failed_assertion_means_not_yet() -> None:
    numbers = counter()

    def asserted() -> bool:
        assert next(numbers) == 3
        return True

    assert await eventually(asserted, within_s=5)


async def test_giving_up_names_the_condition_and_the_last_value() -> None:
    with pytest.raises(NeverHappenedError, match=r"the lease did not happen within 0 s.*\[\]"):
        await eventually(list, within_s=0, what="the lease")


async def test_an_error_that_is_no_assertion_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        await eventually(lambda: 1 // 0, within_s=5)


def test_the_synchronous_form_behaves_the_same() -> None:
    numbers = counter()

    def asserted() -> int:
        number = next(numbers)
        assert number > 0
        return number - 1

    assert eventually_sync(asserted, within_s=5) == 1
    with pytest.raises(NeverHappenedError, match="last seen: 0"):
        eventually_sync(lambda: 0, within_s=0)


async def test_consistently_fails_at_the_first_false_value() -> None:
    await consistently(lambda: True, for_s=0.02)
    numbers = counter()
    with pytest.raises(AssertionError, match="quiet stopped being true"):
        await consistently(lambda: next(numbers) < 2, for_s=60, what="quiet")


async def test_time_that_passes_must_be_a_named_fault() -> None:
    await let_pass(0, why="an instant of silence")
    with pytest.raises(AssertionError, match="which fault"):
        await let_pass(0, why="")
