"""Approving and rejecting regions that ask to join, by an administrator or by their token."""

from collections.abc import Awaitable, Callable

from federation.server.enrollment.office import Office
from intertie.pki.join.requests import JoinRequest, JoinState
from intertie.telemetry.logs import logger

Admit = Callable[[JoinRequest, str], Awaitable[None]]
"""Makes a region known to the core: the request and who approved. Raises why not."""

_log = logger(__name__)


class Approvals:
    """See the module's text."""

    def __init__(self, office: Office, admit: Admit) -> None:
        self._office = office
        self._admit = admit

    async def approve(self, id_: str, decider: str, reason: str) -> JoinRequest:
        """Certify the region's key, once; the core learns of the region first.

        Raises:
            IntertieError: NOT_FOUND; WRONG_STATE, it was rejected; PERMISSION_DENIED, the region
                was removed meanwhile.
        """
        signer = self._office.signer
        asked = await self._office.registry.request(id_)
        if asked is not None and asked.state is not JoinState.REJECTED:
            self._office.check_region(asked.region)
            await self._admit(asked, decider)
        approved = await self._office.registry.decide(
            id_, JoinState.APPROVED, decider=decider, reason=reason, make=signer.region
        )
        _log.info("region approved", region=approved.region, by=decider, reason=reason)
        return approved

    async def reject(self, id_: str, decider: str, reason: str) -> JoinRequest:
        """Refuse it; the name is free again."""
        rejected = await self._office.registry.decide(
            id_, JoinState.REJECTED, decider=decider, reason=reason
        )
        _log.info("region rejected", region=rejected.region, by=decider, reason=reason)
        return rejected
