"""Follow an etcd prefix in a test: what was told, what follows from it, and that nothing is odd."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Self

from intertie.store.etcd.port import Delete, Membership, Put, Resync, WatchEvent
from intertie.testing.waiting import eventually


class Watched:
    """A running watch. `events` is all that it told, `rows` the values by key that follow.

    Fails when a change is told twice or out of order, when a key that nobody has is deleted, or
    when the first event is no Resync.
    """

    def __init__(self, membership: Membership, prefix: str) -> None:
        self.events: list[WatchEvent] = []
        self.rows: dict[str, bytes] = {}
        self._membership = membership
        self._prefix = prefix
        self._revision = 0
        self._told: set[tuple[str, int]] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def resyncs(self) -> int:
        """How often everything was told anew."""
        return sum(isinstance(event, Resync) for event in self.events)

    @property
    def ended(self) -> bool:
        """Whether the watch ended by itself."""
        return self._task is not None and self._task.done()

    async def until(self, condition: Callable[[Self], bool], within_s: float) -> None:
        """Wait until a condition on this holds."""

        def holds() -> bool:
            if self._task is not None and self._task.done():
                self._task.result()
            return condition(self)

        await eventually(holds, within_s, what=f"watch of {self._prefix}: {self.events[-3:]}")

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        await self.until(lambda told: bool(told.events), 10)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        async with contextlib.aclosing(self._membership.watch(self._prefix)) as events:
            async for event in events:
                self._take(event)

    def _take(self, event: WatchEvent) -> None:
        if isinstance(event, Resync):
            self.rows = {entry.key: entry.value for entry in event.entries}
            self._revision = event.revision
            self._told.clear()
        else:
            assert self.events, f"the first event is {event}"
            self._take_change(event)
        self.events.append(event)

    def _take_change(self, event: Put | Delete) -> None:
        if isinstance(event, Put):
            key, revision = event.entry.key, event.entry.mod_revision
            self.rows[key] = event.entry.value
        else:
            key, revision = event.key, event.revision
            assert key in self.rows, f"{event} of a key that nobody has"
            del self.rows[key]
        assert key.startswith(self._prefix), event
        assert revision >= self._revision, f"{event} after revision {self._revision}"
        assert (key, revision) not in self._told, f"{event} was told twice"
        self._revision = revision
        self._told.add((key, revision))
