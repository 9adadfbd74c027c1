"""The only writer of the log against a store that fails, and bodies that are no records."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from intertie.metering import records
from intertie.metering.intervals import RunTime
from intertie.metering.log.merkle import CompactRange
from intertie.metering.records import Body, RunKey, Span
from intertie.metering.sequence import LogState
from intertie.model.states import Outcome
from intertie.ports import Put, ShardCommit
from intertie.store.open import open_store
from intertie.testing.clock import FakeClock, SeededIds
from intertie.testing.faulty_store import Fault, FaultyStore
from intertie.testing.waiting import eventually
from regional.adapters.log.sequencer import Sequencer
from regional.adapters.log.store import APART, LOG_SHARD, LogStore
from regional.domain.core import PENDING, SHARD

ORIGIN = "intertie.example/region/eu/metering"
WITHIN_S = 10.0


class Log:
    """A sequencer over a store with faults in front."""

    def __init__(self, store: FaultyStore, heads: dict[int, Any]) -> None:
        self.store, self.heads = store, heads
        self.log = LogStore(store, lambda: self.heads, ORIGIN, "eu")
        self.states: list[LogState] = []
        self.alarms: list[str] = []
        self.sequencer = Sequencer(
            self.log,
            FakeClock(),
            SeededIds(3),
            group_ms=0,
            records=50,
            heartbeat_ms=3_600_000,
            appended=self.states.append,
            alarm=self.alarms.append,
        )

    async def pend(self, *bodies: Body) -> None:
        puts = [Put(PENDING, body["rid"], records.pending_bytes(body)) for body in bodies]
        await self.store.commit([ShardCommit(SHARD, self.heads[SHARD].epoch, 0, puts)])

    async def leaves(self) -> list[bytes]:
        size = (await self.log.load()).size
        return [leaf async for piece in self.log.leaves(0, size) for leaf in piece]

    async def drained(self, count: int) -> None:
        """All is sequenced."""

        async def done() -> bool:
            return len(await self.leaves()) == count and not await self.log.pending(1)

        await eventually(done, WITHIN_S, what=f"{count} leaves")


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Log]:
    store = FaultyStore(open_store(f"sqlite:///{tmp_path / 'store.sqlite'}"))
    heads = {shard: await store.acquire(shard) for shard in (SHARD, LOG_SHARD)}
    made = Log(store, heads)
    yield made
    await made.sequencer.stop()
    await store.close()


def _usage(task: int, interval: int = 1, quantity: int = 5) -> Body:
    key = RunKey(
        region="eu",
        project="vision",
        payer="vision",
        principal="p",
        task=f"03-01890000-0000-7000-8000-{task:012x}",
        run="1-1.1",
        rank=0,
        node="n1",
        grant_sha256="ab" * 32,
    )
    return records.usage(
        key,
        Span(1_000, 2_000, 1_000),
        meter="cpu.held_core_ms",
        interval=interval,
        quantity=quantity,
    )


async def test_all_that_is_pending_becomes_leaves_in_rows_of_their_own_batch(log: Log) -> None:
    await log.pend(*(_usage(n) for n in range(620)))
    log.sequencer.begin()
    await log.drained(620)
    leaves = await log.leaves()
    assert [records.parse_record(leaf)["seq"] for leaf in leaves] == list(range(620))
    assert CompactRange().absorb(leaves).root() == log.states[-1].head().root
    for old, new in ((1, 620), (255, 257), (256, 512), (511, 619)):
        assert len(await log.log.proof(old, new)) > 0
    assert (await log.log.range_at(300)).root() == CompactRange().absorb(leaves[:300]).root()
    assert await log.log.leaf(257) == leaves[257]
    assert await log.log.leaf(620) is None


@pytest.mark.parametrize("fault", [Fault.FAIL_BEFORE, Fault.FAIL_AFTER])
async def test_a_commit_of_unknown_outcome_loses_and_doubles_nothing(
    log: Log, fault: Fault
) -> None:
    await log.pend(*(_usage(n) for n in range(120)))
    log.store.inject(fault, Fault.NONE, fault)
    log.sequencer.begin()
    await log.drained(120)
    rids = [records.parse_record(leaf)["rid"] for leaf in await log.leaves()]
    assert len(set(rids)) == 120


async def test_another_owner_of_the_shards_is_followed(log: Log) -> None:
    """The core was loaded anew: epochs have grown, and the sequencer goes on under the new ones."""
    await log.pend(*(_usage(n) for n in range(3)))
    newer = {shard: await log.store.acquire(shard) for shard in (SHARD, LOG_SHARD)}
    tried = log.store.commits
    log.sequencer.begin()
    await eventually(lambda: log.store.commits > tried, WITHIN_S, what="the refused try")
    assert await log.leaves() == []
    log.heads.update(newer)
    await log.drained(3)


async def test_a_replay_is_dropped_and_a_conflict_is_kept_apart_with_an_alarm(log: Log) -> None:
    await log.pend(_usage(1), _usage(2))
    log.sequencer.begin()
    await log.drained(2)
    await log.pend(_usage(1), _usage(2, quantity=9), _usage(3))
    log.sequencer.wake()
    await log.drained(3)
    assert log.alarms == ["usage_conflict"]
    (apart,) = [row async for row in log.store.scan(LOG_SHARD, APART)]
    assert apart.key == _usage(2)["rid"]


async def test_one_poisonous_body_does_not_stop_the_others(log: Log) -> None:
    bad = Put(PENDING, "zz-poison", b'{"kind":"usage"}')
    await log.store.commit([ShardCommit(SHARD, log.heads[SHARD].epoch, 0, [bad])])
    await log.pend(_usage(1))
    log.sequencer.begin()
    await log.drained(1)
    assert log.alarms == ["usage_poison"]


async def test_where_usage_stands_survives_a_restart_until_the_run_ends(log: Log) -> None:
    await log.pend(_usage(1), _usage(1, interval=2))
    await log.sequencer.step()
    assert list((await log.log.spans()).values()) == [(0, 1)]
    again = Log(log.store, log.heads)
    key = RunKey(
        **{
            name: _usage(1)[name]
            for name in ("region", "project", "payer", "principal", "task", "run", "rank", "node")
        }
    )
    end = records.run_end(
        key,
        Span(1_000, 2_000, 1_000),
        outcome=Outcome.SUCCEEDED,
        time=RunTime(1_000, 0, 0),
        cause="task",
        complete=True,
    )
    await again.pend(_usage(1, interval=3), end)
    await again.sequencer.step()
    last = records.parse_record((await again.leaves())[-1])
    assert (last["kind"], last["first_seq"], last["last_seq"]) == ("run_end", 0, 2)
    assert await again.log.spans() == {}
