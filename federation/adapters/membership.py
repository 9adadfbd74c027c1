"""The replica in etcd: `replicas/<id>/session` while it lives, and the ban list that it follows.

    bans/serial/<hex>     a certificate that may not act any more
    bans/id/<SPIFFE ID>   an identity that may not

Loss of etcd stops nothing: what was banned stays banned, and submissions go on. Must not hold tasks
or epochs there.
"""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from intertie.pki.bans import Bans
from intertie.pki.files import read_private
from intertie.ports import Clock
from intertie.store.etcd.channels import Tls
from intertie.store.etcd.port import Delete, Membership, Put, Resync, WatchEvent
from intertie.store.etcd.registration import Registration, Standing
from intertie.telemetry.logs import logger

BANS = "bans/"
_SERIAL, _ID = "bans/serial/", "bans/id/"

_log = logger(__name__)


class ReplicaMembership:
    """See the module's text.

    Args:
        etcd: the cluster.
        clock: for the local fence.
        replica: our id.
        incarnation: of this process.
        bans: kept as etcd says.
        ttl_s: how long the session outlives us.
        taken: called if another live process has our session.
    """

    def __init__(
        self,
        etcd: Membership,
        clock: Clock,
        replica: str,
        incarnation: str,
        *,
        bans: Bans,
        ttl_s: int,
        taken: Callable[[], None],
    ) -> None:
        self._etcd = etcd
        self._clock = clock
        self._bans = bans
        self._taken = taken
        self._watching: asyncio.Task[None] | None = None
        self._banned: set[str] = set()
        self._registration = Registration(
            etcd,
            clock,
            f"replicas/{replica}/session",
            incarnation=incarnation,
            ttl_s=ttl_s,
            on_change=self._changed,
        )

    @property
    def is_held(self) -> bool:
        """Whether our session surely stands now."""
        return self._registration.is_held(self._clock.now())

    def start(self) -> None:
        """Begin both, in the background."""
        self._registration.start()
        self._watching = asyncio.create_task(self._watch(), name="ban list")

    async def stop(self) -> None:
        """Give the session up and let go; idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
            self._watching = None
        await self._registration.close()
        await self._etcd.close()

    def _changed(self, standing: Standing) -> None:
        if standing is Standing.TAKEN:
            _log.error("ALARM: another live process has this replica's session in etcd")
            self._taken()
        else:
            _log.info("etcd session", standing=standing.value)

    async def _watch(self) -> None:
        async with aclosing(self._etcd.watch(BANS)) as changes:
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
            serials=[k.removeprefix(_SERIAL) for k in self._banned if k.startswith(_SERIAL)],
            ids=[k.removeprefix(_ID) for k in self._banned if k.startswith(_ID)],
        )


def read_tls(ca: Path, cert: Path, key: Path) -> Tls:
    """The client's certificate from files."""
    return Tls(root=ca.read_bytes(), certificate=cert.read_bytes(), key=read_private(key))
