"""A development federation for benches that need every process.

Starts it, finds its pids, reads /proc."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from intertie.cli.dev.cluster import Cluster, keeper_pids

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has used: CPU in seconds since its start, resident memory in MiB."""

    cpu_s: float
    resident_mib: float


@contextmanager
def federation(agents: int = 2) -> Iterator[Cluster]:
    """A fresh federation in a temporary folder, stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="it-bench-"))
    folder.chmod(0o711)
    cluster = Cluster(folder)
    try:
        cluster.up(agents)
        yield cluster
    finally:
        cluster.down()
        shutil.rmtree(folder)


def pids(cluster: Cluster) -> dict[str, int]:
    """All processes by name; keepers are `agent-1/keeper`."""
    found = {name: process.pid for name, process in cluster.processes.alive().items()}
    for name in cluster.description.agents:
        for pid in keeper_pids(cluster.layout.process(name)):
            found[f"{name}/keeper"] = pid
    return found


def usage(pid: int) -> Usage:
    """Of one process, from /proc."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    cpu_s = (int(stat[11]) + int(stat[12])) / TICKS
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return Usage(cpu_s, int(resident.split()[1]) / 1024)
