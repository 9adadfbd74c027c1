"""The router: `python -m bench.routing [-o json]`.

routed       tasks a second through class, filter, weight and draw on one core: batches of tasks of
             real shape (openb 2023, where the trace is at hand), while summaries come in at one a
             second for each region. Verdicts are shared per equivalence class; every task is drawn
             for by itself, and counts as sent to the first region that was drawn.
cold         one decision of a class that was never seen, on a replica that has run for a while:
             filter, weigh, draw. p99, by the clock and by the CPU's time.
memory       of columns and candidate sets, per region.

Regions are synthetic: 8 classes of nodes each, sites all over, one summary a second.
"""

import csv
import gzip
import random
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.harness import Figure, Report, quantile, report
from federation.domain.fleet import Fleet, Timing
from federation.domain.routing.demand import Demand
from federation.domain.routing.draw import draw_cumulated
from federation.domain.routing.router import Router
from intertie.clock import SystemClock
from intertie.collector import spare
from intertie.model.link import RegionHello
from intertie.model.pool import NodeClass, Summary
from intertie.model.spec import (
    Accelerators,
    FileRef,
    Kind,
    Residency,
    Resources,
    RunSpec,
    TaskSpec,
)
from intertie.ports import Now

TRACE = "traces/alibaba_gpu2023_openb_pods_default.csv.gz"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
REGIONS, CLASSES = 1_000, 8
TASKS, BATCH = 200_000, 5_000
COLD = 1_000
MODELS = (("V100M16", 16), ("V100M32", 32), ("P100", 16), ("T4", 16), ("A10", 24), ("G2", 24))
COUNTRIES = ("DE/DE-HE", "FR/FR-IDF", "NL/NL-NH", "CN/CN-GZ", "CN/CN-JS", "US/US-VA", "GB/GB-LND")
BOUNDS = (Residency(),) * 6 + (
    Residency(within=("DE", "FR", "NL")),
    Residency(within=("CN",)),
    Residency(not_within=("US",)),
)
TICK_MS = BATCH / 50_000 * 1_000
"""A batch stands for this much time, in which summaries come."""


def shapes() -> list[tuple[Resources, str]]:
    """Resources of the trace's pods in their order; made-up ones of like spread without it."""
    path = DATA / TRACE
    if not path.exists():
        print(f"{TRACE} is not at hand: shapes are made up")
        rng = random.Random(1)
        return [(_resources(rng.choice((2, 4, 8, 12)) * 1000, 4096, 1, ""), "LS")] * 8_000
    with gzip.open(path, "rt", encoding="utf-8") as rows:
        return [
            (
                _resources(
                    int(row["cpu_milli"]),
                    int(row["memory_mib"]),
                    int(row["num_gpu"]),
                    row["gpu_spec"],
                ),
                row["qos"],
            )
            for row in csv.DictReader(rows)
        ]


def _resources(cpu: int, memory_mib: int, devices: int, models: str) -> Resources:
    return Resources(
        cpu=max(cpu, 10),
        memory=max(memory_mib, 1) << 20,
        accelerators=Accelerators(count=devices, model=tuple(models.split("|")) if models else ()),
    )


def specs(count: int, seed: int = 2) -> Iterator[TaskSpec]:
    """Distinct specs, as they come from decoding: equal parts are not the same objects."""
    rng, pods = random.Random(seed), shapes()
    for number in range(count):
        resources, qos = pods[number % len(pods)]
        yield TaskSpec(
            labels={"seed": str(number)},
            kind=Kind.TRAINING if qos == "LS" else Kind.BATCH_INFERENCE,
            run=RunSpec(
                command=("python", "train.py", f"--seed={number}"),
                files=(FileRef(path="train.py", sha256=f"{number:064x}", size=20_000),),
            ),
            resources=replace(resources, accelerators=replace(resources.accelerators)),
            residency=replace(rng.choice(BOUNDS)),
        )


def summary_of(number: int, revision: int, rng: random.Random) -> Summary:
    """What a region has at a revision."""
    classes = []
    for slot in range(CLASSES):
        model, memory = MODELS[(number + slot) % len(MODELS)]
        nodes = 1 + (number * 7 + slot) % 40
        blocks = {size: rng.randrange(nodes + 1) for size in (1, 2, 4, 8)}
        classes.append(
            NodeClass(
                architecture="x86_64",
                vendor="nvidia",
                model=model,
                nodes=nodes,
                max_cpu=96_000,
                max_memory=768 << 30,
                max_disk=2 << 40,
                max_devices=8,
                device_memory=memory << 30,
                free_cpu=rng.randrange(96_000 * nodes),
                free_memory=rng.randrange((768 << 30) * nodes),
                free_blocks=blocks,
                software={"cuda": "12.4", "python": "3.11"},
                tags={"interconnect": "nvlink" if slot % 2 else "pcie"},
            )
        )
    region = region_of(number)
    return Summary(
        region=region,
        incarnation="i1",
        revision=revision,
        jurisdiction=f"{COUNTRIES[number % len(COUNTRIES)]}/site-{number}",
        classes=tuple(classes),
        health=0.9 + rng.random() / 10,
    )


def region_of(number: int) -> str:
    return f"region-{number:05d}"


class Place:
    """A fleet and its router."""

    def __init__(self, regions: int) -> None:
        self.now = SystemClock().now()
        self.rng = random.Random(3)
        self.timing = Timing(summary_max_age_ms=30_000)
        self.fleet = Fleet(self.now, self.timing)
        self.router = Router(self.fleet, self.timing, self.rng)
        for number in range(regions):
            summary = summary_of(number, 1, self.rng)
            hello = RegionHello(
                region=summary.region,
                incarnation="i1",
                jurisdiction=summary.jurisdiction,
                software="0.1.0",
                protocol_min=1,
                protocol_max=1,
            )
            member = self.fleet.attach(number + 1, hello, self.now)
            self.fleet.update(member, summary=summary, summary_ns=self.now.boot_ns)

    def pass_time(self, ms: float) -> None:
        self.now = Now(
            self.now.boot_ns + round(ms * 1e6), self.now.boot_id, self.now.utc_ms + round(ms)
        )

    def hear(self, summary: Summary) -> None:
        member = self.fleet.members[summary.region]
        self.fleet.update(member, summary=summary, summary_ns=self.now.boot_ns, inflight=0)

    def route(self, batch: list[TaskSpec]) -> int:
        """Class, filter, weight and draw for each of a batch; how many were drawn for."""
        router, fleet, rng = self.router, self.fleet, self.rng
        by_class: dict[Demand, list[TaskSpec]] = {}
        of = router.classes.of
        for spec in batch:
            by_class.setdefault(of(spec), []).append(spec)
        sent: dict[int, int] = {}
        drawn_for = 0
        for demand, tasks in by_class.items():
            found = router.set_of(demand, self.now)
            ends, rows = found.ends, found.rows.tolist()
            for _ in tasks:
                drawn = draw_cumulated(ends, rng.getrandbits(63), 2)
                if drawn:
                    drawn_for += 1
                    row = rows[drawn[0]]
                    sent[row] = sent.get(row, 0) + 1
        regions = router.regions
        for row, count in sent.items():
            member = fleet.members[regions[row]]
            fleet.update(member, inflight=member.inflight + count)
        return drawn_for


def routed(into: Report, regions: int = REGIONS, tasks: int = TASKS) -> None:
    place = Place(regions)
    queue = list(specs(tasks))
    batches = [queue[start : start + BATCH] for start in range(0, tasks, BATCH)]
    per_batch = max(1, round(regions * TICK_MS / 1_000))
    heard = [
        [summary_of((i * per_batch + k) % regions, 2 + i, place.rng) for k in range(per_batch)]
        for i in range(len(batches))
    ]
    place.route(batches[0])
    started, used = time.perf_counter(), time.process_time()
    drawn_for = 0
    for batch, summaries in zip(batches, heard, strict=True):
        for summary in summaries:
            place.hear(summary)
        drawn_for += place.route(batch)
        place.pass_time(TICK_MS)
    took, used = time.perf_counter() - started, time.process_time() - used
    stats = place.router.stats()
    into.add(Figure("routed_per_s", tasks / took, "tasks/s", "target 50,000 on one core"))
    into.add(Figure("routed_per_cpu_s", tasks / used, "tasks/s of CPU"))
    into.add(Figure("classes", stats["classes"], f"of {tasks:,} tasks"))
    into.add(Figure("class_hit_rate", 100 - 100 * stats["classes"] / (tasks + BATCH), "%"))
    into.add(Figure("drawn_for", 100 * drawn_for / tasks, "% of the tasks", "others fit nowhere"))


def cold(into: Report, regions: int, metric: str, target: str, count: int = COLD) -> None:
    """Decisions of classes that were never seen, each with the summaries of that moment."""
    place = Place(regions)
    rng = random.Random(5)
    place.route(list(specs(500)))
    took: list[float] = []
    used: list[float] = []
    for number, spec in enumerate(specs(count, seed=7)):
        resources = replace(spec.resources, cpu=spec.resources.cpu + number % 997)
        fresh = replace(spec, resources=resources)
        place.hear(summary_of(rng.randrange(regions), number, rng))
        started, cpu = time.perf_counter(), time.process_time()
        demand = place.router.classes.of(fresh)
        place.router.draw(demand, place.now)
        took.append((time.perf_counter() - started) * 1_000)
        used.append((time.process_time() - cpu) * 1_000)
    into.add(Figure(metric, quantile(took, 0.99), "ms", target))
    into.add(Figure(metric.replace("p99", "p50"), quantile(took, 0.5), "ms"))
    into.add(Figure(metric.replace("p99", "cpu_p99"), quantile(used, 0.99), "ms of CPU"))


def memory(into: Report) -> None:
    """Bytes of columns and of 64 candidate sets, per region, at two sizes."""
    wanted = list(specs(600))
    for regions in (1_000, 4_000):
        place = Place(regions)
        tracemalloc.start()
        for spec in wanted:
            place.router.set_of(place.router.classes.of(spec), place.now)
            if place.router.stats()["sets"] >= 64:
                break
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        into.add(Figure(f"bytes_a_region_{regions}", used / regions, "bytes", "64 classes"))


def main() -> None:
    """All figures."""
    into = report("routing", __doc__ or "")
    spare()  # as every service does
    routed(into)
    cold(into, REGIONS, "cold_p99_ms", "target 2 at 1,000 regions")
    cold(into, 10_000, "cold_10k_p99_ms", "target 20 at 10,000 regions", count=300)
    memory(into)


if __name__ == "__main__":
    main()
