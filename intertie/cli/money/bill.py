"""`intertie bill ...`: what a payer owes, as the federation states it.

The sum is done again here: lines that do not add up to the total are refused.
"""

import json
from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import typer

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import facts, lines, structured, table
from intertie.cli.shown import instant
from intertie.errors import IntertieError, Reason, error, invalid
from intertie.model.money import MAX_PLACES, Money
from intertie.model.units import format_millis
from intertie.sdk.metering.client import SignedStatement

app = typer.Typer(no_args_is_help=True, help="Statements of what is owed.")
_FOREVER_MS = 2**53 - 1


@app.callback()
def bill() -> None:
    """Statements of what is owed."""


@app.command()
def statement(
    ctx: typer.Context,
    payer: Annotated[str, typer.Option("--payer", help="A project; your own if left out.")] = "",
    start: Annotated[str, typer.Option("--from", help="2026-11-01 or with a time, UTC.")] = "",
    end: Annotated[str, typer.Option("--to", help="The first instant not billed.")] = "",
    output: Output = Format.TABLE,
) -> None:
    """Print a statement, made from cosigned records only."""
    span = (_instant("--from", start), _instant("--to", end))

    async def ask() -> SignedStatement:
        async with open_client(ctx) as client:
            return await client.metering.statement(payer, start_ms=span[0], end_ms=span[1])

    signed = run(ask())
    body = _checked(signed)
    if output in (Format.JSON, Format.YAML):
        envelope = b64encode(signed.envelope).decode()
        structured({"statement": body, "envelope": envelope}, output)
    else:
        _print(body, output)


def _instant(option: str, text: str) -> int:
    if not text:
        return 0
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise invalid(option, f"{text[:40]!r} is no date", remedy="Write 2026-11-01.") from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return int(at.timestamp() * 1000)


def _checked(signed: SignedStatement) -> dict[str, Any]:
    """The statement, if its lines add up to its totals, each currency by itself."""
    try:
        body: dict[str, Any] = json.loads(signed.statement)
        totals = {total["amount"]["currency"]: total for total in body["totals"]}
        for currency in totals.keys() | {line["amount"]["currency"] for line in body["lines"]}:
            _check_total(currency, totals[currency], body["lines"])
    except (ValueError, KeyError, TypeError, ArithmeticError, IntertieError) as problem:
        raise _bad(f"does not hold: {problem}") from None
    if len(totals) != len(body["totals"]):
        raise _bad("has two totals of one currency")
    return body


def _check_total(currency: str, stated: dict[str, Any], every: list[dict[str, Any]]) -> None:
    if not 0 <= stated["minor_digits"] <= MAX_PLACES:
        raise ValueError(f"{stated['minor_digits']} decimal places")
    total, exact_total = _money(stated["amount"]), Decimal(stated["exact"])
    of_it = [line for line in every if line["amount"]["currency"] == currency]
    summed = sum(_money(line["amount"]).total_nanos for line in of_it)
    exact = sum((Decimal(line["cost"]) for line in of_it), Decimal(0))
    if summed != total.total_nanos:
        raise ValueError(f"lines of {Money.of_nanos(currency, summed)}, but a total of {total}")
    if exact != exact_total:
        raise ValueError(f"exact costs of {exact}, but an exact total of {exact_total}")


def _money(amount: dict[str, Any]) -> Money:
    return Money(amount["currency"], amount["units"], amount["nanos"])


def _bad(what: str) -> IntertieError:
    return error(Reason.INTERNAL, f"The statement {what}.", remedy="Report it to the federation.")


def _print(body: dict[str, Any], output: Format) -> None:
    digits = {t["amount"]["currency"]: int(t["minor_digits"]) for t in body["totals"]}
    totals = [_money(total["amount"]) for total in body["totals"]]
    if output is Format.NAME:
        lines([str(total) for total in totals])
        return
    end_ms = body["end_ms"]
    told = [("total", total.text(digits[total.currency])) for total in totals]
    facts(
        [
            ("payer", body["payer"]),
            ("from", instant(body["start_ms"]) or "the beginning"),
            ("to", instant(end_ms) if end_ms < _FOREVER_MS else "now"),
            *(told or [("total", "nothing is billed")]),
        ]
    )
    lines([""])
    wide = output is Format.WIDE
    titles = ["PROJECT", "REGION", "METER", "QUANTITY", "UNIT", "PRICE", "AMOUNT"]
    rows = _rows(body, digits, wide=wide)
    table(titles + (["RECORDS", "SEQS", "PRICES"] if wide else []), rows)
    if body["times"]:
        lines([""])
        titles = ["PROJECT", "RUNS", "USEFUL", "LOST", "OF IT RECLAIMED"]
        table(titles, [_times(time) for time in body["times"]])
    _print_refused(body)
    lines(["", "the lines add up to the total"])


def _print_refused(body: dict[str, Any]) -> None:
    """What a region recorded and is not billed."""
    refused = sorted(body["refused_records"].items())
    told = [f"{count} records are not priced: {reason}" for reason, count in refused]
    told += [
        f"{count} leaves of {origin} cannot be read"
        for origin, count in sorted(body["unreadable_records"].items())
    ]
    told += [
        f"{meter}: {quantity} above what the grants allow is not billed"
        for meter, quantity in sorted(body["over_grant"].items())
    ]
    told += [
        f"{meter}: corrections take back {quantity} more than was recorded"
        for meter, quantity in sorted(body["below_zero"].items())
    ]
    if told:
        lines(["", *told])


def _rows(body: dict[str, Any], digits: dict[str, int], *, wide: bool) -> list[list[str]]:
    rows = []
    for line in body["lines"]:
        amount = _money(line["amount"])
        row = [line["project"], line["region"], line["meter"], line["pricing_quantity"]]
        row += [line["pricing_unit"], line["price"], amount.text(digits[amount.currency])]
        if wide:
            span = f"{line['first_seq']}-{line['last_seq']}"
            row += [str(line["records"]), span, line["price_version"]]
        rows.append(row)
    return rows


def _times(time: dict[str, Any]) -> list[str]:
    spent = [format_millis(time[key]) for key in ("useful_ms", "lost_ms", "reclaimed_ms")]
    return [time["project"], str(time["ranks"]), *spent]
