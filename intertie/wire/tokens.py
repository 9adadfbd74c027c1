"""Opaque tokens of pages and watches: where to go on, bound to what was asked.

A token is a payload under a MAC with a key that all servers of one kind share. The MAC covers the
purpose and the other arguments of the call, so a token works for the same question only (AIP-158).
Must not hold anything that the caller may not know.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

from intertie.errors import FieldViolation, IntertieError, Reason, error

MAC_BYTES = 16
MAX_TOKEN = 8_192


class Tokens:
    """Seals and opens tokens.

    Args:
        key: 32 secret bytes that all servers of one kind share.
    """

    def __init__(self, key: bytes) -> None:
        assert len(key) == 32, "a token key has 32 bytes"
        self._key = key

    def seal(self, purpose: str, bound: Sequence[str], payload: bytes) -> str:
        """Make a token for `payload`, good for this purpose with these arguments only."""
        sealed = self._mac(purpose, bound, payload) + payload
        return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()

    def open(self, purpose: str, bound: Sequence[str], token: str, field: str) -> bytes:
        """The payload of a token.

        Raises:
            IntertieError: TOKEN_INVALID; altered, or made for other arguments.
        """
        sealed = _decoded(token)
        mac, payload = sealed[:MAC_BYTES], sealed[MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(purpose, bound, payload)):
            raise invalid_token(field, "was altered, or made for other arguments")
        return payload

    def _mac(self, purpose: str, bound: Sequence[str], payload: bytes) -> bytes:
        parts = [purpose.encode(), *(text.encode() for text in bound), payload]
        framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return hmac.new(self._key, framed, hashlib.sha256).digest()[:MAC_BYTES]


def invalid_token(field: str, why: str) -> IntertieError:
    """TOKEN_INVALID for a field."""
    return error(
        Reason.TOKEN_INVALID,
        f"{field}: {why}.",
        remedy="Use a token of an earlier response, with the same other arguments; or none.",
        fields=[FieldViolation(field, why)],
    )


def _decoded(token: str) -> bytes:
    if len(token) > MAX_TOKEN or not token.isascii():
        return b""
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""
    again = base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
    return sealed if again == token else b""  # one spelling a token
