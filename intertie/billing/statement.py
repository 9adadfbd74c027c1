"""Statements: what one payer owes for one span of time, and where the time of its runs went.

Works on records that were verified (`intertie.metering.verify`), taken as plain mappings.
Corrections are netted into the line of what they correct. Time that was useful, lost and reclaimed
is told apart from the runs' ends; who pays for lost time is a rule of the price list, and the lists
of this version have none: what is held is billed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from intertie.billing import rating
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
    """Rounded, so that the lines add up to the total."""
    records: int
    first_seq: int
    last_seq: int


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
    """What a payer owes for [start_ms, end_ms), in amounts of `minor_digits` decimal places."""

    payer: str
    start_ms: int
    end_ms: int
    lines: tuple[Line, ...]
    total: Money
    exact_total: Decimal
    times: tuple[Times, ...]
    minor_digits: int


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
_METERED = ("usage", "adjustment", "void")


def make_statement(
    payer: str,
    records: Iterable[Mapping[str, Any]],
    *,
    start_ms: int,
    end_ms: int,
    price_version_of: Mapping[str, str],
    prices: Mapping[str, PriceList],
) -> Statement:
    """Rate a payer's records.

    Args:
        payer: who is billed; records of others are passed over.
        records: verified records of one or more logs, each once.
        start_ms: first instant (UTC) billed; usage belongs to where it starts.
        end_ms: first instant not billed.
        price_version_of: the version that a grant cites, by the grant's SHA-256.
        prices: price lists by version.
    """
    sums: dict[_Key, _Sum] = {}
    times: dict[str, Times] = {}
    for record in records:
        if record.get("payer") != payer:
            continue
        kind = record["kind"]
        if kind in _METERED and start_ms <= record["start_ms"] < end_ms:
            _meter(record, price_version_of, sums)
        elif kind == "run_end" and start_ms <= record["end_ms"] < end_ms:
            _end(record, times)
    lists = _lists({key[3] for key in sums}, prices)
    lines, total, exact = _rate(sums, lists)
    told = tuple(times[project] for project in sorted(times))
    digits = next(iter(lists.values())).minor_digits
    return Statement(payer, start_ms, end_ms, lines, total, exact, told, digits)


def _meter(
    record: Mapping[str, Any], version_of: Mapping[str, str], sums: dict[_Key, _Sum]
) -> None:
    meter, region = record["meter"], record["region"]
    if not METERS[meter].billable or record["payer"] == region:  # native work is never priced
        return
    cited = record.get("grant_sha256", "")
    version = version_of.get(cited)
    if version is None:
        raise invalid(
            f"records[{record['seq']}].grant_sha256",
            f"grant {cited or '(none)'} is not known, so neither is its price",
            remedy="Verify the log with its grants first, and give them all.",
        )
    sums.setdefault((record["project"], region, meter, version), _Sum()).add(record)


def _end(record: Mapping[str, Any], times: dict[str, Times]) -> None:
    project = record["project"]
    before = times.get(project, Times(project))
    times[project] = Times(
        project,
        before.ranks + 1,
        before.useful_ms + record["useful_ms"],
        before.lost_ms + record["lost_ms"],
        before.reclaimed_ms + record["reclaimed_ms"],
    )


def _lists(versions: set[str], prices: Mapping[str, PriceList]) -> dict[str, PriceList]:
    for version in sorted(versions - prices.keys()):
        raise invalid("prices", f"no price list of version {version!r} was given")
    lists = {version: prices[version] for version in versions} or dict(prices)
    if len({(found.currency, found.minor_digits) for found in lists.values()}) != 1:
        raise invalid(
            "prices",
            "a statement is in one currency",
            remedy="Make one statement for each currency.",
        )
    return lists


def _rate(
    sums: Mapping[_Key, _Sum], lists: Mapping[str, PriceList]
) -> tuple[tuple[Line, ...], Money, Decimal]:
    some = next(iter(lists.values()))
    keys = sorted(sums)
    pricing = [rating.pricing_quantity(key[2], sums[key].quantity) for key in keys]
    price = [lists[key[3]].price(key[2]) for key in keys]
    costs = [rating.cost(*pair) for pair in zip(pricing, price, strict=True)]
    amounts, due = rating.round_lines(costs, some.minor_digits)
    step = NANOS // 10**some.minor_digits
    lines = tuple(
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
            amount=Money.of_nanos(some.currency, amounts[at] * step),
            records=sums[key].records,
            first_seq=sums[key].first_seq,
            last_seq=sums[key].last_seq,
        )
        for at, key in enumerate(keys)
    )
    return lines, Money.of_nanos(some.currency, due * step), rating.total(costs)
