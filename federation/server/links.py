"""The links of regions that stand now, and what waits to be sent on each.

A queue is bounded: a region that does not take what it is sent loses its link, and digests repair
what was lost. Must not know what the messages mean.
"""

import asyncio
from collections import deque
from collections.abc import Sequence

from intertie.errors import IntertieError, Reason, error
from intertie.model.link import FromFederation, RegionHello

MAX_QUEUED = 20_000
BATCH = 200
"""Messages in one message of the stream."""


class Link:
    """One stream: a queue of messages to a region."""

    def __init__(self, number: int, hello: RegionHello) -> None:
        self.number = number
        self.hello = hello
        self.ended: IntertieError | None = None
        self._queue: deque[FromFederation] = deque()
        self._wake = asyncio.Event()
        self._closed = False

    def send(self, message: FromFederation) -> None:
        """Queue a message; lost if the link is closed."""
        if self._closed:
            return
        if len(self._queue) >= MAX_QUEUED:
            self.close(
                error(
                    Reason.RATE_LIMITED,
                    f"{self.hello.region} has not taken {MAX_QUEUED} messages.",
                    remedy="Attach again; digests repair what was lost.",
                )
            )
            return
        self._queue.append(message)
        self._wake.set()

    def close(self, reason: IntertieError | None = None) -> None:
        """End the stream: `next` returns nothing from now on. The first reason stands."""
        if not self._closed:
            self._closed, self.ended = True, reason
            self._queue.clear()
            self._wake.set()

    async def next(self) -> Sequence[FromFederation]:
        """Wait for messages; empty when the link is closed."""
        while not self._queue and not self._closed:
            self._wake.clear()
            await self._wake.wait()
        return [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]


class Links:
    """The present link of each region."""

    def __init__(self) -> None:
        self._by_region: dict[str, Link] = {}
        self._count = 0

    def open(self, hello: RegionHello) -> Link:
        """Take a new link. One of the same incarnation replaces the earlier one.

        Raises:
            IntertieError: SESSION_TAKEN; another incarnation of the region is attached.
        """
        before = self._by_region.get(hello.region)
        if before is not None and before.hello.incarnation != hello.incarnation:
            raise error(
                Reason.SESSION_TAKEN,
                f"Another process is attached as {hello.region} "
                f"(incarnation {before.hello.incarnation[:60]}).",
                remedy="Stop one of them; a process that died is forgotten within seconds.",
                metadata={"region": hello.region},
            )
        if before is not None:
            before.close(
                error(Reason.SESSION_TAKEN, f"{hello.region} attached again by another stream.")
            )
        self._count += 1
        link = self._by_region[hello.region] = Link(self._count, hello)
        return link

    def forget(self, link: Link) -> None:
        """A stream has ended."""
        link.close()
        if self._by_region.get(link.hello.region) is link:
            del self._by_region[link.hello.region]

    def send(self, region: str, message: FromFederation) -> bool:
        """Queue a message; False if the region has no link."""
        link = self._by_region.get(region)
        if link is None:
            return False
        link.send(message)
        return True

    def close_all(self, reason: IntertieError) -> None:
        """End every stream."""
        for link in list(self._by_region.values()):
            link.close(reason)

    def __len__(self) -> int:
        return len(self._by_region)
