"""Grants: how much of each meter a region may bill for one epoch of a task.

The federation signs once per assign tick, over the Merkle root of all grants of the tick; each
assignment carries its grant, its place in that tree and the envelope. A usage record cites the
SHA-256 of the grant's bytes. Must not judge usage (`audit`) nor know a price.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from intertie.errors import IntertieError, PeerError, Reason
from intertie.metering import canonical
from intertie.metering.dsse import StatementKey, StatementSigner, open_envelope
from intertie.metering.log.merkle import (
    CompactRange,
    inclusion_proof,
    leaf_hash,
    nodes_of,
    verify_inclusion,
)
from intertie.model.meters import METERS

TYPE = "intertie.grant/v1"
PAYLOAD_TYPE = "application/vnd.intertie.grants+json"
ROOT_TYPE = "intertie.grants/v1"

_TEXTS = (
    "task",
    "epoch",
    "region",
    "project",
    "payer",
    "spec_sha256",
    "price_version",
    "policy_sha256",
)
_TYPES: Mapping[str, type] = dict.fromkeys(_TEXTS, str) | {
    "not_after_ms": int,
    "supplement": int,
    "hard_cap": bool,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What the federation lets a region bill.

    Args:
        task: task id.
        epoch: `<generation>-<n>`, the federation's part of the run's token.
        region: who may bill.
        project: the tenant.
        payer: who is billed.
        spec_sha256: digest of the canonical bytes of the spec that is to run, and of no other.
        maximum: cap by meter in base units; a meter that is not here may not be billed.
        rate: what the run may hold at once, in units of the meter per ms and rank; optional.
        price_version: the price list that the bill uses.
        policy_sha256: the residency policy under which the region was chosen.
        not_after_ms: UTC instant after which a region must not start under it.
        hard_cap: stop at the cap instead of waiting for a supplement.
        supplement: 0 for the first grant of the epoch, then 1, 2, ...
    """

    task: str
    epoch: str
    region: str
    project: str
    payer: str
    spec_sha256: str
    maximum: Mapping[str, int]
    price_version: str
    policy_sha256: str
    not_after_ms: int
    rate: Mapping[str, int] = field(default_factory=dict)
    hard_cap: bool = False
    supplement: int = 0

    def encode(self) -> bytes:
        """The canonical bytes, whose SHA-256 records cite."""
        meters, rated = sorted(self.maximum), sorted(self.rate)
        assert self.supplement >= 0, "supplements are counted from 0"
        return canonical.encode(
            {
                "type": TYPE,
                "task": self.task,
                "epoch": self.epoch,
                "region": self.region,
                "project": self.project,
                "payer": self.payer,
                "spec_sha256": self.spec_sha256,
                "meters": meters,
                "maximum": [self.maximum[meter] for meter in meters],
                "rated_meters": rated,
                "rate": [self.rate[meter] for meter in rated],
                "price_version": self.price_version,
                "policy_sha256": self.policy_sha256,
                "not_after_ms": self.not_after_ms,
                "hard_cap": self.hard_cap,
                "supplement": self.supplement,
            }
        )

    @property
    def sha256(self) -> str:
        """What records cite."""
        return grant_sha256(self.encode())


@dataclass(frozen=True, slots=True)
class SignedGrant:
    """A grant as it travels: its bytes, and their proof under one signature."""

    grant: bytes
    index: int
    proof: tuple[bytes, ...]
    envelope: bytes


def grant_sha256(grant: bytes) -> str:
    """SHA-256 of a grant's bytes, in hex."""
    return sha256(grant).hexdigest()


def sign_grants(grants: Sequence[bytes], signer: StatementSigner) -> list[SignedGrant]:
    """Sign all grants of one tick with one signature."""
    if not grants:
        return []
    hashes = [leaf_hash(grant) for grant in grants]
    root = CompactRange().extend(hashes).root()
    statement = {"type": ROOT_TYPE, "root": root.hex(), "size": len(grants)}
    envelope = signer.sign(PAYLOAD_TYPE, canonical.encode(statement))
    node, size = nodes_of(hashes), len(grants)
    assert len(root) == 32, "a root is a SHA-256"
    return [
        SignedGrant(grant, index, tuple(inclusion_proof(node, index, size)), envelope)
        for index, grant in enumerate(grants)
    ]


def verify_grant(signed: SignedGrant, keys: Iterable[StatementKey]) -> Grant:
    """Return the grant if the federation signed it.

    Raises:
        PeerError: GRANT_INVALID.
    """
    root, size = _open_root(signed.envelope, tuple(keys))
    try:
        verify_inclusion(leaf_hash(signed.grant), signed.index, size, root, signed.proof)
    except IntertieError as fault:
        raise _bad(fault.message) from None
    return parse_grant(signed.grant)


def parse_grant(data: bytes) -> Grant:
    """Read a grant's bytes; who signed them is another question."""
    try:
        fields: dict[str, Any] = dict(canonical.parse(data))
        if fields.pop("type") != TYPE:
            raise _bad(f"grant: expected type {TYPE}")
        fields["maximum"] = _by_meter(fields.pop("meters"), fields["maximum"])
        fields["rate"] = _by_meter(fields.pop("rated_meters"), fields["rate"])
        for name, kind in _TYPES.items():
            if type(fields[name]) is not kind:
                raise _bad(f"grant: {name}: expected {kind.__name__}, got {fields[name]!r}")
        grant = Grant(**fields)
        if grant.encode() != data:
            raise _bad("grant: meters are not sorted")
    except (IntertieError, KeyError, TypeError, ValueError) as fault:
        raise _bad(f"grant: {fault}") from None
    return grant


def _by_meter(meters: Any, amounts: Any) -> dict[str, int]:  # noqa: ANN401 - checked right here
    pairs = dict(zip(meters, amounts, strict=True))
    for meter, amount in pairs.items():
        if meter not in METERS or not METERS[meter].billable:
            raise ValueError(f"{meter!r} is no billable meter")
        if type(amount) is not int or amount < 0:
            raise ValueError(f"{meter}: expected a count, got {amount!r}")
    return pairs


@lru_cache(maxsize=64)
def _open_root(envelope: bytes, keys: tuple[StatementKey, ...]) -> tuple[bytes, int]:
    """Verify the signature of a tick once, though each of its grants comes with it."""
    statement = canonical.parse(open_envelope(envelope, PAYLOAD_TYPE, keys))
    root, size = statement.get("root"), statement.get("size")
    if statement.get("type") != ROOT_TYPE or type(root) is not str or type(size) is not int:
        raise _bad(f"envelope: expected a statement of type {ROOT_TYPE}")
    try:
        return bytes.fromhex(root), size
    except ValueError:
        raise _bad("envelope: the root is not hex") from None


def _bad(what: str) -> PeerError:
    return PeerError(Reason.GRANT_INVALID, what)
