"""The region in etcd: `regions/<id>/session` holds our incarnation, and the ban list is followed.

Another live incarnation there is refused with an alarm. A scheduler that was killed takes its own
session over at once, because the state directory, which only one process can lock, remembers its
incarnations. Loss of etcd stops nothing: links, runs and the log go on.
"""

import json
from collections.abc import Callable
from pathlib import Path

from intertie.pki.bans import Bans
from intertie.pki.files import read_private, write_private
from intertie.ports import Clock
from intertie.store.enrollment.following import BanFollower
from intertie.store.etcd.port import Membership
from intertie.store.etcd.registration import Registration, Standing
from intertie.telemetry.logs import logger

KEPT = 8
"""Earlier incarnations that are remembered; a lease of the one before these is long over."""

_log = logger(__name__)


class Session:
    """See the module's text.

    Args:
        client: the cluster.
        clock: for the local fence.
        region: our id.
        incarnation: of this process.
        bans: kept as etcd says.
        earlier: our own incarnations that are surely dead.
        ttl_s: how long the session outlives us.
        taken: called if another live process has it.
    """

    def __init__(
        self,
        client: Membership,
        clock: Clock,
        region: str,
        incarnation: str,
        *,
        bans: Bans,
        earlier: tuple[str, ...],
        ttl_s: int,
        taken: Callable[[], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._taken = taken
        self._bans = BanFollower(client, bans)
        self._registration = Registration(
            client,
            clock,
            f"regions/{region}/session",
            incarnation=incarnation,
            ttl_s=ttl_s,
            supersedes=earlier,
            on_change=self._changed,
        )

    @property
    def is_held(self) -> bool:
        """Whether the session is surely ours now."""
        return self._registration.is_held(self._clock.now())

    def start(self) -> None:
        """Begin both, in the background."""
        self._registration.start()
        self._bans.start()

    async def stop(self) -> None:
        """Give the session up, so that a successor need not wait for it."""
        await self._bans.stop()
        await self._registration.close()
        await self._client.close()

    def _changed(self, standing: Standing) -> None:
        if standing is Standing.TAKEN:
            _log.error("ALARM: another live process has this region's session in etcd")
            self._taken()
        else:
            _log.info("etcd session", standing=standing.value)


def remember_incarnation(directory: Path, incarnation: str) -> tuple[str, ...]:
    """Write our incarnation down; returns those of earlier processes, newest last.

    Only while the state directory is locked by this process: that is what makes them surely dead.
    """
    path = directory / "incarnations.json"
    earlier = tuple(json.loads(read_private(path))) if path.exists() else ()
    kept = [*earlier[-KEPT:], incarnation]
    write_private(path, json.dumps(kept).encode())
    return earlier
