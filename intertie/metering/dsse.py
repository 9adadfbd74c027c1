"""DSSE envelopes (Dead Simple Signing Envelope, v1) with Ed25519.

Statements outside the log - grants, orders, price lists, completions - are signed this way: the
signature covers the payload's bytes and its type, so no statement passes for one of another kind.
Must not read the payload.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from intertie.errors import IntertieError, PeerError, Reason
from intertie.metering.log import strict

MAX_BYTES = 4_000_000
MAX_SIGNATURES = 16


@dataclass(frozen=True, slots=True)
class StatementKey:
    """A public key that statements are verified with."""

    public: bytes

    @property
    def id(self) -> str:
        """SHA-256 of the key, in hex: a hint in the envelope, and what people compare."""
        return sha256(self.public).hexdigest()


@dataclass(frozen=True, slots=True)
class StatementSigner:
    """A private key that statements are signed with. Its secret never shows in a repr."""

    key: StatementKey
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def from_seed(cls, seed: bytes) -> Self:
        """Make a signer from the 32 secret bytes of an Ed25519 key (RFC 8032)."""
        assert len(seed) == 32, f"a seed has 32 bytes, got {len(seed)}"
        private = Ed25519PrivateKey.from_private_bytes(seed)
        return cls(StatementKey(private.public_key().public_bytes_raw()), private)

    def sign(self, payload_type: str, payload: bytes) -> bytes:
        """Return the envelope of a payload."""
        assert payload_type, "a statement has a type"
        signed = self._private.sign(pae(payload_type, payload))
        envelope = {
            "payload": strict.base64_text(payload),
            "payloadType": payload_type,
            "signatures": [{"keyid": self.key.id, "sig": strict.base64_text(signed)}],
        }
        return json.dumps(envelope, separators=(",", ":")).encode()


def pae(payload_type: str, payload: bytes) -> bytes:
    """The pre-authentication encoding: what is signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def open_envelope(envelope: bytes, payload_type: str, keys: Iterable[StatementKey]) -> bytes:
    """Return the payload of an envelope that one of these keys signed as this type.

    Raises:
        PeerError: GRANT_INVALID; malformed, of another type, or not signed by a known key.
    """
    payload, kind, signatures = _parse(envelope)
    if kind != payload_type:
        raise _bad(f"envelope: expected a {payload_type}, got {kind[:80]!r}")
    known = {key.id: key for key in keys}
    message = pae(kind, payload)
    for key_id, signed in signatures:
        key = known.get(key_id)
        if key is not None and _holds(key, signed, message):
            return payload
    raise _bad(f"envelope: no valid signature by any of {len(known)} known keys")


def _holds(key: StatementKey, signed: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(signed, message)
    except InvalidSignature:
        return False
    return True


def _parse(envelope: bytes) -> tuple[bytes, str, list[tuple[str, bytes]]]:
    if len(envelope) > MAX_BYTES:
        raise _bad(f"envelope: {len(envelope)} bytes, at most {MAX_BYTES} are allowed")
    try:
        obj: Any = json.loads(envelope)
        signatures = obj["signatures"][:MAX_SIGNATURES]
        payload = strict.base64_bytes(obj["payload"], "envelope payload")
        found = [(str(s["keyid"]), strict.base64_bytes(s["sig"], "envelope")) for s in signatures]
        return payload, str(obj["payloadType"]), found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, IntertieError):
        raise _bad("envelope: no DSSE envelope") from None


def _bad(what: str) -> PeerError:
    return PeerError(Reason.GRANT_INVALID, what)
