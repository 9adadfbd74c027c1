"""Puts the region's EnrollmentService on a server that has not started yet."""

from intertie.api.regional.v1.enrollment_service_pb2_grpc import (
    add_EnrollmentServiceServicer_to_server,
)
from intertie.transport.server import Server
from intertie.wire.tokens import Tokens
from regional.server.enrollment.desk import Desk
from regional.server.enrollment.service import EnrollmentServicer


def add_enrollment(server: Server, desk: Desk, tokens: Tokens) -> None:
    """Add it."""
    add_EnrollmentServiceServicer_to_server(EnrollmentServicer(desk, tokens), server)
