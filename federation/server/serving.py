"""Builds the services of a replica over what they need, and puts them on a gRPC server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from federation.server.blob.rights import Rights
from federation.server.metering.grants import Grants
from federation.server.metering.logs import MeteringLogs, Origins
from federation.server.metering.service import MeteringServicer
from federation.server.metering.statements import Statements
from federation.server.policy.book import PolicyBook
from federation.server.policy.egress import Egress
from federation.server.policy.service import PolicyServicer
from federation.server.region.distances import Distances
from federation.server.region.link_service import LinkServicer
from federation.server.region.links import Links
from federation.server.task.changes import Changes
from federation.server.task.files import Files, Relay
from federation.server.task.lists import Lists
from federation.server.task.reads import Tasks
from federation.server.task.service import TaskServicer
from federation.server.task.submit import Submissions
from federation.server.task.watch import Watches
from intertie.api.federation.v1.blob_service_pb2_grpc import add_BlobServiceServicer_to_server
from intertie.api.federation.v1.link_service_pb2_grpc import add_LinkServiceServicer_to_server
from intertie.api.federation.v1.policy_service_pb2_grpc import add_PolicyServiceServicer_to_server
from intertie.api.federation.v1.task_service_pb2_grpc import add_TaskServiceServicer_to_server
from intertie.api.metering.v1.metering_service_pb2_grpc import (
    add_MeteringServiceServicer_to_server,
)
from intertie.billing.prices import PriceList
from intertie.metering.dsse import StatementSigner
from intertie.metering.log.note import Key
from intertie.model.link import Bytes
from intertie.pki.identity import Identity
from intertie.ports import Clock, IdSource
from intertie.residency import Policy
from intertie.store.blobs import BlobStore
from intertie.store.pump import Pump
from intertie.transport.blobs import BlobServicer
from intertie.transport.server import Server
from intertie.wire.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the services stand on.

    `answered` takes what regions answer to reads; `principal_of` gives opaque ids of callers.
    """

    pump: Pump
    tasks: Tasks
    clock: Clock
    ids: IdSource
    changes: Changes
    links: Links
    relay: Relay
    answered: Callable[[str, Bytes], None]
    blobs: BlobStore
    rights: Rights
    tokens: Tokens
    principal_of: Callable[[Identity], str]
    logs: MeteringLogs
    origins: Origins
    prices: Mapping[str, PriceList]
    signer: StatementSigner
    witness: Key
    replica: str
    generation: int
    trust_domain: str
    book: PolicyBook
    egress: Egress
    silence_s: float
    distances: Distances


def add_services(server: Server, needs: Needs) -> None:
    """Add the services to a server that has not started yet, but those of regions and joining.

    These are in `server.enrollment.serving`.
    """
    tasks = needs.tasks
    add_TaskServiceServicer_to_server(_tasks(needs, tasks), server)
    add_MeteringServiceServicer_to_server(_metering(needs), server)
    add_BlobServiceServicer_to_server(BlobServicer(needs.blobs, rights=needs.rights), server)
    policies = PolicyServicer(needs.book, needs.pump, needs.tokens, needs.clock)
    add_PolicyServiceServicer_to_server(policies, server)
    add_LinkServiceServicer_to_server(
        LinkServicer(
            needs.pump,
            needs.links,
            needs.answered,
            replica=needs.replica,
            generation=needs.generation,
            trust_domain=needs.trust_domain,
            policy=needs.book.update,
            measured=needs.distances.heard,
            silence_s=needs.silence_s,
        ),
        server,
    )


def _metering(needs: Needs) -> MeteringServicer:
    statements = Statements(needs.logs, needs.origins, needs.pump.store, needs.prices)
    grants = Grants(needs.pump.store, needs.signer)
    return MeteringServicer(
        needs.logs, needs.origins, statements, grants, needs.signer, needs.witness
    )


def _tasks(needs: Needs, tasks: Tasks) -> TaskServicer:
    def policy() -> Policy:
        return needs.book.policy

    return TaskServicer(
        needs.pump,
        needs.clock,
        tasks=tasks,
        submissions=Submissions(needs.pump, tasks, needs.rights, needs.clock, needs.ids, policy),
        lists=Lists(tasks, needs.pump.store, needs.tokens),
        watches=Watches(needs.changes, tasks, needs.tokens, needs.clock),
        files=Files(tasks, needs.changes, needs.relay, needs.egress),
        principal_of=needs.principal_of,
    )
