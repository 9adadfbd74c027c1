"""Stubs of the federation's services, made for each use so that they follow certificates."""

from collections.abc import Sequence

from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.api.metering.v1.metering_service_pb2_grpc import MeteringServiceStub
from intertie.transport.channels import Channels


class FederationStubs:
    """The replicas of the federation.

    Args:
        channels: of the region's identity.
        endpoints: host:port of each replica.
        server_name: the DNS name that each must prove.
    """

    def __init__(self, channels: Channels, endpoints: Sequence[str], server_name: str) -> None:
        self._channels = channels
        self._endpoints = tuple(endpoints)
        self._server_name = server_name

    def blobs(self) -> list[BlobServiceStub]:
        """BlobService of each replica, in the order in which they are to be tried."""
        return [
            self._channels.stub(endpoint, self._server_name, BlobServiceStub)
            for endpoint in self._endpoints
        ]

    def metering(self) -> MeteringServiceStub:
        """MeteringService of the replica that is named first: a log has one witness at a time."""
        assert self._endpoints, "a region without a federation has no witness"
        return self._channels.stub(self._endpoints[0], self._server_name, MeteringServiceStub)
