"""Amounts of money, exact (google.type.Money): whole units and billionths of a unit, never floats."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Money:
    """An amount: `units` whole units of the currency and `nanos` billionths, of the same sign.

    Args:
        currency_code: three letters of ISO 4217.
        units: whole units.
        nanos: billionths of a unit, -999,999,999 to 999,999,999.
    """

    currency_code: str
    units: int = 0
    nanos: int = 0
