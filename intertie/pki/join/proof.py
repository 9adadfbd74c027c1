"""Proof that a region is itself: a signature by its metering log's key over the key it asks for.

A region whose certificates are lost or long over has no token and no identity left, but its log is
known to the federation for good, and only the region can sign for it. The signature names the key
that is to be certified, so it is worth nothing to anybody else.
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from intertie.errors import Reason, error
from intertie.pki.check import skewed
from intertie.pki.profile import MAX_SKEW_MS


def prove(seed: bytes, region: str, key_sha256: str, signed_ms: int) -> bytes:
    """Sign with the log's key, given as its 32-byte seed."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    return private.sign(_statement(region, key_sha256, signed_ms))


def check_proof(
    public: bytes,
    signature: bytes,
    *,
    region: str,
    key_sha256: str,
    signed_ms: int,
    now_ms: int,
) -> None:
    """Refuse a proof that is no signature of the log's key, or not of now.

    Raises:
        IntertieError: PERMISSION_DENIED or CLOCK_SKEW.
    """
    if abs(signed_ms - now_ms) > MAX_SKEW_MS:
        raise skewed(signed_ms - now_ms, f"The proof of {region} was signed by a clock")
    try:
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(signature, _statement(region, key_sha256, signed_ms))
    except (InvalidSignature, ValueError) as problem:
        raise error(
            Reason.PERMISSION_DENIED,
            f"The proof is not signed by the newest log key of {region}.",
            remedy="Restore the region's log key (keys/log.key of its state directory).",
            metadata={"region": region},
        ) from problem


def _statement(region: str, key_sha256: str, signed_ms: int) -> bytes:
    return f"intertie rejoin v1\n{region}\n{key_sha256}\n{signed_ms}\n".encode()
