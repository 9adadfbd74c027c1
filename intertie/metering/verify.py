"""Verification of a pulled log: one pass over the leaves, against a cosigned checkpoint.

The reader hashes every leaf into its compact range; at the checkpoint's size the root must be the
cosigned one. That proves inclusion, consistency, order and completeness at once: no leaf can be
changed, left out, added or moved. Then the records are judged (`audit`). Must not fetch anything.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from intertie.metering.audit.auditor import LATE_MS, Auditor
from intertie.metering.audit.corrections import LeafAt
from intertie.metering.audit.findings import Finding
from intertie.metering.cursor import Cursor
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.grant import Grant
from intertie.metering.log.merkle import leaf_hash
from intertie.metering.log.trust import Opened, Trust, open_checkpoint

_ORIGIN = re.compile(r".+/region/([a-z][a-z0-9-]{1,30})/metering")


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the newest cosignature may be at an instant (UTC ms)."""

    now_ms: int
    max_age_ms: int

    def __post_init__(self) -> None:
        assert self.max_age_ms >= 0, "an age is not negative"


@dataclass(frozen=True, slots=True)
class Hidden:
    """A leaf of another payer: its hash stands in the tree, its record is not to be seen."""

    digest: bytes


Leaf = bytes | Hidden
"""A leaf as a reader has it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found. `cursor` is where to go on; it moves only if the root held."""

    cursor: Cursor
    opened: Opened | None
    findings: tuple[Finding, ...]
    total: int
    records: int
    unchecked_corrections: int = 0
    hidden: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.total == 0


def region_of(origin: str) -> str | None:
    """The region that an origin `<trust domain>/region/<id>/metering` names."""
    match = _ORIGIN.fullmatch(origin)
    return match[1] if match else None


def check_head(
    signed: bytes, trust: Trust, cursor: Cursor, freshness: Freshness | None = None
) -> Opened:
    """Verify a checkpoint, and that it does not go back behind what was read.

    Raises:
        MeteringError: bad_note, unknown_origin, bad_log_sig, quorum_not_met, stale_checkpoint,
            rollback or fork.
    """
    opened = open_checkpoint(signed, trust)
    head = opened.checkpoint
    if head.origin != cursor.origin:
        raise MeteringError(
            Fault.UNKNOWN_ORIGIN, f"expected origin {cursor.origin!r}, got {head.origin!r}"
        )
    if head.size < cursor.size:
        raise MeteringError(Fault.ROLLBACK, f"expected size {cursor.size} or more, got {head.size}")
    if head.size == cursor.size and head.root != cursor.range.root():
        raise MeteringError(
            Fault.FORK,
            f"size {head.size}: expected root {cursor.range.root().hex()}, got {head.root.hex()}",
            remedy="Keep both checkpoints: together they prove that the log shows two histories.",
        )
    if freshness is not None:
        newest_ms = max((time_s * 1000 for _, time_s in opened.cosignatures), default=0)
        if freshness.now_ms - newest_ms > freshness.max_age_ms:
            raise MeteringError(
                Fault.STALE_CHECKPOINT,
                f"expected a cosignature in the last {freshness.max_age_ms} ms, newest is at "
                f"{newest_ms}, now {freshness.now_ms}",
            )
    return opened


def root_pass(cursor: Cursor, leaves: Iterable[bytes], opened: Opened) -> Cursor:
    """Hash the leaves after the cursor up to a checked head; return the cursor there.

    Raises:
        MeteringError: seq_gap if leaves are missing, root_mismatch if they are not the log's.
    """
    wanted = opened.checkpoint.size - cursor.size
    assert wanted >= 0, "a checked head does not go back"
    extended = cursor.range.absorb(islice(leaves, wanted))
    return arrive(Cursor(cursor.origin, extended, opened.signed), opened)


def verify_log(
    leaves: Iterable[Leaf],
    signed: bytes,
    trust: Trust,
    *,
    cursor: Cursor,
    grants: Mapping[str, Grant] | None = None,
    leaf_at: LeafAt | None = None,
    freshness: Freshness | None = None,
    late_ms: int = LATE_MS,
) -> Report:
    """Verify a pulled log in full.

    Args:
        leaves: the leaves after the cursor, in order; those beyond the checkpoint are not read.
        signed: the cosigned checkpoint, as received.
        trust: whom the reader believes.
        cursor: where the reader stands (`Cursor.start` for a whole log). Rules that look back
            (overlap, caps, duplicates) see what this call reads: use the start for a full audit.
        grants: verified grants by SHA-256.
        leaf_at: reads a leaf of this log by seq, for corrections.
        freshness: how old the checkpoint may be; None = any age.
        late_ms: how old usage may be when recorded.
    """
    try:
        opened = check_head(signed, trust, cursor, freshness)
    except MeteringError as fault:
        finding = Finding(fault.fault, None, fault.message)
        return Report(cursor, None, (finding,), 1, 0)
    auditor = Auditor(region_of(cursor.origin), grants=grants, leaf_at=leaf_at, late_ms=late_ms)
    wanted = opened.checkpoint.size - cursor.size
    extended = cursor.range.extend(_audited(auditor, cursor.size, islice(leaves, wanted)))
    reached = cursor
    findings = auditor.finish()
    assert findings.total >= len(findings.listed), "what is listed is counted"
    try:
        reached = arrive(Cursor(cursor.origin, extended, signed), opened)
    except MeteringError as fault:
        findings.listed.insert(0, Finding(fault.fault, None, fault.message))
        findings.total += 1
    return Report(
        reached,
        opened,
        tuple(findings.listed),
        findings.total,
        auditor.records,
        auditor.unchecked_corrections,
        auditor.hidden,
    )


def _audited(auditor: Auditor, first: int, leaves: Iterable[Leaf]) -> Iterator[bytes]:
    feed = auditor.feed
    for seq, leaf in enumerate(leaves, start=first):
        if isinstance(leaf, bytes):
            feed(seq, leaf)
            yield leaf_hash(leaf)
        else:
            auditor.skip(seq, leaf.digest)
            yield leaf.digest


def arrive(reached: Cursor, opened: Opened) -> Cursor:
    """Return the cursor of a reader that hashed all leaves of a checked head, if the root holds.

    Raises:
        MeteringError: seq_gap or root_mismatch.
    """
    head = opened.checkpoint
    assert reached.origin == head.origin, "a cursor stays in its log"
    assert reached.size <= head.size, "no leaf is read beyond the checkpoint"
    if reached.size < head.size:
        raise MeteringError(
            Fault.SEQ_GAP, f"expected leaves up to seq {head.size - 1}, they end at {reached.size}"
        )
    if reached.range.root() != head.root:
        raise MeteringError(
            Fault.ROOT_MISMATCH,
            f"size {head.size}: expected root {head.root.hex()}, got {reached.range.root().hex()}",
            remedy="A leaf was changed, left out or moved; ask for receipts, and for a new copy.",
        )
    return reached
