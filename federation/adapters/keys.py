"""The replica's own keys, as files of `<state>/keys`, mode 0600, made once and then only read.

    witness.key   Ed25519 seed, cosigns log checkpoints         witness.vkey  its public half
    grant.key     Ed25519 seed, signs grants and statements     grant.pub     its public half
    token.key     32 bytes, seals page and watch tokens
    principal.key 32 bytes, makes opaque ids of people

Several replicas share one set. Must not log or return a secret as text.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path

from intertie.metering.dsse import StatementSigner
from intertie.metering.log.note import ED25519_COSIGNATURE, Signer
from intertie.pki.files import make_private_directory, read_private, unusable, write_private
from intertie.ports import IdSource

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of a federation."""

    witness: Signer
    statements: StatementSigner
    tokens: bytes = field(repr=False)
    principals: bytes = field(repr=False)

    def principal_of(self, identity: str) -> str:
        """The opaque id under which an identity appears in usage: the same one every time."""
        digest = hmac.new(self.principals, identity.encode(), hashlib.sha256).hexdigest()
        return f"p-{digest[:24]}"


def witness_name(trust_domain: str) -> str:
    """The name of the federation's witness key."""
    return f"{trust_domain}/witness"


def load_keys(directory: Path, trust_domain: str, ids: IdSource) -> Keys:
    """Read the keys, making those that are missing."""
    make_private_directory(directory)
    secrets = {name: _secret(directory / f"{name}.key", ids) for name in _NAMES}
    keys = Keys(
        Signer.from_seed(witness_name(trust_domain), secrets["witness"], ED25519_COSIGNATURE),
        StatementSigner.from_seed(secrets["grant"]),
        secrets["token"],
        secrets["principal"],
    )
    write_private(directory / "witness.vkey", keys.witness.key.vkey.encode() + b"\n")
    write_private(directory / "grant.pub", keys.statements.key.public.hex().encode() + b"\n")
    return keys


_NAMES = ("witness", "grant", "token", "principal")


def _secret(path: Path, ids: IdSource) -> bytes:
    if not path.exists():
        # Two processes may start at once; the file of the first is the one that counts.
        write_private(path, ids.token_hex(SECRET_BYTES).encode() + b"\n", replace=False)
    try:
        secret = bytes.fromhex(read_private(path).decode())
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise unusable(path, "holds no key of 32 bytes in hex", "Restore it from a backup.")
    return secret
