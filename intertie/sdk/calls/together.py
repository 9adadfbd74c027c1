"""Several coroutines at once, as one: the first failure is the failure, the rest are cancelled.

`asyncio.TaskGroup` would wrap that failure into a group, and callers look for an IntertieError.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

T = TypeVar("T")


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all; return their results in order."""
    running = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*running))
    finally:
        await _end(running)


async def merged(sources: Sequence[AsyncGenerator[T, None]]) -> AsyncIterator[T]:
    """What several streams yield, as it comes; at most one item of each waits."""
    queue: asyncio.Queue[T] = asyncio.Queue(maxsize=len(sources))

    async def pump(source: AsyncGenerator[T, None]) -> None:
        async with aclosing(source) as items:
            async for item in items:
                await queue.put(item)

    pumps = [asyncio.create_task(pump(source)) for source in sources]
    done: asyncio.Future[Any] = asyncio.ensure_future(asyncio.gather(*pumps))
    try:
        while True:
            getting = asyncio.create_task(queue.get())
            both: list[asyncio.Future[Any]] = [getting, done]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                yield getting.result()
                continue
            getting.cancel()
            done.result()
            while not queue.empty():
                yield queue.get_nowait()
            return
    finally:
        done.cancel()
        await asyncio.gather(done, return_exceptions=True)
        await _end(pumps)


async def _end(tasks: "Sequence[asyncio.Task[Any]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
