"""Knowing a server by the hash of its root's key, before there is any other trust.

The server of a joining port sends its whole chain. It is taken without verification, the root in it
is compared with the pin, and only then is a channel opened that verifies everything against that
root. Nothing is sent to a server before its root is known.
"""

import asyncio
import socket
import ssl
from dataclasses import dataclass
from typing import Any, cast

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.pki.authority import root_pin, trust_domain_of

TIMEOUT_S = 10.0
_DER = 2
"""`_ssl.ENCODING_DER`."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A root that is the one that was pinned, and the trust domain that it names."""

    root_pem: bytes
    trust_domain: str


async def fetch_pinned(target: str, pin: str, timeout_s: float = TIMEOUT_S) -> Pinned:
    """Fetch the chain of `host:port` and find the pinned root in it.

    Raises:
        IntertieError: UNREACHABLE; IDENTITY_INVALID if the server has another root.
    """
    host, port = split_target(target)
    chain = await asyncio.to_thread(_chain, host, port, timeout_s)
    return pinned_in(chain, pin, target)


def pinned_in(chain: list[x509.Certificate], pin: str, target: str) -> Pinned:
    """The certificate with the pinned key; it must be a root that names its trust domain."""
    for cert in chain:
        if root_pin(cert) != pin:
            continue
        trust_domain = trust_domain_of(cert)
        if trust_domain is None:
            raise _mistrusted(target, "its root names no trust domain (an older version made it)")
        return Pinned(cert.public_bytes(serialization.Encoding.PEM), trust_domain)
    raise _mistrusted(target, "its root is not the one that the token names")


def split_target(target: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[address]:port`."""
    host, colon, port = target.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise invalid("endpoint", f"{target[:120]!r} is not host:port.")
    return host, int(port)


def _chain(host: str, port: int, timeout_s: float) -> list[x509.Certificate]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the pin decides, see above
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection((host, port), timeout=timeout_s) as plain,
            context.wrap_socket(plain) as secure,
        ):
            return [x509.load_der_x509_certificate(der) for der in _unverified(secure)]
    except (OSError, ValueError) as problem:
        raise error(
            Reason.UNREACHABLE,
            f"{host}:{port} cannot be reached with TLS: {problem}.",
            remedy="Check the address, that the server runs, and that no firewall is between.",
        ) from problem


def _unverified(secure: ssl.SSLSocket) -> list[bytes]:
    # Public from Python 3.13 on; before, the same method is on the inner object (pip and truststore
    # read it there too).
    public: Any = getattr(secure, "get_unverified_chain", None)
    if public is not None:
        return cast(list[bytes], public())
    inner: Any = secure._sslobj  # type: ignore[attr-defined]  # noqa: SLF001 - see above
    return [cert.public_bytes(_DER) for cert in inner.get_unverified_chain()]


def _mistrusted(target: str, why: str) -> IntertieError:
    return error(
        Reason.IDENTITY_INVALID,
        f"{target} is not trusted: {why}.",
        remedy="Check the address; if it is right, somebody may be between you and the server.",
    )
