"""A stream on which nothing comes any longer, though its connection stands.

A peer that is frozen still has a kernel that acknowledges bytes, and gRPC's keepalive may take that
for life. Peers of ours say something every beat, so silence itself ends the stream.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from intertie.errors import Reason, error

M = TypeVar("M")


async def heard_within(messages: AsyncIterator[M], silence_s: float, who: str) -> AsyncIterator[M]:
    """The messages, for as long as the next one comes in time.

    Time in which nobody asks for the next one does not count.

    Raises:
        IntertieError: DEADLINE_EXCEEDED; `who` was silent for longer.
    """
    while True:
        try:
            async with asyncio.timeout(silence_s):
                message = await anext(messages)
        except StopAsyncIteration:
            return
        except TimeoutError:
            text = f"{who} said nothing for {silence_s:g} s."
            raise error(Reason.DEADLINE_EXCEEDED, text, remedy="Attach again.") from None
        yield message
