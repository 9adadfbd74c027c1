"""A certificate authority on disk, held by whoever runs it: `ca-key.pem ca.pem chain.pem root.pem`.

Must not issue anything; `authority` makes a CA, this writes and reads it.
"""

from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from intertie.pki.authority import Authority
from intertie.pki.files import (
    make_private_directory,
    read_private,
    read_public,
    unusable,
    write_private,
)
from intertie.pki.load import key_to_pem, load_tls_key
from intertie.pki.spiffe import check_trust_domain, region_trust_domain

CA_KEY, CA_CERT, CHAIN, ROOT_CERT = "ca-key.pem", "ca.pem", "chain.pem", "root.pem"
_RESTORE = "Restore the directory of the CA, or make it anew with intertie ca init."


def write_authority(path: Path, authority: Authority) -> None:
    """Write a new CA; never over an existing one.

    Raises:
        IntertieError: ALREADY_EXISTS if there is a CA key in the directory.
    """
    make_private_directory(path)
    write_private(path / CA_KEY, key_to_pem(authority.key), replace=False)
    write_certificates(path, authority)


def write_certificates(path: Path, authority: Authority) -> None:
    """Write what is public of a CA beside its key, over what is there."""
    write_private(path / ROOT_CERT, _pem(authority.root))
    write_private(path / CHAIN, b"".join(_pem(cert) for cert in authority.chain))
    write_private(path / CA_CERT, _pem(authority.cert))


def load_authority(path: Path, federation: str, region: str | None = None) -> Authority:
    """Load the root (`region` None) or a regional CA.

    Raises:
        IntertieError: CONFIG_INVALID naming the file.
    """
    check_trust_domain(federation)
    if region is not None:
        region_trust_domain(region, federation)
    key = load_tls_key(path / CA_KEY, read_private(path / CA_KEY))
    cert = _certificate(path / CA_CERT)
    chain = _chain(path / CHAIN)
    root = _certificate(path / ROOT_CERT)
    if key.public_key() != cert.public_key():
        raise unusable(path / CA_KEY, f"is not the key of {path / CA_CERT}", _RESTORE)
    if not chain and cert != root:
        chain = (cert,)  # written by a version that kept no chain
    return Authority(key, cert, chain, root, federation, region)


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(read_public(path))
    except ValueError as problem:
        raise unusable(path, "holds no certificate in PEM", _RESTORE) from problem


def _chain(path: Path) -> tuple[x509.Certificate, ...]:
    if not path.exists():
        return ()
    pem = read_public(path)
    if not pem.strip():
        return ()
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError as problem:
        raise unusable(path, "holds no certificates in PEM", _RESTORE) from problem


def _pem(cert: x509.Certificate) -> bytes:
    return cert.public_bytes(serialization.Encoding.PEM)
