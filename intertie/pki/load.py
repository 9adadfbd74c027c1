"""An identity on disk: `key.pem cert.pem chain.pem trust.pem` in one directory.

Every error names the file and what to do about it. Rotation replaces the files one by one, the
certificate last; a reader that sees a key and a certificate which do not match keeps what it has.
Must not decide whether the identity is still good (`check`).
"""

from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from intertie.pki.check import read_leaf
from intertie.pki.files import (
    make_private_directory,
    read_private,
    read_public,
    unusable,
    write_private,
)
from intertie.pki.identity import Identity
from intertie.pki.issue import Issued

KEY, CERT, CHAIN, TRUST = "key.pem", "cert.pem", "chain.pem", "trust.pem"
_ISSUE = "Issue the identity again (intertie ca issue)."


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that TLS needs, as PEM, and who it makes us."""

    key_pem: bytes
    cert_pem: bytes
    chain_pem: bytes
    trust_pem: bytes
    identity: Identity

    @property
    def cert_chain_pem(self) -> bytes:
        """Leaf first, then what is above it up to but without the root."""
        return self.cert_pem + self.chain_pem


class IdentityDirectory:
    """The files of one identity, read again when they change. Thread-safe: values are replaced.

    Args:
        path: the directory.
        federation: the federation's trust domain, to parse the ID in the certificate.
    """

    def __init__(self, path: Path, federation: str) -> None:
        self.path = path
        self.federation = federation
        self._stamp = self._read_stamp()
        self._current = load(path, federation)

    @property
    def current(self) -> Credentials:
        """The credentials as last read."""
        return self._current

    def refresh(self) -> bool:
        """Read again if the certificate or the trust bundle changed; True if so.

        Raises:
            IntertieError: CONFIG_INVALID; what was read before stays current.
        """
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return False
        self._current = load(self.path, self.federation)
        self._stamp = stamp
        return True

    def _read_stamp(self) -> tuple[tuple[int, int], ...]:
        stamps = []
        for name in (CERT, TRUST):
            try:
                status = (self.path / name).stat()
            except OSError:
                stamps.append((0, 0))
            else:
                stamps.append((status.st_mtime_ns, status.st_ino))
        return tuple(stamps)


def load(path: Path, federation: str) -> Credentials:
    """Load and cross-check one identity directory.

    Raises:
        IntertieError: CONFIG_INVALID naming the file, IDENTITY_INVALID for a leaf that is no SVID.
    """
    key_pem = read_private(path / KEY)
    cert_pem = read_public(path / CERT)
    chain_pem = read_public(path / CHAIN) if (path / CHAIN).exists() else b""
    trust_pem = read_public(path / TRUST)
    leaf = _certificates(path / CERT, cert_pem)[0]
    if chain_pem.strip():
        _certificates(path / CHAIN, chain_pem)
    _certificates(path / TRUST, trust_pem)
    if load_tls_key(path / KEY, key_pem).public_key() != leaf.public_key():
        raise unusable(path / KEY, f"is not the key of {path / CERT}", _ISSUE)
    return Credentials(key_pem, cert_pem, chain_pem, trust_pem, read_leaf(cert_pem, federation))


def load_tls_key(path: Path, pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Parse a P-256 key read from `path`."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as problem:
        raise unusable(path, "holds no private key in PEM", _ISSUE) from problem
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise unusable(path, "holds a key that is not ECDSA P-256", _ISSUE)
    return key


def write_identity(path: Path, key: ec.EllipticCurvePrivateKey, issued: Issued) -> None:
    """Write or rotate the four files; the certificate last, as its change is what readers watch."""
    make_private_directory(path)
    write_private(path / TRUST, issued.trust_pem)
    write_private(path / CHAIN, issued.chain_pem)
    write_private(path / KEY, key_to_pem(key))
    write_private(path / CERT, issued.cert_pem)


def key_to_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """PKCS#8 PEM without a password: the file's mode protects it."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _certificates(path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as problem:
        raise unusable(path, "holds no certificate in PEM", _ISSUE) from problem
