"""Tokens: the right to act for a run (safety.md).

A token is (epoch, sub-epoch). The federation gives the epoch = (generation, n): `generation` grows
when a store is restored, `n` with each assignment of the task. The region gives the sub-epoch: it
grows with each placement inside the region. A sink keeps the highest token it has seen and refuses
an older one.
"""

from dataclasses import dataclass
from typing import Self

from intertie.errors import invalid


@dataclass(frozen=True, slots=True, order=True)
class Epoch:
    """The federation's part of a token; compares by (generation, n)."""

    generation: int
    n: int

    def next(self) -> Self:
        """The epoch of the next assignment."""
        return type(self)(self.generation, self.n + 1)

    def __str__(self) -> str:
        return f"{self.generation}-{self.n}"


@dataclass(frozen=True, slots=True, order=True)
class Token:
    """The right to act for a run; compares by (generation, n, sub)."""

    epoch: Epoch
    sub: int

    def next(self) -> Self:
        """The token of the next placement inside the region."""
        return type(self)(self.epoch, self.sub + 1)

    def __str__(self) -> str:
        return f"{self.epoch}.{self.sub}"

    @classmethod
    def parse(cls, text: str, field: str = "token") -> Self:
        """Parse `generation-n.sub`."""
        head, _, sub = text.partition(".")
        generation, _, n = head.partition("-")
        parts = (generation, n, sub)
        if not all(p.isascii() and p.isdigit() and len(p) < 16 for p in parts):
            raise invalid(field, f"{text[:60]!r} is not GENERATION-N.SUB")
        return cls(Epoch(int(generation), int(n)), int(sub))
