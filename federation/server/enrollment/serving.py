"""Puts EnrollmentService and RegionService on a server that has not started yet."""

from federation.server.enrollment.approvals import Admit, Approvals
from federation.server.enrollment.joining import Joining
from federation.server.enrollment.office import Office
from federation.server.enrollment.region_admin import RegionAdminServicer
from federation.server.enrollment.service import EnrollmentServicer
from federation.server.region.distances import Distances
from federation.server.task.reads import Tasks
from intertie.api.federation.v1.enrollment_service_pb2_grpc import (
    add_EnrollmentServiceServicer_to_server,
)
from intertie.api.federation.v1.region_service_pb2_grpc import add_RegionServiceServicer_to_server
from intertie.store.pump import Pump
from intertie.transport.server import Server
from intertie.wire.tokens import Tokens


def add_enrollment(
    server: Server,
    pump: Pump,
    tasks: Tasks,
    tokens: Tokens,
    office: Office,
    admit: Admit,
    distances: Distances,
) -> None:
    """Add both: the same registry stands behind them."""
    approvals = Approvals(office, admit)
    regions = RegionAdminServicer(pump, tasks, tokens, office.clock, distances, office, approvals)
    add_RegionServiceServicer_to_server(regions, server)
    joining = Joining(office, approvals)
    add_EnrollmentServiceServicer_to_server(EnrollmentServicer(office, joining, tokens), server)
