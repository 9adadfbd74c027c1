"""Statements: what a payer owes, from published records only, signed by the federation.

The arithmetic is `intertie.billing`; here records, grants and prices are brought together. Records
go into sums as they are read: no list of them is made. A record that its own grant does not allow
is never priced; it is counted by reason. One that cannot be read stops nothing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from federation.server.metering.cited import CitedGrants
from federation.server.metering.logs import MeteringLogs, Origins
from federation.server.metering.statement_text import encode
from intertie.billing.prices import PriceList
from intertie.billing.statement import Account
from intertie.metering.audit.granted import Refusal, refusal
from intertie.metering.audit.reader import RecordReader
from intertie.metering.faults import MeteringError
from intertie.metering.verify import region_of
from intertie.model.meters import METERS
from intertie.ports import Store

FOREVER_MS = 2**53 - 1
_METERED = ("usage", "adjustment", "void")


@dataclass(slots=True)
class _Reading:
    """One statement while it is made."""

    payer: str
    account: Account
    grants: CitedGrants
    reader: RecordReader = field(default_factory=RecordReader)
    refused: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)


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
        account = Account(payer, start_ms, end_ms or FOREVER_MS)
        reading = _Reading(payer, account, CitedGrants(self._store))
        sizes: dict[str, int] = {}
        for origin in self._origins.known():
            sizes[origin] = (await self._logs.head(origin)).published_size
            await self._read(origin, sizes[origin], reading)
        return encode(
            account.statement(self._prices),
            sizes=sizes,
            refused=reading.refused,
            unreadable=reading.unreadable,
        )

    async def _read(self, origin: str, size: int, into: _Reading) -> None:
        mark = f'"payer":"{into.payer}"'.encode()  # canonical JSON writes it in this way only
        region = region_of(origin)
        async for _, leaves in self._logs.entries(origin, 0, size):
            for leaf in leaves:
                if mark not in leaf:
                    continue
                try:
                    record = into.reader.read(leaf)
                except MeteringError:
                    into.unreadable[origin] += 1
                    continue
                if record.get("payer") == into.payer:
                    await _book(record, region, into)


async def _book(record: Mapping[str, Any], region: str | None, into: _Reading) -> None:
    metered = record["kind"] in _METERED
    if record["region"] == into.payer or (metered and not METERS[record["meter"]].billable):
        return  # a region's own work has no price, nor has what only informs
    if metered or record["kind"] == "run_end":
        why = await _judge(record, region, into)
        if why is not None:
            into.refused[why.value] += 1


async def _judge(record: Mapping[str, Any], region: str | None, into: _Reading) -> Refusal | None:
    """Count a record, or say why not."""
    if record["region"] != region:
        return Refusal.OTHER_LOG
    if record["kind"] == "run_end":
        into.account.end(record)
        return None
    cited = record.get("grant_sha256")
    grant = await into.grants.find(record["task"], cited) if cited is not None else None
    if grant is None:
        return Refusal.NO_GRANT
    why = refusal(grant, record)
    if why is None:
        into.account.book(record, grant.price_version, grant.maximum[record["meter"]])
    return why
