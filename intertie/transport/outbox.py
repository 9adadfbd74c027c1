"""What waits to be written into one stream: bounded, batched, closed once.

A peer that does not read must cost a bounded amount of memory: an outbox that is full is closed,
its stream ends, and the peer attaches again; digests and re-sends repair what was lost. Must not
know what the messages say.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from google.protobuf.message import Message

from intertie.errors import IntertieError, Reason, error

M = TypeVar("M", bound=Message)

MAX_BATCH_BYTES = 1 << 20
"""A batch ends with the message that passes this; no message may be larger than 1 MiB itself."""


class Outbox(Generic[M]):
    """Messages to one peer. For one event loop.

    Args:
        most: messages that may wait.
        batch: most messages in one batch.
    """

    def __init__(self, most: int = 20_000, batch: int = 256) -> None:
        self._most = most
        self._batch = batch
        self._waiting: deque[M] = deque()
        self._wake = asyncio.Event()
        self._closed = False
        self.fault: IntertieError | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the stream is to end."""
        return self._closed

    def put(self, message: M) -> None:
        """Queue a message; dropped if the outbox is closed, which it becomes when it is full."""
        if self._closed:
            return
        if len(self._waiting) >= self._most:
            self.close(
                error(
                    Reason.RATE_LIMITED,
                    f"The peer left {self._most} messages unread.",
                    remedy="Attach again.",
                    retry_after_ms=1_000,
                )
            )
            return
        self._waiting.append(message)
        self._wake.set()

    def close(self, fault: IntertieError | None = None) -> None:
        """End the stream once what waits is taken; with a fault, at once. The first call counts."""
        if self._closed:
            return
        self._closed = True
        if fault is not None:
            self.fault = fault
            self._waiting.clear()
        self._wake.set()

    async def batches(self) -> AsyncIterator[list[M]]:
        """Batches in order, until the outbox is closed and empty."""
        while True:
            while self._waiting:
                yield self._take()
            if self._closed:
                return
            self._wake.clear()
            await self._wake.wait()

    def _take(self) -> list[M]:
        batch: list[M] = []
        size = 0
        while self._waiting and len(batch) < self._batch and size < MAX_BATCH_BYTES:
            message = self._waiting.popleft()
            size += message.ByteSize()
            batch.append(message)
        return batch
