"""The replica in etcd: `replicas/<id>/session` while it lives, and the ban list that it follows.

Loss of etcd stops nothing: what was banned stays banned, and submissions go on. Must not hold tasks
or epochs there.
"""

from collections.abc import Callable

from intertie.pki.bans import Bans
from intertie.ports import Clock
from intertie.store.enrollment.following import BanFollower
from intertie.store.etcd.port import Membership
from intertie.store.etcd.registration import Registration, Standing
from intertie.telemetry.logs import logger

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
        self._taken = taken
        self._bans = BanFollower(etcd, bans)
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
        self._bans.start()

    async def stop(self) -> None:
        """Give the session up and let go; idempotent."""
        await self._bans.stop()
        await self._registration.close()
        await self._etcd.close()

    def _changed(self, standing: Standing) -> None:
        if standing is Standing.TAKEN:
            _log.error("ALARM: another live process has this replica's session in etcd")
            self._taken()
        else:
            _log.info("etcd session", standing=standing.value)
