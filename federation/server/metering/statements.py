"""Statements: what a payer owes, from published records only, signed by the federation.

The arithmetic is `intertie.billing`; here records, grants and prices are brought together. A record
without a grant of this federation is never priced, it is counted apart.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from federation.domain.core import GRANT
from federation.server.metering.logs import MeteringLogs, Origins, parsed
from intertie.billing.prices import PriceList
from intertie.billing.statement import Line, Statement, make_statement
from intertie.metering.grant import parse_grant
from intertie.model.money import Money
from intertie.model.names import shard_of_id
from intertie.ports import Store

TYPE = "intertie.statement/v1"
PAYLOAD_TYPE = "application/vnd.intertie.statement+json"
FOREVER_MS = 2**53 - 1
_METERED = ("usage", "adjustment", "void")


class Statements:
    """Makes statements.

    Args:
        logs: the mirror.
        origins: which logs there are.
        store: where grants are.
        prices: every price list that was ever cited, by version.
    """

    def __init__(
        self,
        logs: MeteringLogs,
        origins: Origins,
        store: Store,
        prices: Mapping[str, PriceList],
    ) -> None:
        self._logs = logs
        self._origins = origins
        self._store = store
        self._prices = prices

    async def make(self, payer: str, start_ms: int, end_ms: int) -> bytes:
        """The statement of a payer for [start_ms, end_ms), as JSON with sorted keys."""
        versions: dict[str, str] = {}
        records: list[Mapping[str, Any]] = []
        unpriced = 0
        sizes: dict[str, int] = {}
        for origin in self._origins.known():
            sizes[origin] = (await self._logs.head(origin)).published_size
            async for record in self._of_payer(origin, payer, sizes[origin]):
                if record["kind"] in _METERED and not await self._is_granted(record, versions):
                    unpriced += 1
                else:
                    records.append(record)
        statement = make_statement(
            payer,
            records,
            start_ms=start_ms,
            end_ms=end_ms or FOREVER_MS,
            price_version_of=versions,
            prices=self._prices,
        )
        return _encode(statement, sizes, unpriced)

    async def _of_payer(
        self, origin: str, payer: str, size: int
    ) -> AsyncIterator[Mapping[str, Any]]:
        mark = f'"payer":"{payer}"'.encode()  # canonical JSON writes it in this way only
        async for _, leaves in self._logs.entries(origin, 0, size):
            for leaf in leaves:
                record = parsed(leaf) if mark in leaf else None
                if record is not None and record.get("payer") == payer:
                    yield record

    async def _is_granted(self, record: Mapping[str, Any], versions: dict[str, str]) -> bool:
        """Whether we granted what a record cites; notes the prices that the grant names."""
        cited = record.get("grant_sha256", "")
        if cited in versions:
            return True
        try:
            shard = shard_of_id(record["task"])
        except ValueError:  # a task that is none of ours
            return False
        body = await self._store.get(shard, GRANT, cited)
        if body is None:
            return False
        grant = parse_grant(body)
        if grant.payer != record["payer"] or grant.task != record["task"]:
            return False
        versions[cited] = grant.price_version
        return True


def _encode(statement: Statement, sizes: Mapping[str, int], unpriced: int) -> bytes:
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
        "total": _money(statement.total),
        "minor_digits": statement.minor_digits,
        "exact_total": format(statement.exact_total, "f"),
        "times": times,
        "logs": dict(sizes),
        "unpriced_records": unpriced,
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


def _money(amount: Money) -> dict[str, Any]:
    return {"currency": amount.currency, "units": amount.units, "nanos": amount.nanos}
