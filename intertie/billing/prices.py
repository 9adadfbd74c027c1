"""Price lists: versioned, one rate a meter. A grant cites the version; the bill uses that one.

A list is signed as a DSSE payload of its canonical JSON; who signed it is the caller's check.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from intertie.errors import IntertieError, invalid
from intertie.model.meters import METERS
from intertie.model.money import Money

TYPE = "intertie.prices/v1"
PAYLOAD_TYPE = "application/vnd.intertie.prices+json"
MAX_MINOR_DIGITS = 9

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices in one currency.

    Args:
        version: never used for other prices again.
        currency: three letters.
        minor_digits: decimal places of an amount that can be paid (2 for EUR, 0 for JPY).
        rates: price of one pricing unit (`Meter.pricing_unit`) by meter; others cost nothing.
    """

    version: str
    currency: str
    minor_digits: int
    rates: Mapping[str, Money]

    def __post_init__(self) -> None:
        if _VERSION.fullmatch(self.version) is None:
            raise invalid("version", f"{self.version[:80]!r} is not allowed")
        if not 0 <= self.minor_digits <= MAX_MINOR_DIGITS:
            raise invalid("minor_digits", f"expected 0 to {MAX_MINOR_DIGITS}")
        for meter, rate in self.rates.items():
            if meter not in METERS or not METERS[meter].billable:
                raise invalid(f"rates.{meter}", "is no billable meter")
            if rate.currency != self.currency or rate.total_nanos < 0:
                raise invalid(f"rates.{meter}", f"expected a price in {self.currency}, got {rate}")

    def price(self, meter: str) -> Decimal:
        """Price of one pricing unit of a meter."""
        rate = self.rates.get(meter)
        return Decimal(0) if rate is None else rate.to_decimal()

    def to_fields(self) -> dict[str, Any]:
        """The list as a canonical object, to be encoded and signed."""
        meters = sorted(self.rates)
        return {
            "type": TYPE,
            "version": self.version,
            "currency": self.currency,
            "minor_digits": self.minor_digits,
            "meters": meters,
            "units": [self.rates[meter].units for meter in meters],
            "nanos": [self.rates[meter].nanos for meter in meters],
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Read the object of a verified payload."""
        try:
            currency, meters = fields["currency"], fields["meters"]
            amounts = zip(meters, fields["units"], fields["nanos"], strict=True)
            rates = {m: Money(currency, units, nanos) for m, units, nanos in amounts}
            if fields["type"] != TYPE or len(rates) != len(meters):
                raise ValueError(f"expected type {TYPE} and one rate a meter")
            found = cls(fields["version"], currency, fields["minor_digits"], rates)
            if found.to_fields() != dict(fields):
                raise ValueError("unknown fields, or meters that are not sorted")
        except (KeyError, TypeError, ValueError, IntertieError) as fault:
            raise invalid("prices", f"not a price list: {fault}") from None
        return found


def prices_schema() -> dict[str, Any]:
    """JSON Schema of a price list's object; `intertie schema prices` prints it."""
    billable = sorted(name for name, meter in METERS.items() if meter.billable)
    whole = {"type": "integer", "minimum": 0}
    properties = {
        "type": {"const": TYPE},
        "version": {"type": "string", "pattern": f"^{_VERSION.pattern}$"},
        "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "minor_digits": whole | {"maximum": MAX_MINOR_DIGITS},
        "meters": {
            "description": "Meters that cost something, sorted; one price each, in this order.",
            "type": "array",
            "items": {"enum": billable},
            "uniqueItems": True,
        },
        "units": {"description": "Whole units of a price.", "type": "array", "items": whole},
        "nanos": {
            "description": "10^-9 of a unit of a price.",
            "type": "array",
            "items": whole | {"maximum": 999_999_999},
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:intertie:schema:prices",
        "title": "Intertie price list",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": list(properties),
    }
