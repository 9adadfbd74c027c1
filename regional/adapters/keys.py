"""The region's own keys, as files of `<state>/keys`, mode 0600, made once and then only read.

    log.key    Ed25519 seed, signs log checkpoints     log.vkey   its public half
    token.key  32 bytes, seals page tokens

Must not make a new log key for a log that exists: under one name that would be a fork.
"""

from dataclasses import dataclass, field
from pathlib import Path

from intertie.metering.log.note import Signer
from intertie.pki.files import make_private_directory, read_private, unusable, write_private
from intertie.ports import IdSource

SECRET_BYTES = 32
_RESTORE = "Restore it from its backup; a new key would begin another log under the same name."


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of a region."""

    log: Signer
    tokens: bytes = field(repr=False)


def load_keys(directory: Path, origin: str, ids: IdSource, *, has_log: bool) -> Keys:
    """Read the keys, making those that are missing.

    Raises:
        IntertieError: CONFIG_INVALID naming the file.
    """
    make_private_directory(directory)
    if has_log and not (directory / "log.key").exists():
        raise unusable(directory / "log.key", f"is missing, but {origin} has records", _RESTORE)
    log = Signer.from_seed(origin, _secret(directory / "log.key", ids))
    write_private(directory / "log.vkey", log.key.vkey.encode() + b"\n")
    return Keys(log, _secret(directory / "token.key", ids))


def _secret(path: Path, ids: IdSource) -> bytes:
    if not path.exists():
        write_private(path, ids.token_hex(SECRET_BYTES).encode() + b"\n", replace=False)
    try:
        secret = bytes.fromhex(read_private(path).decode())
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise unusable(path, "holds no key of 32 bytes in hex", _RESTORE)
    return secret
