"""TLS credentials of servers and channels, made from an identity directory.

Servers follow a rotation by themselves: gRPC asks at each handshake. Channels cannot, so `channels`
builds new ones.
"""

import grpc

from intertie.errors import IntertieError
from intertie.pki.load import Credentials, IdentityDirectory
from intertie.telemetry.logs import logger
from intertie.telemetry.metrics import CERTIFICATE_END, CERTIFICATE_ROTATIONS
from intertie.telemetry.registry import Metrics

_log = logger(__name__)


def server_credentials(
    identity: IdentityDirectory, metrics: Metrics, *, anonymous: bool = False
) -> grpc.ServerCredentials:
    """Mutual TLS with the leaf of `identity`, taken anew when its files change.

    Args:
        identity: our own identity.
        metrics: where rotations are counted.
        anonymous: ask for no client certificate, for peers that join; the table admits those to
            joining only.
    """
    offered = identity.current
    metrics.gauge(CERTIFICATE_END).set(offered.identity.not_after_ms / 1000)

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        # gRPC calls this in a handshake, from a thread of its own; None keeps what it has.
        nonlocal offered
        try:
            identity.refresh()
        except IntertieError as problem:
            metrics.counter(CERTIFICATE_ROTATIONS, "failed").inc()
            _log.warning("certificate not rotated", problem=str(problem))
        if identity.current is offered:
            return None
        offered = identity.current
        metrics.counter(CERTIFICATE_ROTATIONS, "ok").inc()
        metrics.gauge(CERTIFICATE_END).set(offered.identity.not_after_ms / 1000)
        return _configuration(offered, anonymous=anonymous)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(offered, anonymous=anonymous),
        fetch,  # type: ignore[arg-type]  # the stubs forget that None means unchanged
        require_client_authentication=not anonymous,
    )


def channel_credentials(credentials: Credentials) -> grpc.ChannelCredentials:
    """Mutual TLS as a client."""
    return grpc.ssl_channel_credentials(
        root_certificates=credentials.trust_pem,
        private_key=credentials.key_pem,
        certificate_chain=credentials.cert_chain_pem,
    )


def anonymous_credentials(trust_pem: bytes) -> grpc.ChannelCredentials:
    """TLS that verifies the server only: for joining, with a root checked against the token."""
    return grpc.ssl_channel_credentials(root_certificates=trust_pem)


def _configuration(
    credentials: Credentials, *, anonymous: bool
) -> grpc.ServerCertificateConfiguration:
    chain_pem = credentials.cert_chain_pem
    if anonymous:  # whoever joins has no root yet, only the hash of its key
        chain_pem += credentials.trust_pem
    return grpc.ssl_server_certificate_configuration(
        [(credentials.key_pem, chain_pem)],
        root_certificates=None if anonymous else credentials.trust_pem,
    )
