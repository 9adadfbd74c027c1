"""Rating and statements: exact, and the lines add up whatever the numbers."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.billing import rating
from intertie.billing.prices import PriceList
from intertie.billing.statement import Account, Statement, Times
from intertie.errors import IntertieError
from intertie.model.meters import METERS
from intertie.model.money import Money

HOUR = 3_600_000
G1, G2 = "a1" * 32, "b2" * 32
BILLABLE = sorted(name for name, meter in METERS.items() if meter.billable)
EUR = PriceList(
    "v1",
    "EUR",
    2,
    {"cpu.held_core_ms": Money("EUR", 0, 30_000_000), "net.egress_bytes": Money("EUR", 0, 5)},
)


def record(seq: int, quantity: int, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "usage",
        "seq": seq,
        "payer": "acme",
        "project": "p1",
        "region": "r1",
        "meter": "cpu.held_core_ms",
        "quantity": quantity,
        "start_ms": 0,
        "end_ms": HOUR,
        "grant_sha256": G1,
    } | changes


def bill(
    records: list[dict[str, Any]],
    *,
    prices: dict[str, PriceList] | None = None,
    start_ms: int = 0,
    end_ms: int = 24 * HOUR,
    cap: int = 10**12,
) -> Statement:
    account = Account("acme", start_ms, end_ms)
    for each in records:
        if each["kind"] == "run_end":
            account.end(each)
        else:
            account.book(each, {G1: "v1", G2: "v2"}[each["grant_sha256"]], cap)
    return account.statement(prices or {"v1": EUR})


def test_a_core_hour_costs_what_the_list_says() -> None:
    statement = bill([record(3, HOUR), record(7, HOUR)])
    (line,) = statement.lines
    assert (line.quantity, line.pricing_unit) == (2 * HOUR, "core-hour")
    assert line.pricing_quantity == Decimal(2)
    assert (line.price, line.cost) == (Decimal("0.03"), Decimal("0.06"))
    assert (line.records, line.first_seq, line.last_seq) == (2, 3, 7)
    (total,) = statement.totals
    assert total.amount == line.amount == Money("EUR", 0, 60_000_000)
    assert (total.exact, total.minor_digits) == (Decimal("0.06"), 2)


def test_corrections_are_netted_into_their_line() -> None:
    statement = bill(
        [
            record(0, 3 * HOUR),
            record(1, -HOUR, kind="adjustment"),
            record(2, HOUR, meter="net.egress_bytes"),
            record(3, -HOUR, meter="net.egress_bytes", kind="void"),
        ]
    )
    assert [line.quantity for line in statement.lines] == [2 * HOUR, 0]
    assert [total.amount for total in statement.totals] == [Money("EUR", 0, 60_000_000)]


def test_what_is_not_in_time_is_left_out_and_nothing_has_no_total() -> None:
    statement = bill([record(1, HOUR, start_ms=-1), record(2, HOUR, start_ms=24 * HOUR)])
    assert (statement.lines, statement.totals) == ((), ())
    assert bill([], prices={"v1": EUR, "v2": PriceList("v2", "JPY", 0, {})}).totals == ()


def test_each_currency_has_its_own_total_and_its_own_rounding() -> None:
    yen = PriceList("v2", "JPY", 0, {"cpu.held_core_ms": Money("JPY", 3, 400_000_000)})
    records = [
        record(0, HOUR),
        record(1, HOUR, grant_sha256=G2),
        record(2, HOUR, grant_sha256=G2, project="p2"),
    ]
    statement = bill(records, prices={"v1": EUR, "v2": yen})
    assert [str(line.amount) for line in statement.lines] == ["0.03 EUR", "4.00 JPY", "3.00 JPY"]
    assert [(str(t.amount), t.minor_digits) for t in statement.totals] == [
        ("0.03 EUR", 2),
        ("7.00 JPY", 0),
    ]
    assert statement.totals[1].exact == Decimal("6.8")


def test_lists_of_one_currency_are_rounded_to_the_finest_of_their_digits() -> None:
    finer = PriceList("v2", "EUR", 6, {"cpu.held_core_ms": Money("EUR", 0, 1_000)})
    records = [record(0, HOUR), record(1, HOUR, grant_sha256=G2)]
    (total,) = bill(records, prices={"v1": EUR, "v2": finer}).totals
    assert (total.amount, total.minor_digits) == (Money("EUR", 0, 30_001_000), 6)


def test_a_grant_is_never_billed_above_its_cap_in_whatever_order_records_come() -> None:
    records = [record(0, 400), record(1, 300), record(2, -150, kind="adjustment")]
    for order in (records, records[::-1]):
        statement = bill(order, cap=500)
        assert [line.quantity for line in statement.lines] == [500]
        assert statement.over_grant == {"cpu.held_core_ms": 50}
        assert bill(order, cap=550).over_grant == {}


def test_corrections_never_take_a_grant_below_zero() -> None:
    statement = bill([record(0, 100), record(1, -130, kind="adjustment")])
    assert [line.quantity for line in statement.lines] == [0]
    assert statement.below_zero == {"cpu.held_core_ms": 30}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(-50, 200)), max_size=12),
    st.integers(0, 400),
    st.integers(1, 9),
)
def test_statements_of_parts_of_the_time_add_up_to_the_whole(
    items: list[tuple[int, int]], cap: int, cut: int
) -> None:
    records = [record(seq, held, start_ms=at) for seq, (at, held) in enumerate(items)]

    def billed(start_ms: int, end_ms: int) -> int:
        found = bill(records, cap=cap, start_ms=start_ms, end_ms=end_ms)
        return sum(line.quantity for line in found.lines)

    assert billed(0, cut) + billed(cut, 10) == billed(0, 10)
    assert 0 <= billed(0, 10) <= cap


def test_each_bill_uses_the_version_that_its_grant_cites() -> None:
    dearer = PriceList("v2", "EUR", 2, {"cpu.held_core_ms": Money("EUR", 1)})
    records = [record(0, HOUR), record(1, HOUR, grant_sha256=G2)]
    statement = bill(records, prices={"v1": EUR, "v2": dearer})
    assert [str(line.amount) for line in statement.lines] == ["0.03 EUR", "1.00 EUR"]
    assert [line.price_version for line in statement.lines] == ["v1", "v2"]


def test_useful_lost_and_reclaimed_time_is_told_apart() -> None:
    end = {"kind": "run_end", "useful_ms": 70, "lost_ms": 30, "reclaimed_ms": 10}
    statement = bill(
        [
            record(0, 0, **end),
            record(1, 0, **end),
            record(2, 0, **end, project="p0"),
            record(3, 0, **end | {"end_ms": 24 * HOUR}),
        ]
    )
    assert statement.times == (Times("p0", 1, 70, 30, 10), Times("p1", 2, 140, 60, 20))


def test_a_meter_without_a_rate_costs_nothing() -> None:
    (line,) = bill([record(0, HOUR, meter="cu.held_ms")]).lines
    assert line.price == line.cost == Decimal(0)
    assert line.amount == Money("EUR", 0)


def test_a_price_list_that_is_not_given_is_named() -> None:
    with pytest.raises(IntertieError, match="no price list of version 'v2'"):
        bill([record(0, 1, grant_sha256=G2)])


def test_a_thousand_lines_of_three_mills_add_up() -> None:
    costs = [Decimal("0.003")] * 1000
    amounts, due = rating.round_lines(costs, 2)
    assert due == 300
    assert sum(amounts) == due
    assert amounts == [1] * 300 + [0] * 700


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**60), 2**60),
            st.integers(0, 10**12),
            st.sampled_from(BILLABLE),
        ),
        max_size=12,
    ),
    st.integers(0, 9),
)
def test_lines_add_up_and_stay_within_a_minor_unit(
    items: list[tuple[int, int, str]], digits: int
) -> None:
    costs = []
    for quantity, nanos, meter in items:
        pricing = rating.pricing_quantity(meter, quantity)
        exact = Fraction(quantity, METERS[meter].per_pricing_unit)
        assert abs(Fraction(pricing) - exact) <= Fraction(1, 2 * 10**9)
        price = Decimal(f"{nanos}E-9")
        cost = rating.cost(pricing, price)
        assert Fraction(cost) == Fraction(pricing) * Fraction(price)
        costs.append(cost)
    amounts, due = rating.round_lines(costs, digits)
    exact_total = sum((Fraction(cost) for cost in costs), Fraction(0))
    assert Fraction(rating.total(costs)) == exact_total
    assert sum(amounts) == due == round(exact_total * 10**digits)
    for amount, cost in zip(amounts, costs, strict=True):
        assert abs(amount - Fraction(cost) * 10**digits) < 1


@given(st.integers(-(10**15), 10**15), st.sampled_from(BILLABLE))
def test_quantities_are_rounded_half_even(quantity: int, meter: str) -> None:
    exact = Fraction(quantity * 10**9, METERS[meter].per_pricing_unit)
    assert rating.pricing_quantity(meter, quantity) == Decimal(f"{round(exact)}E-9")


def test_a_tie_goes_to_the_even_digit() -> None:
    per = METERS["net.egress_bytes"].per_pricing_unit  # 2^30: ties exist
    for quantity in (2**20, 3 * 2**20, -(2**20)):
        tie = Fraction(quantity * 10**9, per)
        assert tie.denominator == 2 or tie.denominator == 1
    assert rating.pricing_quantity("net.egress_bytes", 2**20) == Decimal("0.000976562")
    assert rating.pricing_quantity("net.egress_bytes", 3 * 2**20) == Decimal("0.002929688")
    assert rating.pricing_quantity("net.egress_bytes", -(2**20)) == Decimal("-0.000976562")


def test_price_lists_round_trip_and_others_are_refused() -> None:
    fields = EUR.to_fields()
    assert PriceList.from_fields(fields) == EUR
    changes: list[dict[str, Any]] = [
        {"type": "other"},
        {"version": "a b"},
        {"currency": "eur"},
        {"minor_digits": 10},
        {"minor_digits": "2"},
        {"meters": ["cpu.held_core_ms"]},
        {"meters": ["cpu.held_core_ms", "cpu.held_core_ms"]},
        {"meters": ["net.egress_bytes", "cpu.held_core_ms"]},
        {"meters": ["cpu.held_core_ms", "cpu.used_core_ms"]},
        {"units": [0, -1]},
        {"units": 7},
        {"extra": 1},
    ]
    for change in changes:
        with pytest.raises(IntertieError, match="not a price list"):
            PriceList.from_fields(fields | change)
    with pytest.raises(IntertieError, match="in EUR"):
        PriceList("v1", "EUR", 2, {"cu.held_ms": Money("USD", 1)})
