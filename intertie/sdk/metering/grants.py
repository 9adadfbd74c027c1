"""Signed grants as files, for an offline check of caps: `<dir>/grants/<sha256>.json`.

    {"grant": base64, "index": 0, "proof": [base64, ...], "envelope": base64}

Each must be signed by a key of `<dir>/grant.keys`, one `grant-key <hex>` a line. The first pull
takes that file from the federation, like the trust file: compare its fingerprints once by another
way. Grants that the pulled records cite and that are not here yet are asked for.
"""

import binascii
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from intertie.errors import IntertieError, Reason, error, invalid
from intertie.metering.dsse import StatementKey
from intertie.metering.grant import Grant, SignedGrant, grant_sha256, verify_grant
from intertie.pki.files import make_private_directory, write_private
from intertie.sdk.metering.client import MAX_GRANTS, MeteringClient
from intertie.sdk.metering.directory import GRANTS, LogDirectory, read_file

KEYS = "grant.keys"
_KEY_BYTES = 32
_KEY_LINE = re.compile(r"grant-key ([0-9a-f]{64})")
_CITED = re.compile(rb'"grant_sha256":"([0-9a-f]{64})"')


async def fetch_grants(client: MeteringClient, folder: Path, logs: Sequence[LogDirectory]) -> int:
    """Fetch the grants that pulled records cite and that are not here yet; how many came.

    What the federation does not have, or does not show, stays missing: `verify` tells.

    Raises:
        IntertieError: GRANT_INVALID, what came is not what the keys of the folder signed.
    """
    keys = read_keys(folder / KEYS)
    make_private_directory(folder / GRANTS)
    came = 0
    for log in logs:
        size = log.cursor().size
        for wanted in _pieces(_missing(folder, log)):
            for signed in await client.grants(wanted):
                if grant_sha256(signed.grant) not in wanted:
                    continue
                verify_grant(signed, keys)
                write_private(_file(folder, grant_sha256(signed.grant)), _written(signed))
                came += 1
        log.set_granted(size)
    return came


def _missing(folder: Path, log: LogDirectory) -> Iterator[str]:
    """Digests that records cite after those that were looked at by an earlier pull."""
    seen: set[str] = set()
    for leaf in log.leaves(log.granted()):
        cited = _CITED.search(leaf) if isinstance(leaf, bytes) else None
        digest = cited[1].decode() if cited is not None else ""
        if digest and digest not in seen:
            seen.add(digest)
            if not _file(folder, digest).exists():
                yield digest


def _pieces(digests: Iterable[str]) -> Iterator[list[str]]:
    piece: list[str] = []
    for digest in digests:
        piece.append(digest)
        if len(piece) == MAX_GRANTS:
            yield piece
            piece = []
    if piece:
        yield piece


def load_grants(folder: Path, keys: Iterable[StatementKey]) -> dict[str, Grant]:
    """All grants below a pulled folder, verified, by their SHA-256.

    Raises:
        IntertieError: GRANT_INVALID or CONFIG_INVALID naming the file.
    """
    grants: dict[str, Grant] = {}
    known = tuple(keys)
    for path in sorted((folder / GRANTS).glob("*.json")):
        try:
            grant = verify_grant(_parse(read_file(path)), known)
        except IntertieError as problem:
            raise error(problem.reason, f"{path}: {problem.message}") from None
        grants[grant.sha256] = grant
    return grants


def read_keys(path: Path) -> tuple[StatementKey, ...]:
    """The keys of a `grant.keys` file; lines that begin with `#` are for people."""
    keys: list[StatementKey] = []
    for line in read_file(path).decode("utf-8", "replace").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        match = _KEY_LINE.fullmatch(line.strip())
        if match is None:
            raise invalid(str(path), f"{line[:80]!r} is not `grant-key` and 64 hexadecimal digits")
        keys.append(StatementKey(bytes.fromhex(match[1])))
    if not keys:
        raise invalid(str(path), "names no grant key")
    return tuple(keys)


def _file(folder: Path, digest: str) -> Path:
    return folder / GRANTS / f"{digest}.json"


def _written(signed: SignedGrant) -> bytes:
    state = {
        "grant": b64encode(signed.grant).decode(),
        "index": signed.index,
        "proof": [b64encode(part).decode() for part in signed.proof],
        "envelope": b64encode(signed.envelope).decode(),
    }
    return json.dumps(state).encode() + b"\n"


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
