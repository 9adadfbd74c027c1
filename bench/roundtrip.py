"""No-op process tasks from submission to a cosigned leaf: `python bench/roundtrip.py [-o json]`.

One replica, one region, two agents, etcd, mutual TLS, durable stores, all on this machine. A task
counts when its run_end record is under a log checkpoint that the witness has cosigned.
"""

import asyncio
import json
import time
from collections.abc import Sequence

import uvloop

from bench.harness import Figure, Report, report
from bench.processes import federation, pids, usage
from intertie.cli.dev.cluster import Cluster
from intertie.cli.dev.layout import REGION, TRUST_DOMAIN
from intertie.model.spec import Resources, RunSpec, TaskSpec
from intertie.sdk.client import Client

TASKS = 4_000
WINDOW = 600
"""Tasks that are submitted and not yet ended; enough to keep both agents busy."""
STEADY = (0.2, 0.9)
"""The part of all ends over which the rate is taken: without start and tail."""
TRUE = "/bin/true"
ORIGIN = f"{TRUST_DOMAIN}/region/{REGION}/metering"


def spec(number: int) -> TaskSpec:
    """A task unlike all others that does nothing."""
    resources = Resources(cpu=100, memory=16 << 20, disk=1 << 20)
    return TaskSpec(
        name=f"no-op-{number}", run=RunSpec(command=(TRUE, str(number))), resources=resources
    )


async def submit(client: Client, seen: dict[str, float]) -> None:
    """Keep the window full."""
    sent = 0
    while sent < TASKS:
        room = WINDOW - (sent - len(seen))
        if room < 100:
            await asyncio.sleep(0.02)
            continue
        count = min(room, TASKS - sent)
        created = await client.create_tasks([spec(sent + n) for n in range(count)])
        assert all(result.error is None for result in created), "a submission failed"
        sent += count


async def collect(billing: Client, seen: dict[str, float]) -> None:
    """Note when the end of each task is under a cosigned checkpoint."""
    read = 0
    while len(seen) < TASKS:
        notes = await billing.metering.checkpoints(ORIGIN)
        size = int(notes[0].split(b"\n")[1]) if notes else 0
        if size == read:
            await asyncio.sleep(0.05)
            continue
        async for leaves in billing.metering.entries(ORIGIN, read, size):
            now = time.perf_counter()
            for leaf in leaves:
                assert isinstance(leaf, bytes), "billing may read every leaf"
                record = json.loads(leaf)
                if record["kind"] == "run_end" and record["outcome"] == "SUCCEEDED":
                    seen[record["task"]] = now
        read = size


def steady_rate(ends: Sequence[float]) -> float:
    """Tasks a second over the steady part."""
    first, last = (int(len(ends) * share) for share in STEADY)
    return (last - first) / (ends[last] - ends[first])


async def measure(cluster: Cluster, out: Report) -> None:
    """Run all tasks once."""
    config = cluster.layout.context_file
    async with (
        Client.from_context("dev", config=config) as client,
        Client.from_context("dev-billing", config=config) as billing,
    ):
        await client.wait(str((await client.create_task(spec(TASKS))).name))
        before = {name: usage(pid) for name, pid in pids(cluster).items()}
        seen: dict[str, float] = {}
        start = time.perf_counter()
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:
            group.create_task(submit(client, seen))
            group.create_task(collect(billing, seen))
        wall = time.perf_counter() - start
        rate = steady_rate(sorted(seen.values()))
        out.add(Figure("tasks_per_s", rate, "tasks/s", "a bare subprocess: about 1,000/s"))
        out.add(Figure("wall_s", wall, "s", f"{TASKS} tasks, start and tail included"))
        for name, pid in pids(cluster).items():
            spent = usage(pid).cpu_s - before[name].cpu_s
            out.add(Figure(f"cpu_ms_per_task.{name}", spent * 1000 / TASKS, "ms/task"))


def main() -> None:
    """Start a federation, measure, stop it."""
    out = report("roundtrip", __doc__ or "")
    with federation() as cluster:
        uvloop.run(measure(cluster, out))


if __name__ == "__main__":
    main()
