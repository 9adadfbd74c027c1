"""Ed25519 signing keys for metering logs, witnesses and grants, kept as PKCS#8 PEM of mode 0600.

Apart from TLS keys: these sign what outlives a connection. Must not sign anything itself.
"""

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from intertie.pki.files import read_private, unusable, write_private


def generate_signing_key(path: Path) -> Ed25519PrivateKey:
    """Make a key and write it; never over an existing one.

    Raises:
        IntertieError: ALREADY_EXISTS if the file is there.
    """
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private(path, pem, replace=False)
    return key


def load_signing_key(path: Path) -> Ed25519PrivateKey:
    """Load a key.

    Raises:
        IntertieError: CONFIG_INVALID naming the file if it is absent, open to others or no key.
    """
    pem = read_private(path)
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as problem:
        raise unusable(path, "holds no private key in PEM", _RESTORE) from problem
    if not isinstance(key, Ed25519PrivateKey):
        raise unusable(path, "holds a key that is not Ed25519", _RESTORE)
    return key


def seed_of(key: Ed25519PrivateKey) -> bytes:
    """The 32-byte seed (RFC 8032 section 5.1.5), for code that takes raw keys."""
    return key.private_bytes_raw()


_RESTORE = "Restore the key from its backup; a new key would start a new log."
