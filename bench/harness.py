"""What all benches share: certificates, a replica in a process of its own, figures as JSON lines.

A bench prints one line per figure: bench, metric, value, unit, compared_with, machine, versions.
Measuring happens here only by `time.perf_counter`, never by the clocks of the product.
"""

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import grpc.aio

from intertie.clock import SystemClock
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import federation_dns_name
from intertie.testing.pki import FederationPki, federation_pki
from intertie.transport.channel import open_channel
from intertie.transport.credentials import channel_credentials

LIBRARIES = ("grpcio", "protobuf", "msgspec", "uvloop", "cryptography")
START_S = 30.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value."""

    metric: str
    value: float
    unit: str
    compared_with: str = ""


@dataclass(slots=True)
class Report:
    """Prints figures as they come: for people, or one JSON object a line."""

    bench: str
    as_json: bool
    figures: list[Figure] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """Print a figure."""
        self.figures.append(figure)
        if not self.as_json:
            against = f"   ({figure.compared_with})" if figure.compared_with else ""
            print(f"{figure.metric:<24}{figure.value:>12,.1f} {figure.unit}{against}", flush=True)
            return
        line = {
            "bench": self.bench,
            "metric": figure.metric,
            "value": round(figure.value, 3),
            "unit": figure.unit,
            "compared_with": figure.compared_with,
            "machine": machine(),
            "versions": versions(),
        }
        print(json.dumps(line), flush=True)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(pages / (1 << 30), 1),
        "kernel": platform.release(),
    }


def versions() -> dict[str, str]:
    """What the figures were measured with."""
    found = {"python": platform.python_version(), "intertie": metadata.version("intertie")}
    return found | {name: metadata.version(name) for name in LIBRARIES}


def report(bench: str, description: str) -> Report:
    """Read `-o json` and make the report of a bench."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args()
    return Report(bench, options.output == "json")


# --- a replica -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Replica:
    """A federation replica in a process of its own, with certificates for its callers."""

    pki: FederationPki
    folder: Path
    address: str
    process: asyncio.subprocess.Process
    _channels: list[grpc.aio.Channel] = field(default_factory=list)

    def channel(self, identity: str) -> grpc.aio.Channel:
        """A channel of its own connection under an identity."""
        path = self.pki.directory(identity)
        channel = open_channel(
            self.address,
            federation_dns_name(self.pki.trust_domain),
            channel_credentials(IdentityDirectory(path, self.pki.trust_domain).current),
            SystemClock(),
        )
        self._channels.append(channel)
        return channel

    def cpu_seconds(self) -> float:
        """CPU time that the process has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    async def close(self) -> None:
        """Hang up."""
        for channel in self._channels:
            await channel.close()


@asynccontextmanager
async def replica(settings: Sequence[str] = ()) -> AsyncIterator[Replica]:
    """A replica over SQLite with synchronous=FULL, in a temporary folder, with mutual TLS."""
    with tempfile.TemporaryDirectory(prefix="intertie-bench-") as name:
        folder = Path(name)
        pki = federation_pki(folder / "pki", regions=["eu"])
        pki.directory("federation/r1", path=folder / "state" / "identity")
        flags = [
            f"state_dir={folder / 'state'}",
            "listen=127.0.0.1:0",
            "log_level=WARNING",
            "limits.calls_per_second=1000000.0",
            "limits.burst=1000000",
            *settings,
        ]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "federation",
            *(part for flag in flags for part in ("--set", flag)),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            line = await asyncio.wait_for(process.stdout.readline(), START_S)
            made = Replica(pki, folder, json.loads(line)["address"], process)
            try:
                yield made
            finally:
                await made.close()
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()


async def at_concurrency(
    count: int, workers: int, call: Callable[[int], Awaitable[object]]
) -> list[float]:
    """Make `count` calls, `workers` at a time; the seconds that each took, in their order."""
    clock = asyncio.get_running_loop().time
    numbers = iter(range(count))
    took: list[float] = []

    async def work() -> None:
        for number in numbers:
            started = clock()
            await call(number)
            took.append(clock() - started)

    await asyncio.gather(*(work() for _ in range(workers)))
    return took


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
