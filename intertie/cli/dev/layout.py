"""Where a development federation keeps its things: one state directory, one file that describes it.

Ports are chosen by the kernel once and then kept, so that a process can be killed and started again
under the same address. Must not start anything.
"""

import json
import random
import socket
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from intertie.errors import Reason, error

REGION = "suzhou-core"
JURISDICTION = "CN/CN-JS/suzhou-park"
TRUST_DOMAIN = "intertie.example"
PROJECT = "demo"
FORMAT = 1
FIRST_PORT, LAST_PORT = 10_000, 32_768


@dataclass(frozen=True, slots=True)
class Ports:
    """Loopback ports of one process."""

    grpc: int
    telemetry: int


@dataclass(frozen=True, slots=True)
class Description:
    """What a development federation consists of; kept in `dev.json`."""

    etcd: tuple[int, int, int]
    federation: Ports
    region: Ports
    agents: dict[str, Ports] = field(default_factory=dict)
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders below a state directory."""

    root: Path

    @property
    def description_file(self) -> Path:
        """What the federation consists of."""
        return self.root / "dev.json"

    @property
    def processes_file(self) -> Path:
        """Which processes run."""
        return self.root / "processes.json"

    @property
    def context_file(self) -> Path:
        """The client's contexts."""
        return self.root / "context.toml"

    @property
    def ca(self) -> Path:
        """The root CA of the federation."""
        return self.root / "ca" / "root"

    @property
    def etcd_ca(self) -> Path:
        """The CA of etcd's own connections."""
        return self.root / "ca" / "etcd"

    def regional_ca(self, region: str) -> Path:
        """The CA of a region."""
        return self.root / "ca" / region

    def process(self, name: str) -> Path:
        """The folder of one process: state, configuration, log."""
        return self.root / name

    @property
    def identities(self) -> Path:
        """All identities; only our own user may look."""
        return self.root / "identities"

    def identity(self, name: str) -> Path:
        """The identity of a process or person."""
        return self.identities / name

    def config(self, name: str) -> Path:
        """The configuration of a process."""
        return self.process(name) / "config.toml"

    def log(self, name: str) -> Path:
        """The log of a process."""
        return self.process(name) / "log.jsonl"

    def save(self, description: Description) -> None:
        """Write the description."""
        text = json.dumps(asdict(description), indent=2)
        self.description_file.write_text(text + "\n", encoding="utf-8")

    def load(self) -> Description:
        """Read the description; NOT_FOUND if there is none."""
        try:
            raw = json.loads(self.description_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise error(
                Reason.NOT_FOUND,
                f"{self.root} holds no development federation.",
                remedy="Start one with: intertie dev up",
            ) from None
        if raw["format"] > FORMAT:
            raise error(
                Reason.STATE_DIR_NEWER,
                f"{self.root} was made by a newer version (format {raw['format']}).",
                remedy="Use that version, or another --state directory.",
            )
        return Description(
            etcd=tuple(raw["etcd"]),
            federation=Ports(**raw["federation"]),
            region=Ports(**raw["region"]),
            agents={name: Ports(**ports) for name, ports in raw["agents"].items()},
        )

    @classmethod
    def at(cls, path: Path) -> Self:
        """The layout below a path, made absolute."""
        return cls(path.expanduser().resolve())


def describe(agents: int, rng: random.Random | None = None) -> Description:
    """A new federation with free ports, all held at once so that no two are the same.

    They are below those that the system gives to outgoing connections: one of these could take the
    port of a process that was killed, before it is started again.
    """
    candidates = list(range(FIRST_PORT, _first_given_port()))
    (rng or random.SystemRandom()).shuffle(candidates)
    with ExitStack() as stack:

        def free() -> int:
            while True:
                port = candidates.pop()
                listener = stack.enter_context(socket.socket())
                with suppress(OSError):
                    listener.bind(("127.0.0.1", port))
                    return port

        return Description(
            etcd=(free(), free(), free()),
            federation=Ports(free(), free()),
            region=Ports(free(), free()),
            agents={f"agent-{n}": Ports(0, free()) for n in range(1, agents + 1)},
        )


def _first_given_port() -> int:
    """The first port that the system gives to outgoing connections by itself."""
    try:
        first, _ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except OSError:
        return LAST_PORT
    return min(max(int(first), FIRST_PORT + 1_000), LAST_PORT)
