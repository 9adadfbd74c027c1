"""The services of a regional scheduler on one server, with the table of who may call what here.

The region serves blobs to its own nodes and operator; at the federation nodes have no business, so
this table is the region's own.
"""

from collections.abc import Mapping

from intertie.api.agent.v1.link_service_pb2_grpc import add_AgentLinkServiceServicer_to_server
from intertie.api.federation.v1.blob_service_pb2_grpc import add_BlobServiceServicer_to_server
from intertie.api.regional.v1.pool_service_pb2_grpc import add_PoolServiceServicer_to_server
from intertie.pki.spiffe import Role
from intertie.transport.blobs import BlobServicer
from intertie.transport.methods import METHODS
from intertie.transport.server import Server
from regional.server.agent_link import AgentLinkServicer
from regional.server.pool_service import PoolServicer

_BLOBS = "/intertie.api.federation.v1.BlobService/"
_LOCAL = frozenset({Role.NODE, Role.OPERATOR})

REGION_METHODS: Mapping[str, frozenset[Role]] = {
    **METHODS,
    _BLOBS + "UploadBlob": _LOCAL,
    _BLOBS + "StatBlobs": _LOCAL,
    _BLOBS + "ReadBlob": _LOCAL,
}
"""The authorization table of a region's server."""


def add_services(
    server: Server, agents: AgentLinkServicer, blobs: BlobServicer, pool: PoolServicer
) -> None:
    """Add everything that a region serves."""
    add_AgentLinkServiceServicer_to_server(agents, server)
    add_BlobServiceServicer_to_server(blobs, server)
    add_PoolServiceServicer_to_server(pool, server)
