"""Public TLS keys as what records hold: PEM, and the SHA-256 of the SubjectPublicKeyInfo in hex."""

import hashlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def key_digest(key: ec.EllipticCurvePublicKey) -> str:
    """SHA-256 of the key: by this a token and a name are bound to it."""
    return hashlib.sha256(_der(key)).hexdigest()


def key_to_text(key: ec.EllipticCurvePublicKey) -> str:
    """PEM."""
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def key_from_text(pem: str) -> ec.EllipticCurvePublicKey:
    """The key of a PEM that `key_to_text` made."""
    key = serialization.load_pem_public_key(pem.encode())
    assert isinstance(key, ec.EllipticCurvePublicKey), "records hold P-256 keys"
    return key


def _der(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
