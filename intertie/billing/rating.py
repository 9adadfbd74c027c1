"""Rating: exact, and rounded once by a written rule.

pricing quantity   quantity / base units of a pricing unit, half-even to 1e-9
cost               pricing quantity x price, exact
amounts            the exact total is rounded half-even to the currency's minor unit; each line
is rounded down, and what is missing goes one minor unit each to the lines
with the largest remainders (earlier lines first), so that they add up
"""

from collections.abc import Sequence
from decimal import Context, Decimal, Inexact

from intertie.model.meters import METERS

_EXACT = Context(prec=96, traps=[Inexact])
"""Wide enough for every product and sum here; a lost digit would be our bug, so it is a trap."""


def pricing_quantity(meter: str, quantity: int) -> Decimal:
    """How many pricing units a quantity of base units is."""
    return Decimal(f"{_half_even(quantity * 10**9, METERS[meter].per_pricing_unit)}E-9")


def cost(pricing: Decimal, price: Decimal) -> Decimal:
    """Exact cost of a pricing quantity."""
    return _EXACT.multiply(pricing, price)


def total(costs: Sequence[Decimal]) -> Decimal:
    """Exact sum."""
    result = Decimal(0)
    for amount in costs:
        result = _EXACT.add(result, amount)
    return result


def round_lines(costs: Sequence[Decimal], minor_digits: int) -> tuple[list[int], int]:
    """Round costs to whole minor units; return one amount a line, and the total they add up to."""
    minor = [_EXACT.scaleb(amount, minor_digits) for amount in costs]
    whole = [int(amount.to_integral_value("ROUND_FLOOR")) for amount in minor]
    due = int(total(minor).to_integral_value("ROUND_HALF_EVEN"))
    missing = due - sum(whole)
    assert 0 <= missing <= len(whole), "rounding down loses less than one minor unit a line"
    by_remainder = sorted(
        range(len(whole)), key=lambda at: _EXACT.subtract(whole[at], minor[at])
    )  # sorted() is stable: earlier lines first
    for at in by_remainder[:missing]:
        whole[at] += 1
    return whole, due


def _half_even(numerator: int, denominator: int) -> int:
    quotient, rest = divmod(numerator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and quotient & 1):
        quotient += 1
    return quotient
