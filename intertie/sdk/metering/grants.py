"""Signed grants as files, for an offline check of caps: `<dir>/grants/*.json`.

    {"grant": base64, "index": 0, "proof": [base64, ...], "envelope": base64}

Each must be signed by the federation's grant key; the verifier names it, the trust file does not.
"""

import binascii
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.metering.dsse import StatementKey
from intertie.metering.grant import Grant, SignedGrant, verify_grant
from intertie.sdk.metering.directory import GRANTS, read_file

_KEY_BYTES = 32


def load_grants(folder: Path, key: StatementKey) -> dict[str, Grant]:
    """All grants below a pulled folder, verified, by their SHA-256.

    Raises:
        IntertieError: GRANT_INVALID or CONFIG_INVALID naming the file.
    """
    grants: dict[str, Grant] = {}
    for path in sorted((folder / GRANTS).glob("*.json")):
        try:
            grant = verify_grant(_parse(read_file(path)), [key])
        except IntertieError as problem:
            raise error(problem.reason, f"{path}: {problem.message}") from None
        grants[grant.sha256] = grant
    return grants


def read_key(text: str) -> StatementKey:
    """A public Ed25519 key: 64 hexadecimal digits, or a file that holds them."""
    written = text
    if len(text) != 2 * _KEY_BYTES:
        written = read_file(Path(text)).decode("ascii", "replace").strip()
    try:
        public = bytes.fromhex(written)
    except ValueError:
        public = b""
    if len(public) != _KEY_BYTES:
        raise invalid("--grant-key", f"{text[:80]!r} is no public key of 64 hexadecimal digits")
    return StatementKey(public)


def _parse(data: bytes) -> SignedGrant:
    try:
        state: Any = json.loads(data)
        proof = tuple(b64decode(part, validate=True) for part in state["proof"])
        grant, envelope = (b64decode(state[k], validate=True) for k in ("grant", "envelope"))
        index = state["index"]
    except (ValueError, KeyError, TypeError, binascii.Error) as problem:
        raise error(Reason.CONFIG_INVALID, f"is no signed grant: {problem}.") from None
    if type(index) is not int:
        raise error(Reason.CONFIG_INVALID, "is no signed grant: index must be a number.")
    return SignedGrant(grant, index, proof, envelope)
