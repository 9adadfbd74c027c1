"""A statement as the JSON that the federation signs: sorted keys, numbers that readers can redo."""

import json
from collections.abc import Mapping
from typing import Any

from intertie.billing.statement import Line, Statement, Total
from intertie.model.money import Money

TYPE = "intertie.statement/v2"
PAYLOAD_TYPE = "application/vnd.intertie.statement+json"


def encode(
    statement: Statement,
    *,
    sizes: Mapping[str, int],
    refused: Mapping[str, int],
    unreadable: Mapping[str, int],
) -> bytes:
    """The bytes to be signed.

    Args:
        statement: what is owed.
        sizes: how much of each log was read.
        refused: records that are not billed, by reason.
        unreadable: leaves by log that name the payer and are no records.
    """
    times = [
        {
            "project": t.project,
            "ranks": t.ranks,
            "useful_ms": t.useful_ms,
            "lost_ms": t.lost_ms,
            "reclaimed_ms": t.reclaimed_ms,
        }
        for t in statement.times
    ]
    body = {
        "type": TYPE,
        "payer": statement.payer,
        "start_ms": statement.start_ms,
        "end_ms": statement.end_ms,
        "lines": [_line(line) for line in statement.lines],
        "totals": [_total(total) for total in statement.totals],
        "times": times,
        "logs": dict(sizes),
        "unpriced_records": sum(refused.values()),
        "refused_records": dict(refused),
        "unreadable_records": dict(unreadable),
        "over_grant": dict(statement.over_grant),
        "below_zero": dict(statement.below_zero),
    }
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _line(line: Line) -> dict[str, Any]:
    return {
        "project": line.project,
        "region": line.region,
        "meter": line.meter,
        "price_version": line.price_version,
        "quantity": line.quantity,
        "pricing_quantity": format(line.pricing_quantity, "f"),
        "pricing_unit": line.pricing_unit,
        "price": format(line.price, "f"),
        "cost": format(line.cost, "f"),
        "amount": _money(line.amount),
        "records": line.records,
        "first_seq": line.first_seq,
        "last_seq": line.last_seq,
    }


def _total(total: Total) -> dict[str, Any]:
    return {
        "amount": _money(total.amount),
        "exact": format(total.exact, "f"),
        "minor_digits": total.minor_digits,
    }


def _money(amount: Money) -> dict[str, Any]:
    return {"currency": amount.currency, "units": amount.units, "nanos": amount.nanos}
