"""A grpc.aio server as every process of Intertie runs it.

Mutual TLS with rotation, the layers around every handler, health and reflection, bounds on
everything. Services are added with the generated `add_XServicer_to_server(servicer, server)`.
Must not be started in a process that forks afterwards.
"""

import errno
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from intertie.errors import IntertieError, Reason, error
from intertie.pki.check import PeerCheck
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import Role
from intertie.ports import Clock, IdSource
from intertie.telemetry.registry import Metrics
from intertie.transport.credentials import server_credentials
from intertie.transport.layers.authorization import AuthorizationLayer
from intertie.transport.layers.bounds import BoundsLayer, Limits
from intertie.transport.layers.chain import Chain, Handler
from intertie.transport.layers.errors import Faults
from intertie.transport.layers.identity import IdentityLayer
from intertie.transport.layers.logging import LoggingLayer
from intertie.transport.layers.metrics import MetricsLayer
from intertie.transport.layers.streams import OpenStreams
from intertie.transport.methods import METHODS


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Bounds and timings of a server; the defaults are those of the documentation.

    `max_connection_age_ms` None means half the life of our own certificate.
    """

    max_message_bytes: int = 4 * 1024 * 1024
    max_concurrent_streams: int = 1000
    keepalive_ms: int = 5000
    keepalive_timeout_ms: int = 2000
    min_ping_interval_ms: int = 1000
    max_connection_age_ms: int | None = None
    connection_age_grace_ms: int = 60_000
    default_deadline_s: float = 30.0
    limits: Limits = field(default_factory=Limits)


class Server:
    """One server with one identity, listening on one or more ports.

    Args:
        identity: our own identity.
        check: the check of peers; its ban list cuts open streams.
        clock: for certificates, deadlines and bounds.
        ids: for ids of unexpected faults.
        metrics: where calls are counted.
        methods: the authorization table.
        options: bounds and timings.
        home_region: the region whose server this is; None for the federation's.
    """

    def __init__(
        self,
        identity: IdentityDirectory,
        check: PeerCheck,
        *,
        clock: Clock,
        ids: IdSource,
        metrics: Metrics,
        methods: Mapping[str, frozenset[Role]] = METHODS,
        options: ServerOptions = ServerOptions(),  # noqa: B008 - frozen
        home_region: str | None = None,
    ) -> None:
        self._identity = identity
        self._metrics = metrics
        self._server = grpc.aio.server(options=_channel_arguments(options, identity))
        self._authorization = AuthorizationLayer(methods, home_region=home_region)
        self.streams = OpenStreams(check, clock, metrics)
        self._chain = Chain(
            [
                MetricsLayer(metrics, clock),
                IdentityLayer(check, clock),
                LoggingLayer(),
                BoundsLayer(options.limits),
                self._authorization,
            ],
            Faults(ids, metrics),
            self.streams,
            clock,
            options.default_deadline_s,
        )
        self._services: list[str] = []
        self._health = health.aio.HealthServicer()

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Handler]) -> None:
        """Add a service; generated code calls this. Asserts that the table has its methods."""
        names = {name: f"/{service}/{name}" for name in handlers}
        self._authorization.require_rows(names.values())
        wrapped = {name: self._chain.wrap(names[name], handlers[name]) for name in handlers}
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(service, wrapped),)
        )
        self._services.append(service)

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        """Ignored: generated code hands the same service over by name, see above."""

    def listen(self, address: str, *, anonymous: bool = False) -> int:
        """Bind `host:port` (port 0: the kernel chooses) and return the port.

        Args:
            address: where to listen.
            anonymous: admit peers without a certificate, for joining.

        Raises:
            IntertieError: PORT_IN_USE, or CONFIG_INVALID for an address that cannot be bound.
        """
        credentials = server_credentials(self._identity, self._metrics, anonymous=anonymous)
        try:
            return self._server.add_secure_port(address, credentials)
        except RuntimeError as problem:
            raise _bind_error(address) from problem

    async def start(self) -> None:
        """Add health and reflection and serve."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self)
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(
            reflection.aio.ReflectionServicer((*self._services, reflection.SERVICE_NAME)), self
        )
        await self.set_serving(serving=True)
        self.streams.start()
        await self._server.start()

    async def set_serving(self, *, serving: bool) -> None:
        """Tell health checks whether to send work here."""
        status = health_pb2.HealthCheckResponse.ServingStatus.Value(
            "SERVING" if serving else "NOT_SERVING"
        )
        for service in ("", *self._services):
            await self._health.set(service, status)

    async def stop(self, grace_s: float) -> None:
        """Refuse new calls, let open ones end for `grace_s`, then cancel them. Idempotent."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(grace_s)
        self.streams.stop()

    async def wait_for_termination(self) -> None:
        """Return when the server has stopped."""
        await self._server.wait_for_termination()


def _channel_arguments(
    options: ServerOptions, identity: IdentityDirectory
) -> list[tuple[str, int]]:
    own = identity.current.identity
    age_ms = options.max_connection_age_ms
    if age_ms is None:
        age_ms = (own.not_after_ms - own.not_before_ms) // 2
    return [
        ("grpc.so_reuseport", 0),  # else two servers would share a port in silence
        ("grpc.max_receive_message_length", options.max_message_bytes),
        ("grpc.max_send_message_length", options.max_message_bytes),
        ("grpc.max_concurrent_streams", options.max_concurrent_streams),
        ("grpc.keepalive_time_ms", options.keepalive_ms),
        ("grpc.keepalive_timeout_ms", options.keepalive_timeout_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_ping_interval_without_data_ms", options.min_ping_interval_ms),
        ("grpc.max_connection_age_ms", age_ms),
        ("grpc.max_connection_age_grace_ms", options.connection_age_grace_ms),
    ]


def _bind_error(address: str) -> IntertieError:
    # gRPC tells only that binding failed; the same bind by hand tells why.
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, int(port), type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
            probe.listen(1)
    except (OSError, ValueError, OverflowError) as problem:
        if isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE:
            return error(
                Reason.PORT_IN_USE,
                f"{address} is taken by another process.",
                remedy="Stop it, or set another port.",
            )
        return error(
            Reason.CONFIG_INVALID,
            f"Cannot listen on {address}: {problem}.",
            remedy="Set an address of this machine as host:port.",
        )
    return error(Reason.PORT_IN_USE, f"{address} was taken a moment ago.", remedy="Start again.")
