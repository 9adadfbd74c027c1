"""A whole federation on this machine: etcd, one replica, regions, agents, each a real process.

Used by `intertie dev`, by `intertie demo` and by benchmarks. Every step may be repeated: what is
there stays, what runs goes on.
"""

import os
import shutil
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from intertie.cli.dev import configs, identities
from intertie.cli.dev.delays import write_delays, write_latencies
from intertie.cli.dev.layout import (
    PROJECT,
    TRUST_DOMAIN,
    Description,
    Layout,
    describe,
    describe_plan,
)
from intertie.cli.dev.plan import Plan
from intertie.cli.dev.processes import Process, Processes, interpreter
from intertie.clock import SystemClock
from intertie.errors import Reason, error
from intertie.sdk.contexts import Context, Contexts, RegionAccess

AGENTS = 2

PRICES = """{
  "type": "intertie.prices/v1",
  "version": "dev-1",
  "currency": "EUR",
  "minor_digits": 6,
  "meters": ["accelerator.held_device_ms", "cpu.held_core_ms", "mem.held_mib_ms"],
  "units": [1, 0, 0],
  "nanos": [200000000, 40000000, 5000000]
}
"""
"""EUR 1.20 a device-hour, 0.04 a core-hour, 0.005 a GiB-hour; six digits, for bills of seconds."""

Tell = Callable[[str], None]


class Cluster:
    """See the module's text. `tell` hears what is being done, for progress."""

    def __init__(self, root: Path, tell: Tell = lambda _: None) -> None:
        self.layout = Layout.at(root)
        self.processes = Processes(self.layout)
        self._tell = tell

    @property
    def description(self) -> Description:
        """What it consists of."""
        return self.layout.load()

    @property
    def names(self) -> list[str]:
        """Its processes in starting order."""
        return [name for wave in self.waves for name in wave]

    @property
    def waves(self) -> list[list[str]]:
        """Its processes by what needs what: those of a wave start at once."""
        description = self.description
        second = ["renewal", "federation", *(["delay"] if description.is_delayed else [])]
        return [["etcd"], second, list(description.regions), list(description.agents)]

    def up(self, agents: int | None = None, plan: Plan | None = None) -> None:
        """Make what is missing and start what does not run.

        Args:
            agents: of a new federation; None = as many as it has, or `AGENTS`.
            plan: the regions of a new federation, instead of one with `agents`.

        Raises:
            IntertieError: ALREADY_EXISTS, with other agents or regions; UNREACHABLE, naming the
                process that did not start. What had started goes on, and the next `up` continues.
        """
        if shutil.which("etcd") is None:
            raise error(
                Reason.CONFIG_INVALID,
                "etcd is not installed.",
                remedy="Install it: apt-get install etcd-server",
            )
        self.layout.root.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._describe(agents, plan)
        self._tell("issuing identities")
        identities.issue_all(self.layout, self.description, SystemClock())
        self._write_prices()
        for wave in self.waves:
            self._start_wave(wave)
        self.write_context()

    def _describe(self, agents: int | None, plan: Plan | None) -> None:
        if not self.layout.description_file.exists():
            made = describe_plan(plan) if plan is not None else describe(agents or AGENTS)
            self.layout.save(made)
            return
        if plan is not None:
            self._same_regions(plan)
        have = len(self.description.agents)
        if agents is not None and agents != have:
            raise error(
                Reason.ALREADY_EXISTS,
                f"{self.layout.root} holds a federation with {have} agents, not {agents}.",
                remedy="Leave --agents out to start that one, or choose another --state directory.",
            )

    def _same_regions(self, plan: Plan) -> None:
        have, want = list(self.description.regions), [region.id for region in plan.region]
        if have != want:
            raise error(
                Reason.ALREADY_EXISTS,
                f"{self.layout.root} holds a federation of {', '.join(have)}, not of the plan's"
                f" {', '.join(want)}.",
                remedy="Leave --regions out to start it, or choose another --state directory.",
            )

    def start(self, name: str) -> Process:
        """Start one process and wait until it serves."""
        self._tell(f"starting {name}")
        process = self._spawn(name)
        self.processes.wait_healthy(process)
        return process

    def _start_wave(self, names: list[str]) -> None:
        """Start several at once and wait until all serve."""
        self._tell(f"starting {', '.join(names)}")
        for process in [self._spawn(name) for name in names]:
            self.processes.wait_healthy(process)

    def _spawn(self, name: str) -> Process:
        if name == "delay":
            write_delays(self.layout, self.description)
        elif name not in {"etcd", "renewal"}:
            if name == "federation":
                write_latencies(self.layout, self.description)
            configs.write(self.layout, name, self._config(name))
        return self.processes.start(name, self._argv(name), self._health(name), {})

    def kill(self, name: str) -> None:
        """End one process as a crash does; of an agent the keeper too, and so its tasks."""
        for pid in self._keepers(name):
            os.kill(pid, signal.SIGKILL)
        self.processes.stop(name, kill=True)

    def down(self) -> None:
        """Stop everything in good order."""
        for name in reversed(self.names):
            self._tell(f"stopping {name}")
            keepers = self._keepers(name)
            self.processes.stop(name)
            for pid in keepers:
                os.kill(pid, signal.SIGTERM)

    def write_context(self) -> None:
        """Write contexts for the people of the federation; `dev` is the project's user.

        Of several regions each has a context of its name, for its operator's commands.
        """
        description = self.description
        endpoint = f"127.0.0.1:{description.federation.grpc}"

        def context(name: str, person: str, process: str, project: str = "") -> Context:
            region = description.regions[process]
            return Context(
                name=name,
                endpoint=endpoint,
                trust_domain=TRUST_DOMAIN,
                identity=str(self.layout.identity(person)),
                project=project,
                region=RegionAccess(
                    id=region.id,
                    endpoint=f"127.0.0.1:{region.ports.grpc}",
                    identity=str(self.layout.identity(identities.operator(process))),
                ),
            )

        first = next(iter(description.regions))
        contexts = [
            context("dev", "user", first, PROJECT),
            context("dev-admin", "admin", first, PROJECT),
            context("dev-billing", "billing", first, PROJECT),
        ]
        if description.is_delayed:
            contexts += [context(name, "user", name, PROJECT) for name in description.regions]
        by_name = {made.name: made for made in contexts}
        Contexts(self.layout.context_file, "dev", by_name).save()

    def _keepers(self, name: str) -> list[int]:
        return keeper_pids(self.layout.process(name)) if name in self.description.agents else []

    def _argv(self, name: str) -> list[str]:
        python = interpreter()
        if name == "etcd":
            return etcd_argv(self.layout, self.description)
        if name == "renewal":
            return [python, "-m", "intertie.cli.dev.renewal", str(self.layout.root)]
        if name == "delay":
            return [
                *(python, "-m", "intertie.testing.delay"),
                *("--routes", str(self.layout.delays_file)),
                *("--control", str(self.layout.delay_control)),
            ]
        if name == "federation":
            module = "federation"
        else:
            module = "regional" if name in self.description.regions else "edge_agent"
        return [python, "-m", module, "--config", str(self.layout.config(name))]

    def _health(self, name: str) -> str:
        description = self.description
        if name in {"renewal", "delay"}:
            return ""
        if name == "etcd":
            return f"127.0.0.1:{description.etcd[2]}/health"
        regions = {process: region.ports for process, region in description.regions.items()}
        ports = {"federation": description.federation, **regions, **description.agents}
        telemetry = ports[name].telemetry
        return f"127.0.0.1:{telemetry}/healthz"

    def _config(self, name: str) -> dict[str, configs.Table]:
        if name == "federation":
            return configs.federation(self.layout, self.description)
        if name in self.description.regions:
            return configs.region(self.layout, self.description, name)
        return configs.agent(self.layout, self.description, name)

    def _write_prices(self) -> None:
        path = self.layout.root / "prices.json"
        if not path.exists():
            path.write_text(PRICES, encoding="utf-8")


def keeper_pids(state: Path) -> list[int]:
    """The keeper of an agent, known by who listens on its socket; none if nobody does."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(state / "keeper" / "keeper.sock"))
        except (FileNotFoundError, ConnectionRefusedError):
            return []
        size = struct.calcsize("3i")
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return [int(struct.unpack("3i", peer)[0])]


def etcd_argv(layout: Layout, description: Description) -> list[str]:
    """Etcd with one member, TLS and client certificates, on loopback."""
    client, peer, metrics = description.etcd
    identity = layout.identity("etcd")
    url, peer_url = f"https://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    flags = {
        "name": "etcd",
        "data-dir": str(layout.process("etcd") / "data"),
        "listen-client-urls": url,
        "advertise-client-urls": url,
        "listen-peer-urls": peer_url,
        "initial-advertise-peer-urls": peer_url,
        "initial-cluster": f"etcd={peer_url}",
        "listen-metrics-urls": f"http://127.0.0.1:{metrics}",
        "cert-file": str(identity / "cert.pem"),
        "key-file": str(identity / "key.pem"),
        "trusted-ca-file": str(identity / "trust.pem"),
        "client-cert-auth": "true",
        "log-level": "warn",
        "logger": "zap",
    }
    return ["etcd", *(f"--{flag}={value}" for flag, value in flags.items())]
