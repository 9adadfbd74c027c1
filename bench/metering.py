"""The metering log: `python bench/metering.py [-o json]`.

append   pending usage to a signed log checkpoint: read pending rows, validate, sequence, leaves,
         tiles and unique rids in one durable transaction (SQLite, synchronous=FULL), read back,
         hash again, sign. One checkpoint per 1,000 records. Real-shaped records of distinct tasks.
         Also told per second of CPU, which other work on the machine does not change.
root     a reader's pass over the leaves to the cosigned root: inclusion, order, completeness.
verify   the whole verification: the same, and each record by the schema, for overlaps, duplicates,
         times, grants and caps. One grant for each task.
statement  one payer's statement out of a mirrored log (`--statement N` records; 0 = not made): all
         entries from SQLite, the payer's records read, compared with their grants, added up. Also
         by how much the process grew for it.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import uvloop

from bench.harness import Figure, Report, report
from federation.adapters.mirror.log import PAGE
from federation.adapters.mirror.reads import Reads
from federation.adapters.mirror.rows import SHARD as SHARD_OF_LOGS
from federation.adapters.mirror.rows import LogHead, put_entry
from federation.domain.core import GRANT
from federation.server.metering.logs import MeteringLogs, Origins
from federation.server.metering.statements import Statements
from intertie.billing.prices import PriceList
from intertie.clock import SystemClock, SystemIds
from intertie.metering import records
from intertie.metering.cursor import Cursor
from intertie.metering.grant import Grant
from intertie.metering.intervals import RunTime
from intertie.metering.log import checkpoint
from intertie.metering.log.note import ED25519_COSIGNATURE, Signer
from intertie.metering.log.tiles import TreeEdge
from intertie.metering.log.trust import Trust
from intertie.metering.records import Body, RunKey, Span
from intertie.metering.sequence import LogState, sequence
from intertie.metering.verify import check_head, root_pass, verify_log
from intertie.model.meters import HOUR_MS
from intertie.model.money import Money
from intertie.model.states import Outcome
from intertie.ports import Change, Put, ShardCommit, ShardHead, Store
from intertie.store.open import open_store
from regional.adapters.log.sequencer import Sequencer
from regional.adapters.log.signing import DurableSigner
from regional.adapters.log.store import LOG_SHARD, LogStore
from regional.domain.core import PENDING, SHARD

RECORDS = 60_000
GROUP = 1_000
ORIGIN = "intertie.example/region/eu/metering"
START_MS = 1_800_000_000_000


def grant_of(number: int) -> Grant:
    """What the federation allows the task of this number."""
    return Grant(
        task=task_of(number),
        epoch="1-1",
        region="eu",
        project="vision",
        payer="vision",
        spec_sha256="cd" * 32,
        maximum={"cpu.held_core_ms": 10**9, "mem.held_mib_ms": 10**9},
        price_version="p1",
        policy_sha256="",
        not_after_ms=2 * START_MS,
    )


def task_of(number: int) -> str:
    """The id of a task."""
    return f"{number % 64:02x}-01890000-0000-7000-8000-{number:012x}"


def bodies_of(number: int, grant_sha256: str = "ab" * 32) -> list[Body]:
    """What one short task leaves: placement, four meters, run_end."""
    key = RunKey(
        region="eu",
        project="vision",
        payer="vision",
        principal="p-0123456789abcdef01234567",
        task=task_of(number),
        run="1-1.1",
        rank=0,
        node="n1",
        grant_sha256=grant_sha256,
    )
    span = Span(START_MS + number, START_MS + number + 2_000, 2_000)
    meters = ("cpu.held_core_ms", "cpu.used_core_ms", "mem.held_mib_ms", "mem.used_mib_ms")
    usage = [
        records.usage(key, span, meter=meter, interval=1, quantity=1_000 + number)
        for meter in meters
    ]
    placement = records.placement(
        key,
        start_ms=span.start_ms,
        jurisdiction="DE/DE-HE/fra1",
        policy_sha256="0" * 64,
        verdict="allowed",
    )
    end = records.run_end(
        key,
        span,
        outcome=Outcome.SUCCEEDED,
        time=RunTime(2_000, 0, 0),
        cause="task",
        complete=True,
    )
    return [placement, *usage, end]


@asynccontextmanager
async def pending_store(count: int) -> AsyncIterator[tuple[Store, dict[int, ShardHead]]]:
    """A store in a temporary folder that holds this many pending records."""
    with tempfile.TemporaryDirectory(prefix="intertie-bench-") as name:
        store = open_store(f"sqlite:///{Path(name) / 'store.sqlite'}")
        heads = {shard: await store.acquire(shard) for shard in (SHARD, LOG_SHARD)}
        rows: list[Put] = []
        number = 0
        while len(rows) < count:
            rows += [
                Put(PENDING, body["rid"], records.pending_bytes(body)) for body in bodies_of(number)
            ]
            number += 1
        for start in range(0, count, GROUP):
            changes = rows[start : min(start + GROUP, count)]
            await store.commit([ShardCommit(SHARD, heads[SHARD].epoch, 0, changes)])
        try:
            yield store, heads
        finally:
            await store.close()


async def append(into: Report) -> None:
    """Sequence and sign everything that is pending."""
    clock = SystemClock()
    signer = Signer.from_seed(ORIGIN, bytes(range(32)))
    states: list[LogState] = []
    alarms: list[str] = []
    async with pending_store(RECORDS) as (store, heads):
        log = LogStore(store, lambda: heads, ORIGIN, "eu")
        sequencer = Sequencer(
            log,
            clock,
            SystemIds(),
            group_ms=0,
            records=GROUP,
            heartbeat_ms=3_600_000,
            appended=states.append,
            alarm=alarms.append,
        )
        signing = DurableSigner(log, signer)
        started, used = time.perf_counter(), time.process_time()
        signed: asyncio.Task[bytes] | None = None
        while await sequencer.step():  # the next group is sequenced while this one is signed
            if signed is not None:
                await signed
            signed = asyncio.create_task(signing.sign(states[-1]))
        assert signed is not None, "there was something to sign"
        await signed
        took, used = time.perf_counter() - started, time.process_time() - used
        assert states[-1].size == RECORDS, "every record became a leaf"
        assert not alarms, "no record was kept apart"
    into.add(
        Figure(
            "append_per_s",
            RECORDS / took,
            "records/s",
            "target 15,000; SQLite alone writes 50,000 rows/s at 1,000 a commit",
        )
    )
    into.add(Figure("append_per_cpu_s", RECORDS / used, "records/s of CPU", "threads included"))


@dataclass(frozen=True, slots=True)
class PulledLog:
    """A log as a reader has it."""

    leaves: list[bytes]
    grants: dict[str, Grant]
    signed: bytes
    trust: Trust


def pulled_log() -> PulledLog:
    """A cosigned log of real-shaped records in memory, each task under a grant of its own."""
    log = Signer.from_seed(ORIGIN, bytes(range(32)))
    witness = Signer.from_seed("intertie.example/witness", bytes(32), ED25519_COSIGNATURE)
    grants: dict[str, Grant] = {}
    state = LogState(origin=ORIGIN, region="eu", edge=TreeEdge())
    leaves: list[bytes] = []
    number = 0
    while len(leaves) < RECORDS:
        grant = grant_of(number)
        grants[grant.sha256] = grant
        bodies = [records.pending_bytes(body) for body in bodies_of(number, grant.sha256)]
        salts = [f"{len(leaves) + n:032x}" for n in range(len(bodies))]
        batch = sequence(
            state, bodies, recorded_ms=START_MS + HOUR_MS, salts=salts, known={}, spans={}
        )
        state = batch.state
        leaves += [leaf.data for leaf in batch.leaves]
        number += 1
    signed = checkpoint.cosign(checkpoint.sign(state.head(), log), witness, START_MS // 1000)
    return PulledLog(leaves, grants, signed, Trust((log.key,), {"w": witness.key}, {}, "w"))


def read(into: Report) -> None:
    """What a reader does with a pulled log, from memory."""
    log, start = pulled_log(), Cursor.start(ORIGIN)
    started = time.perf_counter()
    reached = root_pass(start, log.leaves, check_head(log.signed, log.trust, start))
    took = time.perf_counter() - started
    size = len(log.leaves)
    assert reached.size == size, "the whole log was hashed"
    into.add(Figure("root_pass_per_s", size / took, "records/s", "target 100,000"))
    started = time.perf_counter()
    found = verify_log(log.leaves, log.signed, log.trust, cursor=start, grants=log.grants)
    took = time.perf_counter() - started
    assert found.ok, found.findings[:3]
    assert found.records == size, "every record was judged"
    into.add(Figure("verify_per_s", size / took, "records/s", "target 40,000"))


class MirroredLog:
    """A published log in a store, as statements read it; cosigning is measured elsewhere."""

    def __init__(self, store: Store, size: int) -> None:
        self._reads = Reads(store)
        self._head = LogHead(mirrored=size, published_size=size)

    async def head(self, origin: str) -> LogHead:
        """All of it is published."""
        assert origin == ORIGIN, "there is one log"
        return self._head

    async def entries(
        self, origin: str, start: int, end: int
    ) -> AsyncIterator[tuple[int, Sequence[bytes]]]:
        """In pieces as the mirror gives them."""
        while start < end:
            found = await self._reads.entries(origin, start, min(end, start + PAGE))
            yield start, found
            start += len(found)


class OneOrigin:
    """The one log there is."""

    def known(self) -> list[str]:
        """Its name."""
        return [ORIGIN]


async def mirrored(store: Store, count: int) -> None:
    """Store entries and grants of this many records; each task has six and its own grant."""
    shards = {SHARD_OF_LOGS, *range(64)}
    heads = {shard: await store.acquire(shard) for shard in shards}
    seq = number = 0
    while seq < count:
        entries: list[Change] = []
        grants: dict[int, list[Change]] = {}
        while len(entries) < GROUP and seq < count:
            grant = grant_of(number)
            shard = number % 64
            grants.setdefault(shard, []).append(Put(GRANT, grant.sha256, grant.encode()))
            for body in bodies_of(number, grant.sha256)[: count - seq]:
                leaf = records.seal(
                    body, seq=seq, recorded_ms=START_MS + HOUR_MS, salt=f"{seq:032x}"
                )
                entries.append(put_entry(ORIGIN, seq, leaf))
                seq += 1
            number += 1
        commits = [ShardCommit(SHARD_OF_LOGS, heads[SHARD_OF_LOGS].epoch, 0, entries)]
        commits += [ShardCommit(s, heads[s].epoch, 0, puts) for s, puts in grants.items()]
        await store.commit(commits)


async def statement(into: Report, count: int) -> None:
    """A statement over a log of this many records."""
    prices = {"p1": PriceList("p1", "EUR", 2, {"cpu.held_core_ms": Money("EUR", 0, 40_000_000)})}
    with tempfile.TemporaryDirectory(prefix="intertie-bench-") as name:
        store = open_store(f"sqlite:///{Path(name) / 'store.sqlite'}")
        await mirrored(store, count)
        logs = cast("MeteringLogs", MirroredLog(store, count))
        statements = Statements(logs, cast("Origins", OneOrigin()), store, prices)
        before, started = _most_memory(), time.perf_counter()
        made = await statements.make("vision", 0, 0)
        took = time.perf_counter() - started
        body = json.loads(made)
        assert body["unpriced_records"] == 0, body["refused_records"]
        assert sum(line["records"] for line in body["lines"]) >= count // 3, "two of six are billed"
        grown = _most_memory() - before
        await store.close()
    into.add(Figure("statement_per_s", count / took, "records/s", f"{count} records, {took:.1f} s"))
    into.add(Figure("statement_memory", grown / 2**20, "MiB", f"{grown / count:.0f} B a record"))


def _most_memory() -> int:
    """The most bytes that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _wanted() -> int:
    """Records of the statement's log; the option is taken out of the arguments."""
    if "--statement" not in sys.argv:
        return RECORDS
    at = sys.argv.index("--statement")
    count = int(sys.argv[at + 1])
    del sys.argv[at : at + 2]
    return count


async def main() -> None:
    """All figures."""
    count = _wanted()
    into = report("metering", __doc__ or "")
    if count:  # first, while nothing else has made the process large
        await statement(into, count)
    await append(into)
    read(into)


if __name__ == "__main__":
    uvloop.run(main())
