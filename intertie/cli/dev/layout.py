"""Where a development federation keeps its things: one state directory, one file that describes it.

Ports are chosen by the kernel once and then kept, so that a process can be killed and started again
under the same address. Must not start anything.
"""

import json
import random
import socket
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from intertie.cli.dev.plan import Plan, RegionPlan
from intertie.errors import Reason, error

REGION = "suzhou-core"
JURISDICTION = "CN/CN-JS/suzhou-park"
TRUST_DOMAIN = "intertie.example"
PROJECT = "demo"
FORMAT = 2
FIRST_PORT, LAST_PORT = 10_000, 32_768


@dataclass(frozen=True, slots=True)
class Ports:
    """Loopback ports of one process."""

    grpc: int
    telemetry: int


@dataclass(frozen=True, slots=True)
class Rtt:
    """A round trip between two regions, and where its figure is from."""

    first: str
    second: str
    ms: float
    jitter_ms: float
    source: str


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of a region; `site` is the region's jurisdiction or a place below it."""

    ports: Ports
    site: str


@dataclass(frozen=True, slots=True)
class Region:
    """One region. `uplink` is where it finds the federation: beyond the delay proxy, if any."""

    id: str
    jurisdiction: str
    ports: Ports
    agents: dict[str, Agent]
    place: str = ""
    coordinates: tuple[float, float] | None = None
    uplink: int = 0


@dataclass(frozen=True, slots=True)
class Description:
    """What a development federation consists of; kept in `dev.json`.

    `regions` is by the name of the region's process. `near` is the region beside which the replica
    stands, `rtts` are round trips by pair; both are empty where nothing is delayed.
    """

    etcd: tuple[int, int, int]
    federation: Ports
    regions: dict[str, Region]
    near: str = ""
    rtts: tuple[Rtt, ...] = ()
    format: int = FORMAT

    @property
    def region(self) -> Ports:
        """Ports of the first region."""
        return next(iter(self.regions.values())).ports

    @property
    def agents(self) -> dict[str, Ports]:
        """Ports of all agents by name, region after region."""
        every = (region.agents for region in self.regions.values())
        return {name: agent.ports for agents in every for name, agent in agents.items()}

    def region_of(self, agent: str) -> Region:
        """The region of an agent."""
        return next(region for region in self.regions.values() if agent in region.agents)

    @property
    def is_delayed(self) -> bool:
        """Whether a delay proxy stands between the regions."""
        return bool(self.near)


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
    def delays_file(self) -> Path:
        """The routes and delays of the proxy between the regions."""
        return self.root / "delays.json"

    @property
    def latencies_file(self) -> Path:
        """The round trips as the federation is told them."""
        return self.root / "latencies.json"

    @property
    def delay_control(self) -> Path:
        """The socket by which delays change while the proxy runs."""
        return self.root / "delay.sock"

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
        return _description(raw)

    @classmethod
    def at(cls, path: Path) -> Self:
        """The layout below a path, made absolute."""
        return cls(path.expanduser().resolve())


def describe(agents: int, rng: random.Random | None = None) -> Description:
    """A new federation of one region with free ports."""
    with ExitStack() as stack:
        ports = _Free(stack, rng)
        members = {
            f"agent-{n}": Agent(Ports(0, ports.take()), JURISDICTION) for n in range(1, agents + 1)
        }
        return Description(
            etcd=ports.three(),
            federation=ports.pair(),
            regions={"region": Region(REGION, JURISDICTION, ports.pair(), members)},
        )


def describe_plan(plan: Plan, rng: random.Random | None = None) -> Description:
    """A new federation of several regions; processes have the names of their regions."""
    with ExitStack() as stack:
        ports = _Free(stack, rng)
        return Description(
            etcd=ports.three(),
            federation=ports.pair(),
            regions={region.id: _planned(region, ports) for region in plan.region},
            near=plan.federation,
            rtts=tuple(
                Rtt(first, second, rtt.ms, rtt.jitter_ms, rtt.source)
                for (first, second), rtt in plan.round_trips().items()
            ),
        )


def _planned(region: RegionPlan, ports: "_Free") -> Region:
    members = {
        f"{region.id}-{n + 1}": Agent(Ports(0, ports.take()), region.site(n))
        for n in range(region.agents)
    }
    return Region(
        id=region.id,
        jurisdiction=region.jurisdiction,
        ports=ports.pair(),
        agents=members,
        place=region.place,
        coordinates=region.coordinates,
        uplink=ports.take(),
    )


class _Free:
    """Free ports, all held until the end of `stack`, so that no two are the same.

    They are below those that the system gives to outgoing connections: one of these could take the
    port of a process that was killed, before it is started again.
    """

    def __init__(self, stack: ExitStack, rng: random.Random | None) -> None:
        self._stack = stack
        self._candidates = list(range(FIRST_PORT, _first_given_port()))
        (rng or random.SystemRandom()).shuffle(self._candidates)

    def take(self) -> int:
        """One."""
        while True:
            port = self._candidates.pop()
            listener = self._stack.enter_context(socket.socket())
            with suppress(OSError):
                listener.bind(("127.0.0.1", port))
                return port

    def pair(self) -> Ports:
        """Both of one process."""
        return Ports(self.take(), self.take())

    def three(self) -> tuple[int, int, int]:
        """Those of etcd."""
        return self.take(), self.take(), self.take()


def _description(raw: Mapping[str, Any]) -> Description:
    return Description(
        etcd=tuple(raw["etcd"]),
        federation=Ports(**raw["federation"]),
        regions={name: _region(value) for name, value in _regions(raw).items()},
        near=raw.get("near", ""),
        rtts=tuple(Rtt(**value) for value in raw.get("rtts", ())),
    )


def _regions(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The regions; format 1 had a single one, without its names."""
    if raw["format"] > 1:
        return dict(raw["regions"])
    agents = {name: {"ports": ports, "site": JURISDICTION} for name, ports in raw["agents"].items()}
    return {
        "region": {
            "id": REGION,
            "jurisdiction": JURISDICTION,
            "ports": raw["region"],
            "agents": agents,
        }
    }


def _region(raw: Mapping[str, Any]) -> Region:
    agents = {
        name: Agent(Ports(**agent["ports"]), agent["site"]) for name, agent in raw["agents"].items()
    }
    where = raw.get("coordinates")
    return Region(
        id=raw["id"],
        jurisdiction=raw["jurisdiction"],
        ports=Ports(**raw["ports"]),
        agents=agents,
        place=raw.get("place", ""),
        coordinates=(where[0], where[1]) if where else None,
        uplink=raw.get("uplink", 0),
    )


def _first_given_port() -> int:
    """The first port that the system gives to outgoing connections by itself."""
    try:
        first, _ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except OSError:
        return LAST_PORT
    return min(max(int(first), FIRST_PORT + 1_000), LAST_PORT)
