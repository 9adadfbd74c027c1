"""A real replica on loopback with mutual TLS, SQLite below tmp_path, and clients of every role."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from federation.app import Application
from federation.config import Config
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.clock import SystemClock
from intertie.config import load
from intertie.errors import IntertieError, Reason
from intertie.metering.dsse import StatementKey
from intertie.model.spec import RunSpec, TaskSpec
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import federation_dns_name
from intertie.ports import Clock
from intertie.testing.fake_region import FakeRegion
from intertie.testing.pki import FederationPki, federation_pki
from intertie.transport.channel import open_channel
from intertie.transport.credentials import channel_credentials
from intertie.transport.failure import error_from_rpc
from intertie.wire.tasks import spec_to_pb

PARENT = "projects/demo"


@dataclass
class Place:
    """A state directory with an identity, and everything that was started in the test."""

    pki: FederationPki
    state: Path
    overrides: dict[str, Any] = field(
        default_factory=lambda: {
            "timing.beat": "300ms",
            "timing.lease": "3s",
            "timing.delta": "100ms",
            "timing.unknown_after": "600ms",
            "timing.digest_every": "60s",
        }
    )
    channels: list[grpc.aio.Channel] = field(default_factory=list)
    applications: list[Application] = field(default_factory=list)
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    regions: list[FakeRegion] = field(default_factory=list)

    def flags(self) -> list[str]:
        return [
            f"state_dir={self.state}",
            f"identity_dir={self.state.parent / 'identity-r1'}",
            "listen=127.0.0.1:0",
            *(f"{key}={value}" for key, value in self.overrides.items()),
        ]

    async def start(self, clock: Clock | None = None) -> Application:
        config = load(Config, flags=self.flags(), environment={})
        application = Application(config, clock=clock)
        await application.start()
        self.applications.append(application)
        return application

    async def spawn(self) -> tuple[asyncio.subprocess.Process, str]:
        """A process of its own; returns it with its address."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "federation",
            *(part for flag in self.flags() for part in ("--set", flag)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if not k.startswith("INTERTIE_")},
        )
        self.processes.append(process)
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 20)
        return process, str(json.loads(line)["address"])

    def channel(self, address: str, identity: str = "project/demo/ann") -> grpc.aio.Channel:
        path = self.pki.directory(identity)
        channel = open_channel(
            address,
            federation_dns_name(self.pki.trust_domain),
            channel_credentials(IdentityDirectory(path, self.pki.trust_domain).current),
            SystemClock(),
        )
        self.channels.append(channel)
        return channel

    def region(self, address: str, region: str = "eu", **more: Any) -> FakeRegion:
        """A scripted region under its own identity; `attach` begins its link."""
        channel = self.channel(address, f"{region}:scheduler")
        more.setdefault("log_vkey", "")
        made = FakeRegion(channel, region, **more)
        self.regions.append(made)
        return made

    def tasks(self, address: str, identity: str = "project/demo/ann") -> Any:
        return TaskServiceStub(self.channel(address, identity))

    async def close(self) -> None:
        for region in self.regions:
            await region.detach()
        for channel in self.channels:
            await channel.close()
        for application in self.applications:
            await application.stop()
        for process in self.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()


def make_spec(**changes: Any) -> TaskSpec:
    return TaskSpec(run=changes.pop("run", RunSpec(command=("true",))), **changes)


def make_request_id(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012x}"


def make_create(n: int = 1, *, parent: str = PARENT, **changes: Any) -> pb.CreateTaskRequest:
    return pb.CreateTaskRequest(
        parent=parent, spec=spec_to_pb(make_spec(**changes)), request_id=make_request_id(n)
    )


async def refusal_of(call: Any) -> IntertieError:
    """The error that a call ends with."""
    try:
        if hasattr(call, "__aiter__"):
            async for _ in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError as failure:
        return error_from_rpc(failure)
    raise AssertionError("the call was not refused")


async def reason_of(call: Any) -> Reason:
    return (await refusal_of(call)).reason


@pytest.fixture
def pki(tmp_path: Path) -> FederationPki:
    return federation_pki(tmp_path / "pki", regions=["eu", "us"])


@pytest.fixture
async def place(tmp_path: Path, pki: FederationPki) -> AsyncIterator[Place]:
    pki.directory("federation/r1", path=tmp_path / "identity-r1")
    place = Place(pki, tmp_path / "state")
    yield place
    await place.close()


@pytest.fixture
async def replica(place: Place) -> Application:
    return await place.start()


@pytest.fixture
async def eu(place: Place, replica: Application) -> FakeRegion:
    """An attached region that believes this federation's grants."""
    public = bytes.fromhex((place.state / "keys" / "grant.pub").read_text().strip())
    region = place.region(replica.address, grant_keys=(StatementKey(public),))
    await region.attach()
    return region


@pytest.fixture
def tasks(place: Place, replica: Application) -> Any:
    return place.tasks(replica.address)


@pytest.fixture
def create() -> Callable[..., pb.CreateTaskRequest]:
    return make_create


@pytest.fixture
def spec() -> Callable[..., TaskSpec]:
    return make_spec


@pytest.fixture
def request_id() -> Callable[[int], str]:
    return make_request_id


@pytest.fixture
def reason() -> Callable[[Any], Any]:
    return reason_of


@pytest.fixture
def refusal() -> Callable[[Any], Any]:
    return refusal_of
