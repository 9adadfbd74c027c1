"""A stream on which nothing comes, though its connection stands."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from intertie.errors import IntertieError, Reason
from intertie.transport.layers.silence import heard_within


async def words(*said: int) -> AsyncIterator[int]:
    for word in said:
        yield word


async def forever() -> AsyncIterator[int]:
    yield 1
    await asyncio.Event().wait()


async def test_what_comes_in_time_is_passed_on_to_its_end() -> None:
    assert [word async for word in heard_within(words(0, 0, 0), 5.0, "eu")] == [0, 0, 0]


async def test_silence_ends_the_stream_and_says_who_was_silent() -> None:
    heard = heard_within(forever(), 0.05, "eu")
    assert await anext(heard) == 1
    with pytest.raises(IntertieError, match=r"eu said nothing for 0\.05 s") as caught:
        await anext(heard)
    assert caught.value.reason is Reason.DEADLINE_EXCEEDED
