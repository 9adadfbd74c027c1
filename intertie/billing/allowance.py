"""No more is billed under a grant than it allows, however a region's records add up.

Of each grant and meter the net quantity before the billed span and in it is kept, over the whole
log. What is billed up to an instant is the net quantity of all usage that started before it, but
not less than 0 and not more than the cap. So the order of records in the log does not matter, a
correction that came later counts, and the statements of single months add up to the whole.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

L = TypeVar("L", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Cut(Generic[L]):
    """What is taken off a line (or, below zero, added to it), so that the grant holds."""

    line: L
    meter: str
    quantity: int


@dataclass(slots=True)
class _Used(Generic[L]):
    line: L
    cap: int
    before: int = 0
    within: int = 0


class Allowances(Generic[L]):
    """What was used of each grant by meter; `L` names the line of a bill that it belongs to."""

    def __init__(self) -> None:
        self._used: dict[tuple[bytes, str], _Used[L]] = {}

    def add(
        self, grant: str, meter: str, cap: int, line: L, quantity: int, *, before: bool
    ) -> None:
        """Count usage or a correction. `before`: it started before the billed span."""
        assert cap >= 0, f"a cap of {cap}"
        key = (bytes.fromhex(grant), meter)  # half the size of the text
        used = self._used.get(key)
        if used is None:
            used = self._used[key] = _Used(line, cap)
        assert used.cap == cap, "a grant is immutable: its digest is its name"
        if before:
            used.before += quantity
        else:
            used.within += quantity

    def cuts(self) -> Iterator[Cut[L]]:
        """What must be taken off the lines."""
        for (_, meter), used in self._used.items():
            before = min(max(used.before, 0), used.cap)
            until = min(max(used.before + used.within, 0), used.cap)
            off = used.within - (until - before)
            if off:
                yield Cut(used.line, meter, off)
