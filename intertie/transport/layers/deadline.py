"""A deadline for unary calls whose client set none: no call may hold resources for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from intertie.errors import Reason, error


@asynccontextmanager
async def default_deadline(seconds: float) -> AsyncIterator[None]:
    """Cancel the body after `seconds` and raise DEADLINE_EXCEEDED."""
    try:
        async with asyncio.timeout(seconds) as timeout:
            yield
    except TimeoutError as late:
        if not timeout.expired():
            raise
        raise error(
            Reason.DEADLINE_EXCEEDED,
            f"The call set no deadline and took over the server's {seconds:g} s.",
            remedy="Set a deadline that the call needs.",
        ) from late
