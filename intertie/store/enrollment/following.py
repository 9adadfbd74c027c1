"""Follows the ban list in etcd: what is banned there is banned here within a second.

Loss of etcd changes nothing: what was banned stays banned.
"""

import asyncio
from contextlib import aclosing

from intertie.pki.bans import Bans
from intertie.store.enrollment.bans import ID, PREFIX, SERIAL
from intertie.store.etcd.port import Delete, Membership, Put, Resync, WatchEvent


class BanFollower:
    """See the module's text.

    Args:
        etcd: the cluster; not closed here.
        bans: kept as etcd says.
    """

    def __init__(self, etcd: Membership, bans: Bans) -> None:
        self._etcd = etcd
        self._bans = bans
        self._banned: set[str] = set()
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the background."""
        self._watching = asyncio.create_task(self._watch(), name="ban list")

    async def stop(self) -> None:
        """Follow no longer; idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None

    async def _watch(self) -> None:
        async with aclosing(self._etcd.watch(PREFIX)) as changes:
            async for change in changes:
                self._apply(change)

    def _apply(self, change: WatchEvent) -> None:
        match change:
            case Resync(entries=entries):
                self._banned = {entry.key for entry in entries}
            case Put(entry=entry):
                self._banned.add(entry.key)
            case Delete(key=key):
                self._banned.discard(key)
        self._bans.replace(
            serials=[k.removeprefix(SERIAL) for k in self._banned if k.startswith(SERIAL)],
            ids=[k.removeprefix(ID) for k in self._banned if k.startswith(ID)],
        )
