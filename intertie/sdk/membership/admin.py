"""The client of administrators: tokens, join requests, identities, and regions' states."""

from collections.abc import AsyncIterator
from typing import Any, Self

from intertie.api.federation.v1 import enrollment_service_pb2 as pb
from intertie.api.federation.v1 import region_service_pb2 as region_pb
from intertie.api.federation.v1.enrollment_service_pb2_grpc import EnrollmentServiceStub
from intertie.api.federation.v1.region_service_pb2_grpc import RegionServiceStub
from intertie.clock import SystemIds
from intertie.pki.join.strings import Purpose
from intertie.ports import IdSource
from intertie.sdk.connection import Connection, Endpoint, OnRetry, Patience
from intertie.sdk.contexts import load_contexts
from intertie.sdk.membership.values import (
    BAN,
    CREDENTIALS,
    DRAIN,
    IDENTITY,
    JOIN,
    TOKEN,
    WHO_AM_I,
    Ban,
    Credentials,
    Drain,
    IssuedIdentity,
    Join,
    JoinToken,
    WhoAmI,
)
from intertie.sdk.resources import REGION, Region
from intertie.wire.join import purpose_to_pb
from intertie.wire.scalars import fill_duration

PAGE = 200


class AdminClient:
    """See the module's text. For one event loop.

    Args:
        endpoint: where the federation is and who we are.
        ids: makes request_ids.
        patience: deadlines and how long to retry.
        on_retry: told why a call is tried again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ids: IdSource | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        on_retry: OnRetry | None = None,
    ) -> None:
        self._connection = Connection(endpoint, patience=patience, on_retry=on_retry)
        self._ids = ids or SystemIds()

    @classmethod
    def from_context(cls, name: str = "", *, on_retry: OnRetry | None = None) -> Self:
        """A client of the federation that a context names."""
        return cls(load_contexts().get(name).federation(), on_retry=on_retry)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; idempotent."""
        await self._connection.close()

    # --- identities ------------------------------------------------------------------------------

    async def who_am_i(self) -> WhoAmI:
        """Who the federation takes us for."""
        return WHO_AM_I.from_pb(await self._enrollment("WhoAmI", pb.WhoAmIRequest()))

    async def create_token(
        self,
        purpose: Purpose,
        *,
        region: str = "",
        project: str = "",
        member: str = "",
        ttl_ms: int = 0,
        pre_approved: bool = False,
    ) -> JoinToken:
        """Make a join token; the answer alone holds its secret."""
        request = pb.CreateJoinTokenRequest(
            purpose=purpose_to_pb(purpose),
            region=region,
            project=project,
            member=member,
            pre_approved=pre_approved,
            request_id=self._ids.uuid7(),
        )
        if ttl_ms:
            fill_duration(ttl_ms, request.ttl)
        return TOKEN.from_pb(await self._enrollment("CreateJoinToken", request))

    async def renew_certificate(self, csr_pem: bytes) -> Credentials:
        """Our next certificate."""
        request = pb.RenewCertificateRequest(csr_pem=csr_pem)
        return CREDENTIALS.from_pb(await self._enrollment("RenewCertificate", request))

    async def revoke(self, *, subject: str = "", serial: str = "", reason: str) -> Ban:
        """Ban an ID or one certificate."""
        request = pb.RevokeIdentityRequest(
            subject=subject, serial=serial, reason=reason, request_id=self._ids.uuid7()
        )
        return BAN.from_pb(await self._enrollment("RevokeIdentity", request))

    async def list_identities(self) -> AsyncIterator[IssuedIdentity]:
        """What was issued, by SPIFFE ID."""
        request = pb.ListIdentitiesRequest(page_size=PAGE)
        pages = self._connection.pages(EnrollmentServiceStub, "ListIdentities", request)
        async for page in pages:
            for found in page.identities:
                yield IDENTITY.from_pb(found)

    # --- regions ---------------------------------------------------------------------------------

    async def list_joins(self, *, decided: bool = False) -> AsyncIterator[Join]:
        """Who asked to join, the newest first."""
        request = region_pb.ListJoinRequestsRequest(page_size=PAGE, show_decided=decided)
        pages = self._connection.pages(RegionServiceStub, "ListJoinRequests", request)
        async for page in pages:
            for found in page.joins:
                yield JOIN.from_pb(found)

    async def approve(self, id_: str, reason: str = "") -> Join:
        """Accept a region."""
        request = region_pb.ApproveJoinRequestRequest(
            name=f"joins/{id_}", reason=reason, request_id=self._ids.uuid7()
        )
        return JOIN.from_pb(await self._region("ApproveJoinRequest", request))

    async def reject(self, id_: str, reason: str) -> Join:
        """Refuse a region."""
        request = region_pb.RejectJoinRequestRequest(
            name=f"joins/{id_}", reason=reason, request_id=self._ids.uuid7()
        )
        return JOIN.from_pb(await self._region("RejectJoinRequest", request))

    async def cordon(self, region: str, reason: str) -> Region:
        """Send a region no new tasks."""
        request = region_pb.CordonRegionRequest(
            name=f"regions/{region}", reason=reason, request_id=self._ids.uuid7()
        )
        return REGION.from_pb(await self._region("CordonRegion", request))

    async def uncordon(self, region: str, reason: str) -> Region:
        """Send a region tasks again."""
        request = region_pb.UncordonRegionRequest(
            name=f"regions/{region}", reason=reason, request_id=self._ids.uuid7()
        )
        return REGION.from_pb(await self._region("UncordonRegion", request))

    async def remove(self, region: str, reason: str) -> Region:
        """Forget a region for ever."""
        request = region_pb.RemoveRegionRequest(
            name=f"regions/{region}", reason=reason, request_id=self._ids.uuid7()
        )
        return REGION.from_pb(await self._region("RemoveRegion", request))

    # --- drains ----------------------------------------------------------------------------------

    async def create_drain(
        self, region: str, reason: str, *, deadline_ms: int = 0, leave: bool = False
    ) -> Drain:
        """Begin to empty a region.

        Args:
            region: its id.
            reason: why, for the record.
            deadline_ms: after which runs that may not be interrupted move too; 0 = never.
            leave: the region leaves the federation once it is empty.
        """
        request = region_pb.CreateDrainRequest(
            parent=f"regions/{region}",
            reason=reason,
            leave=leave,
            request_id=self._ids.uuid7(),
        )
        if deadline_ms:
            fill_duration(deadline_ms, request.deadline)
        return DRAIN.from_pb(await self._region("CreateDrain", request))

    async def get_drain(self, name: str) -> Drain:
        """A drain by its full name."""
        return DRAIN.from_pb(await self._region("GetDrain", region_pb.GetDrainRequest(name=name)))

    async def list_drains(self, region: str) -> AsyncIterator[Drain]:
        """Drains of a region, the newest first."""
        request = region_pb.ListDrainsRequest(parent=f"regions/{region}", page_size=PAGE)
        async for page in self._connection.pages(RegionServiceStub, "ListDrains", request):
            for found in page.drains:
                yield DRAIN.from_pb(found)

    async def cancel_drain(self, name: str, reason: str) -> Drain:
        """End a drain half-way; the region stays cordoned."""
        request = region_pb.CancelDrainRequest(
            name=name, reason=reason, request_id=self._ids.uuid7()
        )
        return DRAIN.from_pb(await self._region("CancelDrain", request))

    async def _enrollment(self, method: str, request: object) -> Any:  # noqa: ANN401 - its answer
        return await self._connection.unary(EnrollmentServiceStub, method, request)

    async def _region(self, method: str, request: object) -> Any:  # noqa: ANN401 - its answer
        return await self._connection.unary(RegionServiceStub, method, request)
