r"""Log checkpoints (C2SP tlog-checkpoint): origin, size and root, signed by the log.

    text = origin "\n" size "\n" base64(root32) "\n"          no extension lines

Must not decide whom to trust (`trust`) nor what to cosign (`witness`), and must never sign a tree
whose leaves are not durable: that is `sequence.sign_durable`.
"""

from dataclasses import dataclass
from typing import Self

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import note, strict
from intertie.metering.log.merkle import EMPTY_ROOT, HASH_BYTES
from intertie.metering.log.note import Note, Signer


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of a log."""

    origin: str
    size: int
    root: bytes

    def text(self) -> bytes:
        """The text that is signed."""
        assert len(self.root) == HASH_BYTES, "a root is 32 bytes"
        assert self.size >= 0, f"no log has the size {self.size}"
        assert "\n" not in self.origin, "an origin is one line"
        return f"{self.origin}\n{self.size}\n{strict.base64_text(self.root)}\n".encode()

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Read the text of a note as a checkpoint."""
        lines = text.decode().split("\n")
        if len(lines) != 4 or lines[3] or not lines[0]:
            raise MeteringError(
                Fault.BAD_NOTE, f"checkpoint: expected 3 lines, got {len(lines) - 1}"
            )
        size = strict.size(lines[1], "checkpoint size")
        root = strict.hash_bytes(lines[2], "checkpoint root")
        if size == 0 and root != EMPTY_ROOT:
            raise MeteringError(
                Fault.BAD_NOTE, f"checkpoint root of size 0: expected {EMPTY_ROOT.hex()}"
            )
        return cls(lines[0], size, root)


def sign(checkpoint: Checkpoint, log: Signer) -> bytes:
    """Sign a checkpoint with the log key; the key's name is the origin."""
    assert log.key.name == checkpoint.origin, f"{log.key.name} signs for {checkpoint.origin}"
    text = checkpoint.text()
    return note.assemble(text, [log.sign_line(text)])


def cosign(signed: bytes, witness: Signer, time_s: int) -> bytes:
    """Add a witness's line to a signed checkpoint. Callers check consistency first."""
    return signed + witness.cosign_line(Note.parse(signed).text, time_s)


def add_lines(signed: bytes, lines: bytes) -> bytes:
    """Add received cosignature lines to a signed checkpoint; they must be lines."""
    Note.parse(signed + lines)
    return signed + lines
