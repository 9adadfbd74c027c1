"""The mirror keeps few entries without a checkpoint; a region's publisher goes on all the same."""

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from federation.adapters.mirror import Mirror
from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.errors import IntertieError, Reason, error
from intertie.metering import records
from intertie.metering.log.note import ED25519_COSIGNATURE, Signer
from intertie.ports import Put, ShardCommit, ShardHead, Store
from intertie.store.open import open_store
from intertie.testing.clock import FakeClock, SeededIds
from intertie.testing.waiting import eventually
from regional.adapters.log.publisher import Publisher
from regional.adapters.log.sequencer import Sequencer
from regional.adapters.log.signing import DurableSigner
from regional.adapters.log.store import LOG_SHARD, LogStore
from regional.adapters.log.witness import WitnessClient
from regional.domain.core import PENDING, SHARD

ORIGIN = "intertie.example/region/eu/metering"
LOG = Signer.from_seed(ORIGIN, b"\1" * 32)
WITNESS = Signer.from_seed("intertie.example/witness", b"\2" * 32, ED25519_COSIGNATURE)
AHEAD = 10
WITHIN_S = 20.0


class Calls:
    """What a region calls, answered by the real mirror; faults are raised instead, in turn."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.faults: list[IntertieError] = []
        self.refused: list[IntertieError] = []

    async def GetWitnessed(self, request: Any, **_: Any) -> Any:  # noqa: N802 - the protocol's
        head = await self.mirror.head(request.origin)
        return pb.GetWitnessedResponse(note=head.witnessed, mirrored_size=head.mirrored)

    async def PushEntries(self, request: Any, **_: Any) -> Any:  # noqa: N802 - the protocol's
        try:
            size = await self.mirror.push(request.origin, request.start, list(request.entries))
        except IntertieError as refusal:
            self.refused.append(refusal)
            raise
        return pb.PushEntriesResponse(mirrored_size=size)

    async def AddLogCheckpoint(self, request: Any, **_: Any) -> Any:  # noqa: N802 - the protocol's
        if self.faults:
            raise self.faults.pop()
        found = await self.mirror.add_checkpoint(request.body)
        return pb.AddLogCheckpointResponse(
            status=found.status, content_type=found.content_type, body=found.body
        )


@pytest.fixture
async def mirror(tmp_path: Path) -> AsyncIterator[Mirror]:
    store = open_store(f"sqlite:///{tmp_path / 'federation' / 'store.sqlite'}")
    made = Mirror(
        store, FakeClock(), WITNESS, lambda _: [LOG.key], forked=lambda: None, ahead=AHEAD
    )
    await made.start()
    yield made
    await store.close()


@pytest.fixture
async def region(tmp_path: Path) -> AsyncIterator[tuple[Store, dict[int, ShardHead]]]:
    store = open_store(f"sqlite:///{tmp_path / 'region' / 'store.sqlite'}")
    yield store, {shard: await store.acquire(shard) for shard in (SHARD, LOG_SHARD)}
    await store.close()


async def pend(region: tuple[Store, dict[int, ShardHead]], first: int, count: int) -> None:
    store, heads = region
    key = records.RunKey(
        region="eu",
        project="eu",
        payer="eu",
        principal="op-1",
        task="01-00000000-0000-7000-8000-000000000000",
        run="1-1.1",
        rank=0,
        node="n1",
    )
    bodies = [
        records.usage(
            key, records.Span(n, n + 1, 1), meter="cpu.held_core_ms", interval=n, quantity=1
        )
        for n in range(first, first + count)
    ]
    puts = [Put(PENDING, body["rid"], records.pending_bytes(body)) for body in bodies]
    await store.commit([ShardCommit(SHARD, heads[SHARD].epoch, 0, puts)])


async def test_entries_beyond_the_bound_are_refused_until_a_checkpoint(mirror: Mirror) -> None:
    entries = [b"%d" % n for n in range(AHEAD + 1)]
    with pytest.raises(IntertieError, match="limit is 10") as refused:
        await mirror.push(ORIGIN, 0, entries)
    assert (refused.value.reason, refused.value.retry_after_ms) == (Reason.RATE_LIMITED, 1_000)
    assert await mirror.push(ORIGIN, 0, entries[:AHEAD]) == AHEAD
    assert await mirror.push(ORIGIN, 0, entries[:AHEAD]) == AHEAD, "a replay adds nothing"
    with pytest.raises(IntertieError, match="have 11 entries"):
        await mirror.push(ORIGIN, AHEAD, entries[AHEAD:])


@pytest.mark.parametrize("away", [0, 2], ids=["at-once", "after-backoff"])
async def test_a_publisher_with_more_than_the_bound_has_it_cosigned_and_mirrors_the_rest(
    mirror: Mirror, region: tuple[Store, dict[int, ShardHead]], away: int
) -> None:
    store, heads = region
    calls = Calls(mirror)
    gone = error(Reason.UNREACHABLE, "The witness is away.", remedy="Try again.")
    calls.faults = [gone] * away
    log = LogStore(store, lambda: heads, ORIGIN, "eu")
    client = WitnessClient(lambda: calls, FakeClock(), ORIGIN, LOG.key, [WITNESS.key])  # type: ignore[arg-type,return-value] # answers as a stub does
    cosigned: list[int] = []
    publisher = Publisher(
        log,
        client,
        DurableSigner(log, LOG),
        FakeClock(),
        random.Random(1),
        ready=lambda: None,
        cosigned=cosigned.append,
        forked=lambda: pytest.fail("the log is not forked"),
    )
    sequencer = Sequencer(
        log,
        FakeClock(),
        SeededIds(3),
        group_ms=0,
        records=50,
        heartbeat_ms=3_600_000,
        appended=publisher.appended,
        alarm=lambda _: None,
    )
    for first in (1, 51):
        await pend(region, first, 5 * AHEAD)
        while await sequencer.step():
            pass
    publisher.start()

    async def shown() -> bool:
        return (await mirror.head(ORIGIN)).published_size == 10 * AHEAD

    try:
        await eventually(shown, WITHIN_S, what="all entries under a cosigned checkpoint")
    finally:
        await publisher.stop()
    assert len(calls.refused) == 1 + away
    assert cosigned == [10 * AHEAD]
