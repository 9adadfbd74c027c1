"""How the region is reached: its address, the name that its certificate must have, our identity."""

import random
from collections.abc import Callable
from typing import TypeVar

import grpc.aio

from edge_agent.adapters.region.blobs import RegionBlobs
from intertie.api.agent.v1.link_service_pb2_grpc import AgentLinkServiceStub
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.api.regional.v1 import enrollment_service_pb2 as enrollment_pb
from intertie.api.regional.v1.enrollment_service_pb2_grpc import EnrollmentServiceStub
from intertie.pki.issue import Issued
from intertie.pki.spiffe import parse, region_trust_domain
from intertie.transport.channels import Channels
from intertie.transport.failure import error_from_rpc
from intertie.wire.join import issued_from_pb

Stub = TypeVar("Stub")


class Connection:
    """The services of a region on the current channel.

    Args:
        channels: of our identity.
        scheduler: host:port.
        region: its id.
        trust_domain: the federation's.
    """

    def __init__(
        self, channels: Channels, *, scheduler: str, region: str, trust_domain: str
    ) -> None:
        self._channels = channels
        self._address = scheduler
        domain = region_trust_domain(region, trust_domain)
        self._name = parse(f"spiffe://{domain}/scheduler", trust_domain).dns_name

    def link(self) -> AgentLinkServiceStub:
        """The service of links; asked for anew for each stream."""
        return self._stub(AgentLinkServiceStub)

    def blobs(self, rng: random.Random) -> RegionBlobs:
        """Its blob root."""
        return RegionBlobs(lambda: self._stub(BlobServiceStub), rng)

    async def renew(self, csr_pem: bytes) -> Issued:
        """Our next certificate. Raises why the region gives none."""
        request = enrollment_pb.RenewRequest(csr_pem=csr_pem)
        try:
            return issued_from_pb(await self._stub(EnrollmentServiceStub).Renew(request))
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure

    def _stub(self, make: Callable[..., Stub]) -> Stub:
        return self._channels.stub(self._address, self._name, make)
