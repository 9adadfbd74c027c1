"""Where a reader of a log stands: all that it must keep between two pulls."""

import json
from dataclasses import dataclass
from typing import Any, Self

from intertie.errors import IntertieError, invalid
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import Note


@dataclass(frozen=True, slots=True)
class Cursor:
    """Origin, size and compact range of what was verified, and the checkpoint that covered it."""

    origin: str
    range: CompactRange
    signed: bytes = b""

    @classmethod
    def start(cls, origin: str) -> Self:
        """The cursor of a reader that has read nothing."""
        return cls(origin, CompactRange())

    @property
    def size(self) -> int:
        """How many leaves were read, and the seq of the next one."""
        return self.range.size

    def to_json(self) -> str:
        """Write the cursor."""
        assert self.signed or self.size == 0, "what was read is covered by a checkpoint"
        state = {
            "origin": self.origin,
            "size": self.size,
            "hashes": [digest.hex() for digest in self.range.hashes],
            "checkpoint": self.signed.decode(),
        }
        return json.dumps(state, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a cursor; it must agree with the checkpoint that it holds."""
        try:
            state: Any = json.loads(text)
            hashes = tuple(bytes.fromhex(digest) for digest in state["hashes"])
            size, origin, signed = state["size"], state["origin"], state["checkpoint"].encode()
            if type(size) is not int or type(origin) is not str:
                raise TypeError("size must be a number and origin a text")
            cursor = cls(origin, CompactRange(size, hashes), signed)
            head = Checkpoint.parse(Note.parse(signed).text) if signed else None
        except (ValueError, KeyError, TypeError, AttributeError, IntertieError) as fault:
            raise invalid("cursor", f"not a cursor: {fault}") from None
        if (head is None and size != 0) or (
            head is not None and head != Checkpoint(origin, size, cursor.range.root())
        ):
            raise invalid(
                "cursor",
                "its hashes do not give the root of its checkpoint",
                remedy="Restore the cursor, or verify the log from its start.",
            )
        return cursor
