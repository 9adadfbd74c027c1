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
    """The statement, if its lines add up to its total."""
    try:
        body: dict[str, Any] = json.loads(signed.statement)
        total = _money(body["total"])
        amounts = [_money(line["amount"]) for line in body["lines"]]
        exact = sum((Decimal(line["cost"]) for line in body["lines"]), Decimal(0))
        exact_total = Decimal(body["exact_total"])
        if not 0 <= _digits(body) <= MAX_PLACES:
            raise ValueError(f"{_digits(body)} decimal places")
    except (ValueError, KeyError, TypeError, ArithmeticError, IntertieError) as problem:
        raise _bad(f"cannot be read: {problem}") from None
    summed = sum(amount.total_nanos for amount in amounts)
    if summed != total.total_nanos:
        raise _bad(f"has lines of {Money.of_nanos(total.currency, summed)}, but a total of {total}")
    if exact != exact_total:
        raise _bad(f"has exact costs of {exact}, but an exact total of {exact_total}")
    return body


def _money(amount: dict[str, Any]) -> Money:
    return Money(amount["currency"], amount["units"], amount["nanos"])


def _bad(what: str) -> IntertieError:
    return error(Reason.INTERNAL, f"The statement {what}.", remedy="Report it to the federation.")


def _print(body: dict[str, Any], output: Format) -> None:
    if output is Format.NAME:
        lines([str(_money(body["total"]))])
        return
    end_ms = body["end_ms"]
    facts(
        [
            ("payer", body["payer"]),
            ("from", instant(body["start_ms"]) or "the beginning"),
            ("to", instant(end_ms) if end_ms < _FOREVER_MS else "now"),
            ("total", _money(body["total"]).text(_digits(body))),
        ]
    )
    lines([""])
    wide = output is Format.WIDE
    titles = ["PROJECT", "REGION", "METER", "QUANTITY", "UNIT", "PRICE", "AMOUNT"]
    table(titles + (["RECORDS", "SEQS", "PRICES"] if wide else []), _rows(body, wide=wide))
    if body.get("times"):
        lines([""])
        titles = ["PROJECT", "RUNS", "USEFUL", "LOST", "OF IT RECLAIMED"]
        table(titles, [_times(time) for time in body["times"]])
    if body.get("unpriced_records"):
        lines(["", f"{body['unpriced_records']} records without a grant of ours are not priced"])
    lines(["", "the lines add up to the total"])


def _digits(body: dict[str, Any]) -> int:
    """Decimal places of an amount that can be paid; a federation of an older version tells none."""
    digits: int = body.get("minor_digits", 2)
    return digits


def _rows(body: dict[str, Any], *, wide: bool) -> list[list[str]]:
    rows, digits = [], _digits(body)
    for line in body["lines"]:
        row = [line["project"], line["region"], line["meter"], line["pricing_quantity"]]
        row += [line["pricing_unit"], line["price"], _money(line["amount"]).text(digits)]
        if wide:
            span = f"{line['first_seq']}-{line['last_seq']}"
            row += [str(line["records"]), span, line["price_version"]]
        rows.append(row)
    return rows


def _times(time: dict[str, Any]) -> list[str]:
    spent = [format_millis(time[key]) for key in ("useful_ms", "lost_ms", "reclaimed_ms")]
    return [time["project"], str(time["ranks"]), *spent]
