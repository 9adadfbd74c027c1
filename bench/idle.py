"""Memory and CPU of every process of an idle federation: `python bench/idle.py [-o json]`.

Also how long `intertie dev up` takes until the first task is accepted.
"""

import asyncio
import time

from bench.harness import Figure, Report, report
from bench.processes import federation, pids, usage
from intertie.cli.dev.cluster import Cluster
from intertie.model.spec import RunSpec, TaskSpec
from intertie.sdk.client import Client

SETTLE_S = 10.0
WATCH_S = 30.0
BOUNDS_MIB = {"federation": 120, "region": 100, "agent-1": 70, "agent-1/keeper": 15}


async def first_task(cluster: Cluster) -> None:
    """Submit until one is accepted."""
    async with Client.from_context("dev", config=cluster.layout.context_file) as client:
        task = await client.create_task(TaskSpec(run=RunSpec(command=("/bin/true",))))
        await client.wait(str(task.name))


def watch(cluster: Cluster, out: Report) -> None:
    """Let it idle, then read /proc."""
    time.sleep(SETTLE_S)
    found = pids(cluster)
    before = {name: usage(pid) for name, pid in found.items()}
    start = time.perf_counter()
    time.sleep(WATCH_S)
    wall = time.perf_counter() - start
    for name, pid in found.items():
        now = usage(pid)
        bound = BOUNDS_MIB.get(name)
        aim = f"aim: {bound} MiB" if bound else ""
        out.add(Figure(f"resident_mib.{name}", now.resident_mib, "MiB", aim))
        share = 100 * (now.cpu_s - before[name].cpu_s) / wall
        out.add(Figure(f"cpu_percent.{name}", share, "% of a core", "aim: 2"))


def main() -> None:
    """Start a federation, measure, stop it."""
    out = report("idle", __doc__ or "")
    start = time.perf_counter()
    with federation() as cluster:
        asyncio.run(first_task(cluster))
        up = time.perf_counter() - start
        out.add(Figure("up_to_first_result_s", up, "s", "aim: first task accepted in 15 s"))
        watch(cluster, out)


if __name__ == "__main__":
    main()
