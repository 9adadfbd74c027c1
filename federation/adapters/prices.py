"""The price list that new grants cite, and all that were ever cited.

A list is signed and stored under its version when it is first used; the same version with other
prices is refused for ever. Without a file nothing has a price.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from federation.adapters.mirror.rows import SHARD
from intertie.billing.prices import PAYLOAD_TYPE, PriceList
from intertie.errors import IntertieError, Reason, error
from intertie.metering import canonical
from intertie.metering.dsse import StatementSigner, open_envelope
from intertie.ports import Put, ShardCommit, Store

PRICES = "prices"
UNPRICED = PriceList(version="unpriced", currency="XTS", minor_digits=2, rates={})
"""ISO 4217: XTS is for tests, and no money."""


def read_prices(file: Path | None) -> PriceList:
    """The configured list. Raises CONFIG_INVALID naming the file."""
    if file is None:
        return UNPRICED
    try:
        return PriceList.from_fields(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, IntertieError) as fault:
        raise error(
            Reason.CONFIG_INVALID,
            f"prices_file: {file}: {fault}",
            remedy="See the schema of price lists (intertie schema prices).",
        ) from None


async def adopt_prices(
    store: Store, current: PriceList, signer: StatementSigner
) -> Mapping[str, PriceList]:
    """Store the current list if it is new; all lists by version.

    Raises:
        IntertieError: CONFIG_INVALID, the version has had other prices.
    """
    lists: dict[str, PriceList] = {}
    async for row in store.scan(SHARD, PRICES):
        payload = open_envelope(row.body, PAYLOAD_TYPE, [signer.key])
        lists[row.key] = PriceList.from_fields(canonical.parse(payload))
    known = lists.get(current.version)
    if known is not None and known != current:
        raise error(
            Reason.CONFIG_INVALID,
            f"prices_file: version {current.version} has had other prices.",
            remedy="Give the new prices a new version.",
        )
    if known is None:
        envelope = signer.sign(PAYLOAD_TYPE, canonical.encode(current.to_fields()))
        head = await store.acquire(SHARD)
        put = Put(PRICES, current.version, envelope)
        await store.commit([ShardCommit(SHARD, head.epoch, 0, [put])])
        lists[current.version] = current
    return lists
