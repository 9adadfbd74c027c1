"""Money: a currency, whole units and nanos, never a float (as google.type.Money)."""

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Self

from intertie.errors import invalid

NANOS = 1_000_000_000
MAX_PLACES = 9
MAX_UNITS = 2**63 - 1

_CURRENCY = re.compile(r"[A-Z]{3}")
_EXACT = Context(prec=64)


@dataclass(frozen=True, slots=True, order=True)
class Money:
    """An amount. `units` and `nanos` have the same sign, |nanos| < 10^9.

    Args:
        currency: three letters (ISO 4217).
        units: whole units.
        nanos: 10^-9 of a unit.
    """

    currency: str
    units: int
    nanos: int = 0

    def __post_init__(self) -> None:
        if _CURRENCY.fullmatch(self.currency) is None:
            raise invalid("currency", f"{self.currency[:20]!r} is not three capital letters")
        if not -MAX_UNITS <= self.units <= MAX_UNITS:
            raise invalid("units", f"{self.units} is beyond 2^63-1")
        if not -NANOS < self.nanos < NANOS or self.units * self.nanos < 0:
            raise invalid("nanos", f"{self.nanos} does not go with {self.units} units")

    @classmethod
    def of_nanos(cls, currency: str, total: int) -> Self:
        """The amount of a number of nanos."""
        sign = -1 if total < 0 else 1
        units, nanos = divmod(abs(total), NANOS)
        return cls(currency, sign * units, sign * nanos)

    @classmethod
    def parse(cls, currency: str, text: str) -> Self:
        """Read a decimal number with at most nine places, `12.345`."""
        if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,18})(?:\.[0-9]{1,9})?", text) is None:
            raise invalid("amount", f"{text[:40]!r} is not a number with at most nine places")
        return cls.of_nanos(currency, int(_EXACT.scaleb(Decimal(text), 9)))

    @property
    def total_nanos(self) -> int:
        """The amount as one integer."""
        return self.units * NANOS + self.nanos

    def to_decimal(self) -> Decimal:
        """The amount as a number of units, exact."""
        return Decimal(f"{self.total_nanos}E-9")

    def __add__(self, other: Self) -> Self:
        assert self.currency == other.currency, f"{self.currency} + {other.currency}"
        return self.of_nanos(self.currency, self.total_nanos + other.total_nanos)

    def __neg__(self) -> Self:
        return self.of_nanos(self.currency, -self.total_nanos)

    def text(self, digits: int) -> str:
        """As people write it, with at least so many places: amounts of one bill stand aligned."""
        assert 0 <= digits <= MAX_PLACES, f"{digits} places"
        whole, _, places = format(self.to_decimal(), f".{MAX_PLACES}f").partition(".")
        places = places.rstrip("0").ljust(digits, "0")
        return f"{whole}.{places} {self.currency}" if places else f"{whole} {self.currency}"

    def __str__(self) -> str:
        return self.text(2)
