"""Statements: what one payer owes for one span of time, and where the time of its runs went.

An `Account` is fed records that were verified (`intertie.metering.verify`), as plain mappings, one
after the other; it keeps sums only. Corrections are netted into the line of what they correct, and
no grant is billed above its cap (`allowance`). Each currency has its own total, rounded by itself.
Time that was useful, lost and reclaimed is told apart from the runs' ends; who pays for lost time
is a rule of the price list, and the lists of this version have none: what is held is billed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from intertie.billing import rating
from intertie.billing.allowance import Allowances
from intertie.billing.prices import PriceList
from intertie.errors import invalid
from intertie.model.meters import METERS
from intertie.model.money import NANOS, Money


@dataclass(frozen=True, slots=True)
class Line:
    """One meter of one project at one region, at one version of the prices."""

    project: str
    region: str
    meter: str
    price_version: str
    quantity: int
    pricing_quantity: Decimal
    pricing_unit: str
    price: Decimal
    cost: Decimal
    """Exact."""
    amount: Money
    """Rounded, so that the lines of a currency add up to its total."""
    records: int
    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class Total:
    """What is owed in one currency, in amounts of `minor_digits` decimal places."""

    amount: Money
    exact: Decimal
    minor_digits: int


@dataclass(frozen=True, slots=True)
class Times:
    """Where the run time of a project went. `reclaimed_ms` is a part of `lost_ms`."""

    project: str
    ranks: int = 0
    useful_ms: int = 0
    lost_ms: int = 0
    reclaimed_ms: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """What a payer owes for [start_ms, end_ms).

    `totals` are by currency, none where nothing is billed. `over_grant` is what was recorded above
    the caps of grants, by meter, and `below_zero` what corrections took back too much: neither is
    in the lines.
    """

    payer: str
    start_ms: int
    end_ms: int
    lines: tuple[Line, ...]
    totals: tuple[Total, ...]
    times: tuple[Times, ...]
    over_grant: Mapping[str, int]
    below_zero: Mapping[str, int]


@dataclass(slots=True)
class _Sum:
    quantity: int = 0
    records: int = 0
    first_seq: int = 0
    last_seq: int = 0

    def add(self, record: Mapping[str, Any]) -> None:
        self.first_seq = min(self.first_seq, record["seq"]) if self.records else record["seq"]
        self.last_seq = max(self.last_seq, record["seq"])
        self.quantity += record["quantity"]
        self.records += 1


_Key = tuple[str, str, str, str]
"""Project, region, meter, version of the prices."""


class Account:
    """Adds up what one payer owes for one span of time.

    Args:
        payer: who is billed.
        start_ms: first instant (UTC) billed; usage belongs to where it starts.
        end_ms: first instant not billed.
    """

    def __init__(self, payer: str, start_ms: int, end_ms: int) -> None:
        self._payer = payer
        self._start_ms, self._end_ms = start_ms, end_ms
        self._sums: dict[_Key, _Sum] = {}
        self._times: dict[str, Times] = {}
        self._allowances = Allowances[_Key]()

    def book(self, record: Mapping[str, Any], price_version: str, cap: int) -> None:
        """Count usage or a correction, each record of a log once, and those before the span too.

        Args:
            record: of a billable meter, under a grant of the payer's.
            price_version: the price list that the grant cites.
            cap: what the grant allows of this meter.
        """
        assert record["payer"] == self._payer, "a record of another payer"
        if record["start_ms"] >= self._end_ms:
            return
        before = record["start_ms"] < self._start_ms
        meter = record["meter"]
        key = (record["project"], record["region"], meter, price_version)
        self._allowances.add(
            record["grant_sha256"], meter, cap, key, record["quantity"], before=before
        )
        if not before:
            self._sums.setdefault(key, _Sum()).add(record)

    def end(self, record: Mapping[str, Any]) -> None:
        """Count the end of a run."""
        assert record["payer"] == self._payer, "a record of another payer"
        if not self._start_ms <= record["end_ms"] < self._end_ms:
            return
        project = record["project"]
        before = self._times.get(project, Times(project))
        self._times[project] = Times(
            project,
            before.ranks + 1,
            before.useful_ms + record["useful_ms"],
            before.lost_ms + record["lost_ms"],
            before.reclaimed_ms + record["reclaimed_ms"],
        )

    def statement(self, prices: Mapping[str, PriceList]) -> Statement:
        """Rate what was booked, once. `prices`: lists by version."""
        over, below = self._cut()
        for version in sorted({key[3] for key in self._sums} - prices.keys()):
            raise invalid("prices", f"no price list of version {version!r} was given")
        by_currency: dict[str, list[_Key]] = {}
        for key in sorted(self._sums):
            by_currency.setdefault(prices[key[3]].currency, []).append(key)
        lines: list[Line] = []
        totals: list[Total] = []
        for currency in sorted(by_currency):
            rated, total = _rate(currency, by_currency[currency], self._sums, prices)
            lines += rated
            totals.append(total)
        return Statement(
            self._payer,
            self._start_ms,
            self._end_ms,
            tuple(lines),
            tuple(totals),
            tuple(self._times[project] for project in sorted(self._times)),
            over,
            below,
        )

    def _cut(self) -> tuple[dict[str, int], dict[str, int]]:
        over: dict[str, int] = {}
        below: dict[str, int] = {}
        for cut in self._allowances.cuts():
            self._sums[cut.line].quantity -= cut.quantity
            told = over if cut.quantity > 0 else below
            told[cut.meter] = told.get(cut.meter, 0) + abs(cut.quantity)
        self._allowances = Allowances[_Key]()
        return over, below


def _rate(
    currency: str, keys: list[_Key], sums: Mapping[_Key, _Sum], prices: Mapping[str, PriceList]
) -> tuple[list[Line], Total]:
    """The lines of one currency and their total; of several lists the finest digits count."""
    digits = max(prices[key[3]].minor_digits for key in keys)
    pricing = [rating.pricing_quantity(key[2], sums[key].quantity) for key in keys]
    price = [prices[key[3]].price(key[2]) for key in keys]
    costs = [rating.cost(*pair) for pair in zip(pricing, price, strict=True)]
    amounts, due = rating.round_lines(costs, digits)
    step = NANOS // 10**digits
    lines = [
        Line(
            project=key[0],
            region=key[1],
            meter=key[2],
            price_version=key[3],
            quantity=sums[key].quantity,
            pricing_quantity=pricing[at],
            pricing_unit=METERS[key[2]].pricing_unit,
            price=price[at],
            cost=costs[at],
            amount=Money.of_nanos(currency, amounts[at] * step),
            records=sums[key].records,
            first_seq=sums[key].first_seq,
            last_seq=sums[key].last_seq,
        )
        for at, key in enumerate(keys)
    ]
    return lines, Total(Money.of_nanos(currency, due * step), rating.total(costs), digits)
