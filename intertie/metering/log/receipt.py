r"""Receipts: the proof that one record is in a log (C2SP tlog-proof).

    c2sp.org/tlog-proof@v1 / extra <base64 record> / index n / hashes / blank / cosigned checkpoint

A receipt stands alone: with a trust file it is checked offline, years later. The record is opaque
here; whoever shows it may read it with `records.parse_record`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import strict
from intertie.metering.log.merkle import leaf_hash, verify_inclusion
from intertie.metering.log.trust import Opened, Trust, open_checkpoint

HEADER = "c2sp.org/tlog-proof@v1"
MAX_BYTES = 1_200_000
MAX_PROOF = 63


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt taken apart; nothing is verified by making one."""

    index: int
    proof: tuple[bytes, ...]
    signed: bytes
    record: bytes | None = None
    """The leaf; None where the one who checks has it already."""

    def encode(self) -> bytes:
        """Write the receipt."""
        assert self.index >= 0, f"no leaf has the index {self.index}"
        assert len(self.proof) <= MAX_PROOF, f"a proof of {len(self.proof)} hashes"
        lines = [HEADER]
        if self.record is not None:
            lines.append(f"extra {strict.base64_text(self.record)}")
        lines.append(f"index {self.index}")
        lines += [strict.base64_text(digest) for digest in self.proof]
        return ("\n".join(lines) + "\n\n").encode() + self.signed

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read a receipt; the part before the FIRST blank line is the proof."""
        if len(data) > MAX_BYTES:
            raise _bad(f"receipt: {len(data)} bytes, at most {MAX_BYTES} are allowed")
        head, blank, signed = data.partition(b"\n\n")
        if not blank or not head.isascii():
            raise _bad("receipt: expected a blank line after the proof")
        lines = head.decode().split("\n")
        if lines.pop(0) != HEADER:
            raise _bad(f"receipt: expected the header {HEADER}")
        record = None
        if lines and lines[0].startswith("extra "):
            text = lines.pop(0).removeprefix("extra ")
            record = strict.base64_bytes(text, "receipt extra", Fault.BAD_PROOF)
        if not lines or not lines[0].startswith("index "):
            raise _bad("receipt: expected a line 'index N'")
        index = strict.size(lines.pop(0).removeprefix("index "), "receipt index", Fault.BAD_PROOF)
        return cls(index, _hashes(lines), signed, record)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a valid receipt proves: this record stands at this index of that log."""

    record: bytes
    index: int
    opened: Opened


def check_receipt(data: bytes, trust: Trust, record: bytes | None = None) -> Checked:
    """Verify a receipt as received.

    Args:
        data: the receipt.
        trust: whom the verifier believes.
        record: the record in question; must equal the receipt's own where it has one.
    """
    receipt = Receipt.parse(data)
    leaf = receipt.record if record is None else record
    if leaf is None:
        raise _bad("receipt: it holds no record; give the record that it is about")
    if receipt.record is not None and receipt.record != leaf:
        raise _bad("receipt: it is about another record")
    opened = open_checkpoint(receipt.signed, trust)
    head = opened.checkpoint
    verify_inclusion(leaf_hash(leaf), receipt.index, head.size, head.root, receipt.proof)
    return Checked(leaf, receipt.index, opened)


def _hashes(lines: Sequence[str]) -> tuple[bytes, ...]:
    if len(lines) > MAX_PROOF:
        raise _bad(f"receipt: {len(lines)} hashes, at most {MAX_PROOF} are allowed")
    return tuple(strict.hash_bytes(line, "receipt hash", Fault.BAD_PROOF) for line in lines)


def _bad(what: str) -> MeteringError:
    return MeteringError(Fault.BAD_PROOF, what)
