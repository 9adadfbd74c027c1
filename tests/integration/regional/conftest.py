"""A real regional scheduler between a scripted federation and scripted agents, over mutual TLS."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from intertie.api.federation.v1 import blob_service_pb2_grpc, link_service_pb2_grpc
from intertie.api.metering.v1 import metering_service_pb2_grpc
from intertie.clock import SystemClock, SystemIds
from intertie.config import load
from intertie.metering.log.note import Key
from intertie.model.spec import RunSpec, TaskSpec, Tolerance
from intertie.model.states import OnDisconnect
from intertie.pki.load import IdentityDirectory
from intertie.store.blobs import BlobStore
from intertie.telemetry.registry import Metrics
from intertie.testing.fakes.agent import FakeAgent
from intertie.testing.fakes.federation import FakeFederation
from intertie.testing.fakes.witness import FakeWitness
from intertie.testing.pki import FederationPki, federation_pki
from intertie.testing.waiting import eventually
from intertie.transport.blobs import BlobServicer
from intertie.transport.channels import Channels
from intertie.transport.server import Server
from regional.app import Application
from regional.config import Config

REGION, JURISDICTION = "eu", "DE/DE-HE/fra1"
WITHIN_S = 10.0


@dataclass
class Process:
    """`python -m regional` as a process of its own."""

    process: asyncio.subprocess.Process
    address: str

    async def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        await self.process.wait()


@dataclass
class Place:
    """Everything of one test: PKI, the scripted federation, the region's state directory."""

    path: Path
    pki: FederationPki
    federation: FakeFederation
    witness: FakeWitness
    federation_blobs: BlobStore
    server: Server
    federation_address: str
    clock: SystemClock = field(default_factory=SystemClock)
    overrides: dict[str, Any] = field(default_factory=dict)
    applications: list[Application] = field(default_factory=list)
    agents: list[FakeAgent] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    channels: list[Channels] = field(default_factory=list)
    address: str = ""

    @property
    def state(self) -> Path:
        """The region's state directory."""
        return self.path / "region"

    @property
    def origin(self) -> str:
        """Origin of the region's log."""
        return f"{self.pki.trust_domain}/region/{REGION}/metering"

    def flags(self) -> list[str]:
        """The configuration."""
        identity = self.path / "scheduler"
        if not identity.exists():
            self.pki.directory(f"{REGION}:scheduler", path=identity)
        settings = {
            "region": REGION,
            "jurisdiction": JURISDICTION,
            "trust_domain": self.pki.trust_domain,
            "state_dir": str(self.state),
            "identity_dir": str(identity),
            "listen": "127.0.0.1:0",
            "federation.endpoints": f'["{self.federation_address}"]',
            "federation.grant_keys": f'["{self.federation.signer.key.public.hex()}"]',
            "federation.witnesses": f'["{self.witness.signer.key.vkey}"]',
            "timing.agent_lease": "3s",
            "timing.beat": "200ms",
            "timing.kill": "500ms",
            "timing.delta": "100ms",
            "timing.unknown_after": "1s",
            "timing.notice": "0",
            "log.group": "20ms",
            **self.overrides,
        }
        return [f"{key}={value}" for key, value in settings.items()]

    async def start(self) -> Application:
        """A scheduler in this process."""
        application = Application(load(Config, flags=self.flags(), environment={}))
        await application.start()
        self.applications.append(application)
        self.address = application.address
        self.believe_log_key()
        return application

    def believe_log_key(self) -> None:
        """The federation believes the region's log key."""
        vkey = (self.state / "keys" / "log.vkey").read_text().strip()
        self.witness.logs[self.origin] = [Key.parse(vkey)]

    async def spawn(self) -> Process:
        """A scheduler as a process of its own."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "regional",
            *(part for flag in self.flags() for part in ("--set", flag)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("INTERTIE_")},
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        started = Process(process, json.loads(line)["address"])
        self.processes.append(started)
        self.address = started.address
        self.believe_log_key()
        return started

    def identity_channels(self, text: str) -> Channels:
        """Channels of some identity."""
        channels = Channels(self.pki.identity(text), self.clock, Metrics())
        self.channels.append(channels)
        return channels

    @property
    def server_name(self) -> str:
        """The name that the region proves."""
        return self.pki.spiffe_id(f"{REGION}:scheduler").dns_name

    async def agent(self, node: str = "n1") -> FakeAgent:
        """An attached agent."""
        agent = self.make_agent(node)
        agent.start()
        await eventually(lambda: agent.is_attached, WITHIN_S, what=f"{node} attaches")
        return agent

    def make_agent(self, node: str = "n1") -> FakeAgent:
        """An agent that has not attached yet."""
        channels = self.identity_channels(f"{REGION}:node/{node}")
        agent = FakeAgent(node, lambda: self.address, self.server_name, channels, self.clock)
        self.agents.append(agent)
        return agent

    async def attached(self) -> None:
        """The region has a link and has told its pool."""
        await eventually(
            lambda: self.federation.is_attached(REGION) and self.federation.summary is not None,
            WITHIN_S,
            what="the region attaches",
        )

    async def close(self) -> None:
        """Stop what was started."""
        for agent in self.agents:
            await agent.stop()
        for application in self.applications:
            await application.stop()
        for started in self.processes:
            if started.process.returncode is None:
                await started.kill()
        for channels in self.channels:
            await channels.close()
        self.federation.cut(REGION)
        await self.server.stop(0.2)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    clock = SystemClock()
    pki = federation_pki(tmp_path / "pki", regions=[REGION, "us"])
    federation = FakeFederation(clock)
    witness = FakeWitness(f"{pki.trust_domain}/witness", clock)
    blobs = BlobStore(str(tmp_path / "federation-blobs"))
    identity = IdentityDirectory(pki.directory("federation/r1"), pki.trust_domain)
    server = Server(identity, pki.check(), clock=clock, ids=SystemIds(), metrics=Metrics())
    link_service_pb2_grpc.add_LinkServiceServicer_to_server(federation, server)
    metering_service_pb2_grpc.add_MeteringServiceServicer_to_server(witness, server)
    blob_service_pb2_grpc.add_BlobServiceServicer_to_server(BlobServicer(blobs), server)
    port = server.listen("127.0.0.1:0")
    await server.start()
    made = Place(tmp_path, pki, federation, witness, blobs, server, f"127.0.0.1:{port}")
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
def spec() -> TaskSpec:
    return TaskSpec(run=RunSpec(command=("true",)))


@pytest.fixture
def moving() -> TaskSpec:
    tolerance = Tolerance(on_disconnect=OnDisconnect.MOVE, move_after=1_000)
    return TaskSpec(run=RunSpec(command=("train",)), tolerance=tolerance)
