"""Join strings: `intertie1.<token id>.<secret>.<pin>`, what one person hands to another.

The secret is 256 bits in base64url and lets the bearer in; the pin is the SHA-256 of the root's key
in hex and lets the bearer know the server before there is any trust. The id says what the token is
for (`region-...`, `node-<region>-...`), so that a wrong command can be told at once; the server
goes by its own record. Must not decide whether a token is good (`tokens`).
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from enum import StrEnum

from intertie.errors import IntertieError, invalid
from intertie.ports import IdSource

PREFIX = "intertie1"
SECRET_BYTES = 32
MAX_LENGTH = 256
_RANDOM_BYTES = 8
_ID = re.compile(r"(?:node-(?P<region>[a-z][a-z0-9-]{1,30})|(?P<purpose>[a-z]+))-[0-9a-f]{16}")
_PIN = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"intertie([0-9]+)")
_ASK = "Copy the whole string again, or ask for a new one (intertie token create)."


class Purpose(StrEnum):
    """What a token lets somebody become."""

    REGION = "region"
    NODE = "node"
    CLIENT = "client"
    ADMIN = "admin"
    BILLING = "billing"


@dataclass(frozen=True, slots=True)
class JoinString:
    """A join string taken apart. `region` is set for node tokens only."""

    token_id: str
    purpose: Purpose
    region: str
    pin: str
    secret: bytes = field(repr=False)

    def reveal(self) -> str:
        """The string itself, with its secret: for the eyes of one person."""
        secret = base64.urlsafe_b64encode(self.secret).decode().rstrip("=")
        return f"{PREFIX}.{self.token_id}.{secret}.{self.pin}"


def new_join_string(
    purpose: Purpose, pin: str, ids: IdSource, *, region: str = "", request: str = ""
) -> JoinString:
    """A fresh one.

    Args:
        purpose: what it is for.
        pin: of the root.
        ids: makes the secret.
        region: whose nodes may join by it.
        request: who asked, with the request_id; gives the id, so a repetition meets the first.
    """
    assert (purpose is Purpose.NODE) == bool(region), "node tokens name their region"
    middle = f"{purpose}-{region}" if region else purpose.value
    end = hashlib.sha256(request.encode()).hexdigest() if request else ids.token_hex(_RANDOM_BYTES)
    token_id = f"{middle}-{end[: 2 * _RANDOM_BYTES]}"
    return JoinString(token_id, purpose, region, pin, bytes.fromhex(ids.token_hex(SECRET_BYTES)))


def parse_join_string(text: str, where: str = "token") -> JoinString:
    """Take a join string apart.

    Raises:
        IntertieError: INVALID_FIELD saying which part is at fault, never what it held.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise _wrong(where, f"has {len(text)} characters; a join string has fewer.")
    parts = text.split(".")
    version = _VERSION.fullmatch(parts[0])
    if version is None:
        raise _wrong(where, f"is no join string: it must start with {PREFIX}.")
    if parts[0] != PREFIX:
        raise _wrong(where, f"was made by another version ({parts[0]}); this one reads {PREFIX}.")
    if len(parts) != 4:
        raise _wrong(where, f"has {len(parts)} parts between dots, not 4; some of it is missing.")
    _, token_id, secret, pin = parts
    purpose, region = _purpose(token_id, where)
    if _PIN.fullmatch(pin) is None:
        raise _wrong(where, "ends in something that is no SHA-256 of 64 hex digits.")
    return JoinString(token_id, purpose, region, pin, _secret(secret, where))


def hash_secret(secret: bytes) -> str:
    """What is kept of a secret. Plain SHA-256 will do: 256 random bits cannot be searched."""
    return hashlib.sha256(b"intertie join secret v1\n" + secret).hexdigest()


def is_secret(secret: bytes, secret_sha256: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(hash_secret(secret), secret_sha256)


def _purpose(token_id: str, where: str) -> tuple[Purpose, str]:
    found = _ID.fullmatch(token_id)
    if found is None:
        raise _wrong(where, "has a token id that is none.")
    if found["region"]:
        return Purpose.NODE, found["region"]
    if found["purpose"] not in set(Purpose) - {Purpose.NODE}:
        raise _wrong(where, f"is for a {found['purpose'][:20]}, which this version does not know.")
    return Purpose(found["purpose"]), ""


def _secret(text: str, where: str) -> bytes:
    try:
        secret = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise _wrong(where, "has a secret that is not whole.")
    return secret


def _wrong(where: str, problem: str) -> IntertieError:
    return invalid(where, problem, remedy=_ASK)
