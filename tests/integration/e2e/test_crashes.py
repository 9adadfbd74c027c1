"""kill -9 of every kind of process while tasks come and go; then every promise is checked.

Chance comes from a seed, printed with a failure; INTERTIE_TEST_SEED sets another. Processes have
their own timing, so a seed repeats the plan, not the history.
"""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from intertie.metering.audit.held import HeldIntervals
from intertie.metering.cursor import Cursor
from intertie.metering.log.trust import Trust, parse_trust
from intertie.metering.records import parse_record
from intertie.metering.verify import verify_log
from intertie.model.states import Outcome
from intertie.model.task import Run, Task
from intertie.sdk.client import Client
from intertie.sdk.connection import Patience
from intertie.sdk.metering.directory import LogDirectory
from intertie.sdk.metering.pull import pull
from intertie.testing.lives import WITNESS, overlaps, read_lives
from intertie.testing.waiting import eventually, let_pass

pytestmark = [pytest.mark.alone, pytest.mark.timeout(240)]

SEED = int(os.environ.get("INTERTIE_TEST_SEED", "20261130"))
ORIGIN = "intertie.example/region/suzhou-core/metering"
KINDS = ("federation", "region", "link", "keeper", "node", "etcd")
ROUNDS = 2
PATIENT = Patience(retry_s=60.0)
WORK = WITNESS + "for _ in $(seq $1); do sleep 0.1; say live $$ $me; done; echo done"


@dataclass
class Stream:
    """Submits tasks until it is told to stop; what was acked is remembered."""

    person: Any
    lives: Path
    rng: random.Random
    acked: list[Task] = field(default_factory=list)
    ended: bool = False

    async def run(self) -> None:
        while not self.ended:
            ticks = self.rng.randint(1, 25)
            spec = self.person.spec(
                WORK,
                str(ticks),
                move=self.rng.random() < 0.5,
                attempts=20,
                env={"LIVES": str(self.lives)},
            )
            self.acked.append(await self.person.create(spec))
            await let_pass(self.rng.uniform(0.1, 0.5), "tasks come one after the other")


@dataclass
class Killer:
    """Kills one process after the other, each some time after the last one runs again."""

    cluster: Any
    rng: random.Random
    told: list[str] = field(default_factory=list)

    async def run(self) -> None:
        for _ in range(ROUNDS):
            for kind in self.rng.sample(KINDS, len(KINDS)):
                await let_pass(self.rng.uniform(0.2, 1.2), "the kill may come at any instant")
                name = kind
                if kind in ("link", "keeper", "node"):
                    name = self.rng.choice(list(self.cluster.description.agents))
                self.told.append(f"{kind} {name}")
                await asyncio.to_thread(self._kill, kind, name)

    def _kill(self, kind: str, name: str) -> None:
        if kind == "keeper":
            self.cluster.crash_keeper(name)
            return
        if kind == "node":
            self.cluster.kill(name)
        else:
            self.cluster.crash(name)
        self.cluster.start(name)


@pytest.fixture
async def biller(cluster: Any) -> AsyncIterator[Client]:
    config = cluster.layout.context_file
    async with Client.from_context("dev-billing", config=config, patience=PATIENT) as client:
        yield client


@dataclass
class Log:
    """The pulled log: what a billing engineer has."""

    client: Client
    folder: Path

    async def pull(self) -> list[dict[str, Any]]:
        trust = await self.trust()
        log = LogDirectory(self.folder, ORIGIN)
        cursor = log.cursor()
        log.begin(cursor)
        await pull(self.client.metering, cursor, log, trust)
        return [dict(parse_record(leaf)) for leaf in log.leaves() if isinstance(leaf, bytes)]

    async def trust(self) -> Trust:
        return parse_trust((await self.client.metering.trust_file()).decode())

    async def until_ended(self, runs: set[tuple[str, str]]) -> list[dict[str, Any]]:
        """All records, once the end of each of these runs is among them."""
        seen: list[dict[str, Any]] = []

        async def ask() -> bool:
            seen[:] = await self.pull()
            missing = runs - {_run_of(record) for record in seen if record["kind"] == "run_end"}
            assert not missing, missing
            return True

        await eventually(ask, 30, 0.5, what="the end of every run in the log")
        return seen

    async def verify(self) -> None:
        """Every signature, the root and every record, from the pulled files alone."""
        log = LogDirectory(self.folder, ORIGIN)
        report = verify_log(
            log.leaves(), log.checkpoint(), await self.trust(), cursor=Cursor.start(ORIGIN)
        )
        assert report.findings == ()
        assert report.records > 0


def _run_of(record: dict[str, Any]) -> tuple[str, str]:
    """Task and epoch: the run as the federation counts it."""
    return record["task"], record["run"].rpartition(".")[0]


def check_usage(records: list[dict[str, Any]], runs: dict[tuple[str, str], Run]) -> None:
    """One end for each run, all its usage before it, and nothing held twice."""
    ends = Counter(_run_of(record) for record in records if record["kind"] == "run_end")
    assert {run: ends[run] for run in runs if ends[run] != 1} == {}
    held = HeldIntervals()
    metered: Counter[tuple[str, str]] = Counter()
    for record in records:
        if record["kind"] == "usage" and ".held_" in record["meter"]:
            thing = (record["task"], record["rank"], record["meter"])
            if record["start_ms"] < record["end_ms"]:
                assert held.add(thing, record["start_ms"], record["end_ms"]) is None, record
            metered[_run_of(record)] += record["boot_ms"] if "cpu" in record["meter"] else 0
    for record in records:
        if record["kind"] != "run_end" or _run_of(record) not in runs:
            continue
        run = runs[_run_of(record)]
        if run.outcome is not Outcome.LOST:  # given up after a silence, whatever it came to be
            assert record["outcome"] == run.outcome
        assert record["useful_ms"] + record["lost_ms"] == metered[_run_of(record)], record
        if run.outcome is Outcome.SUCCEEDED:
            assert record["complete"], record


def check_statement(statement: dict[str, Any], records: list[dict[str, Any]]) -> None:
    """Its lines add up to its total, and its quantities are those of the log."""
    (stated,) = statement["totals"]
    total = stated["amount"]
    assert _nanos(total) == sum(_nanos(line["amount"]) for line in statement["lines"])
    costs = [Decimal(line["cost"]) for line in statement["lines"]]
    assert sum(costs) == Decimal(stated["exact"])
    quantities: Counter[str] = Counter()
    for record in records:
        if record["kind"] == "usage":
            quantities[record["meter"]] += record["quantity"]
    billed = {line["meter"]: int(line["quantity"]) for line in statement["lines"]}
    assert set(billed) == {"cpu.held_core_ms", "mem.held_mib_ms"}
    assert billed == {meter: quantities[meter] for meter in billed}


def _nanos(amount: dict[str, Any]) -> int:
    return int(amount["units"]) * 10**9 + int(amount["nanos"])


async def test_nothing_acked_is_lost_and_nothing_runs_twice_whatever_is_killed(
    person: Any, cluster: Any, lives: Path, biller: Client, tmp_path: Path
) -> None:
    rng = random.Random(SEED)
    person.client.connection.patience = PATIENT
    stream = Stream(person, lives, random.Random(rng.random()))
    killer = Killer(cluster, random.Random(rng.random()))
    submitting = asyncio.create_task(stream.run())
    await killer.run()
    stream.ended = True
    await submitting
    print(f"seed {SEED}: {len(killer.told)} kills ({', '.join(killer.told)})")
    ended = await person.all_ended(stream.acked, within_s=40)
    print(f"{len(ended)} tasks, {Counter(task.state.value for task in ended)}")

    assert Counter(task.state.value for task in ended) == {"SUCCEEDED": len(ended)}
    found, twice = read_lives(lives)
    print(f"{len(found)} processes")
    assert twice == []
    assert overlaps(found) == []

    runs = {
        (task.id, str(run.token.epoch)): run
        for task in ended
        for run in task.runs
        if run.outcome is not Outcome.REJECTED
    }
    log = Log(biller, tmp_path)
    records = await log.until_ended(set(runs))
    await log.verify()
    check_usage(records, runs)
    statement = await biller.metering.statement("demo")
    check_statement(json.loads(statement.statement), await log.pull())
    print(f"{len(runs)} runs, {len(records)} records")
