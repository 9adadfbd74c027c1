"""One grpc.aio channel: mutual TLS, keepalive, quick reconnection, the server's identity.

Stock gRPC in Python verifies host names only, so the name that is verified is the one derived from
the server's SPIFFE ID, not the address that is dialled.
"""

from dataclasses import dataclass

import grpc.aio

from intertie.ports import Clock
from intertie.transport.client import DEFAULT_DEADLINE_S, ClientDefaults


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """Bounds and timings of a channel."""

    max_message_bytes: int = 4 * 1024 * 1024
    keepalive_ms: int = 3000
    keepalive_timeout_ms: int = 1500
    first_backoff_ms: int = 200
    max_backoff_ms: int = 1000
    connect_timeout_ms: int = 1000
    default_deadline_s: float = DEFAULT_DEADLINE_S


def open_channel(
    target: str,
    server_name: str,
    credentials: grpc.ChannelCredentials,
    clock: Clock,
    options: ChannelOptions = ChannelOptions(),  # noqa: B008 - frozen
) -> grpc.aio.Channel:
    """Open a channel to `target` that accepts only a server with the DNS name `server_name`.

    Args:
        target: `host:port`, or any name that gRPC resolves.
        server_name: `SpiffeId.dns_name` of the server, or `federation_dns_name` for any replica.
        credentials: from `transport.credentials`.
        clock: told to the server with each call.
        options: bounds and timings.
    """
    arguments: list[tuple[str, str | int]] = [
        ("grpc.ssl_target_name_override", server_name),
        ("grpc.max_receive_message_length", options.max_message_bytes),
        ("grpc.max_send_message_length", options.max_message_bytes),
        ("grpc.keepalive_time_ms", options.keepalive_ms),
        ("grpc.keepalive_timeout_ms", options.keepalive_timeout_ms),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", options.first_backoff_ms),
        ("grpc.max_reconnect_backoff_ms", options.max_backoff_ms),
        # The core's name says backoff; it is how long one attempt to connect may take. Too short,
        # and a handshake over a slow link never ends.
        ("grpc.min_reconnect_backoff_ms", options.connect_timeout_ms),
        # Channels of the same target must not share a connection made with an old certificate.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    return grpc.aio.secure_channel(
        target,
        credentials,
        options=arguments,
        interceptors=[ClientDefaults(clock, options.default_deadline_s)],
    )
