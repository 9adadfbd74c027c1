"""Money: exact, with one sign."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError
from intertie.model.money import Money

TOTALS = st.integers(-(10**20), 10**20)


@given(TOTALS, TOTALS)
def test_sums_of_money_are_exact(one: int, two: int) -> None:
    a, b = Money.of_nanos("EUR", one), Money.of_nanos("EUR", two)
    assert (a + b).total_nanos == one + two
    assert (-a).total_nanos == -one
    assert a.to_decimal() == Decimal(one) / 10**9
    assert Money.parse("EUR", str(a).split(" ")[0]) == a


@pytest.mark.parametrize(
    ("units", "nanos", "text"),
    [(0, 0, "0.00 EUR"), (1, 500_000_000, "1.50 EUR"), (0, -3_000_000, "-0.003 EUR")],
)
def test_amounts_read_as_people_write_them(units: int, nanos: int, text: str) -> None:
    assert str(Money("EUR", units, nanos)) == text


@pytest.mark.parametrize(
    ("nanos", "digits", "text"),
    [
        (50_000, 6, "0.000050 EUR"),
        (1_073_000, 6, "0.001073 EUR"),
        (3_000_000_000, 0, "3 EUR"),
        (1, 0, "0.000000001 EUR"),
    ],
)
def test_amounts_of_one_bill_stand_aligned(nanos: int, digits: int, text: str) -> None:
    assert Money.of_nanos("EUR", nanos).text(digits) == text


@pytest.mark.parametrize(
    ("currency", "units", "nanos"),
    [
        ("eur", 1, 0),
        ("EURO", 1, 0),
        ("EUR\n", 1, 0),
        ("EUR", 1, -1),
        ("EUR", -1, 1),
        ("EUR", 0, 10**9),
        ("EUR", 2**63, 0),
    ],
)
def test_other_amounts_are_refused(currency: str, units: int, nanos: int) -> None:
    with pytest.raises(IntertieError):
        Money(currency, units, nanos)


@pytest.mark.parametrize(
    "text", ["", "1.", ".5", "01", "+1", "1_0", "\u0661", "1e3", "0.1234567891"]
)
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(IntertieError, match="nine places"):
        Money.parse("EUR", text)


def test_currencies_do_not_mix() -> None:
    with pytest.raises(AssertionError):
        Money("EUR", 1) + Money("USD", 1)
