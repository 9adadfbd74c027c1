"""A real replica and a scripted region in a thread of their own; the command line beside them.

The command line and the client run their own event loops, as for a user, so the servers have
another one. One federation serves a module: tests tell their tasks apart by name.
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import grpc.aio
import pytest
from typer.testing import CliRunner, Result

from federation.app import Application
from federation.config import Config
from intertie.api.metering.v1 import metering_service_pb2 as pb
from intertie.api.metering.v1.metering_service_pb2_grpc import MeteringServiceStub
from intertie.cli.app import app
from intertie.clock import SystemClock
from intertie.config import load
from intertie.metering import canonical, records
from intertie.metering.dsse import StatementKey
from intertie.metering.log.checkpoint import Checkpoint, sign
from intertie.metering.log.merkle import CompactRange, consistency_proof, leaf_hash, nodes_of
from intertie.metering.log.note import Signer
from intertie.metering.log.witness import build_request
from intertie.model.link import LeaseRenew
from intertie.model.meters import HOUR_MS
from intertie.model.names import TaskName
from intertie.model.states import Outcome, RunState
from intertie.model.task import StoredFile
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import federation_dns_name
from intertie.sdk.client import Client
from intertie.sdk.connection import Patience
from intertie.sdk.contexts import Context, Contexts
from intertie.testing.fake_region import FakeRegion, FakeRun
from intertie.testing.pki import FederationPki, federation_pki
from intertie.testing.waiting import eventually_sync, let_pass
from intertie.transport.channel import open_channel
from intertie.transport.credentials import channel_credentials

T = TypeVar("T")
WITHIN_S = 20.0
BEAT_S = 0.5
NOOP = 'name: {name}\nrun: {{command: ["true"]}}\n'


class Background:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="servers")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WITHIN_S)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


PRICES = {
    "type": "intertie.prices/v1",
    "version": "test-1",
    "currency": "EUR",
    "minor_digits": 2,
    "meters": ["cpu.held_core_ms"],
    "units": [3],
    "nanos": [600_000_000],
}


@dataclass
class MeteringLog:
    """The region's log: leaves sealed as a sequencer would, pushed and cosigned for real."""

    origin: str = "intertie.example/region/eu/metering"
    leaves: list[bytes] = field(default_factory=list)
    cosigned: int = 0

    @property
    def signer(self) -> Signer:
        return Signer.from_seed(self.origin, b"\x07" * 32)

    def append(self, body: records.Body, **changes: Any) -> int:
        seq = len(self.leaves)
        now_ms = SystemClock().now().utc_ms
        salt = hashlib.sha256(b"%d" % seq).hexdigest()[:32]
        fields = dict(body) | {"seq": seq, "recorded_ms": now_ms, "salt": salt} | changes
        self.leaves.append(canonical.encode(fields))
        return seq

    def usage(self, run: FakeRun, quantity: int, interval: int = 1, **changes: Any) -> int:
        """A record of held cores under the run's real grant, ten minutes ago."""
        name = TaskName.parse(run.task)
        start_ms = (SystemClock().now().utc_ms // HOUR_MS - 1) * HOUR_MS + interval * 60_000
        who = {"project": name.project, "payer": name.project, "grant_sha256": run.grant_sha256}
        key = records.RunKey(
            region="eu",
            principal="p-1",
            task=name.id,
            run=str(run.token),
            rank=0,
            node="n1",
            **(who | changes),
        )
        span = records.Span(start_ms, start_ms + 60_000, 60_000)
        body = records.usage(
            key, span, meter="cpu.held_core_ms", interval=interval, quantity=quantity
        )
        return self.append(body)

    async def publish(self, channel: grpc.aio.Channel) -> None:
        """Push what is new, and have the checkpoint cosigned."""
        stub = MeteringServiceStub(channel)
        entries = self.leaves[self.cosigned :]
        push = pb.PushEntriesRequest(origin=self.origin, start=self.cosigned, entries=entries)
        await stub.PushEntries(push)
        hashes = [leaf_hash(leaf) for leaf in self.leaves]
        node = nodes_of(hashes)
        size = len(hashes)
        head = Checkpoint(self.origin, size, CompactRange().extend(hashes).root())
        proof = consistency_proof(node, self.cosigned, size)
        body = build_request(self.cosigned, proof, sign(head, self.signer))
        answer = await stub.AddLogCheckpoint(pb.AddLogCheckpointRequest(body=body))
        assert answer.status == 200, answer
        self.cosigned = size


@dataclass
class Place:
    """The federation with its region, and everything that a test does to them."""

    pki: FederationPki
    path: Path
    background: Background
    application: Application | None = None
    region: FakeRegion | None = None
    living: "asyncio.Task[None] | None" = None
    port: str = "127.0.0.1:0"
    identities: dict[str, Path] = field(default_factory=dict)
    log: MeteringLog = field(default_factory=MeteringLog)
    commands: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))

    # --- servers ---------------------------------------------------------------------------------

    def start(self) -> None:
        self.background.run(self._start())

    async def _start(self) -> None:
        (self.path / "prices.json").write_text(json.dumps(PRICES))
        flags = [
            f"state_dir={self.path / 'state'}",
            f"identity_dir={self.path / 'identity-r1'}",
            f"listen={self.port}",
            f"prices_file={self.path / 'prices.json'}",
            "timing.beat=500ms",
            "timing.lease=10s",
            "timing.delta=100ms",
            "timing.unknown_after=5s",
        ]
        self.application = Application(load(Config, flags=flags, environment={}))
        await self.application.start()
        self.port = self.application.address

    def stop(self) -> None:
        self.background.run(self._stop())

    async def _stop(self) -> None:
        if self.living is not None:
            self.living.cancel()
            await asyncio.gather(self.living, return_exceptions=True)
        if self.region is not None:
            await self.region.detach()
        assert self.application is not None
        await self.application.stop()

    def attach(self) -> None:
        """(Re-)attach the region, with the runs that it has."""
        self.background.run(self._attach())

    async def _attach(self) -> None:
        public = (self.path / "state" / "keys" / "grant.pub").read_text().strip()
        channel = open_channel(
            self.port,
            federation_dns_name(self.pki.trust_domain),
            channel_credentials(
                IdentityDirectory(self.identity("eu:scheduler"), self.pki.trust_domain).current
            ),
            SystemClock(),
        )
        if self.region is None:
            self.region = FakeRegion(
                channel,
                "eu",
                grant_keys=(StatementKey(bytes.fromhex(public)),),
                log_vkey=self.log.signer.key.vkey,
            )
        self.region.channel = channel
        await self.region.attach()
        self.living = asyncio.create_task(self._live())

    async def _live(self) -> None:
        """Renew the lease and the summary, as a region does."""
        assert self.region is not None
        for seq in count(2):
            await let_pass(BEAT_S, "the beat of a region")
            await self.region.send(LeaseRenew(seq=seq))
            await self.region.summarise()

    def identity(self, name: str) -> Path:
        if name not in self.identities:
            self.identities[name] = self.pki.directory(name)
        return self.identities[name]

    # --- the region ------------------------------------------------------------------------------

    def run_of(self, task: str, n: int = 0) -> FakeRun:
        assert self.region is not None
        return self.background.run(self.region.run_of(task, n))

    def write(self, task: str, stream: str, data: bytes) -> None:
        """Let the task have written so much in all."""
        assert self.region is not None
        self.region.logs[task, stream] = data

    def tell(self, task: str, **changes: Any) -> None:
        assert self.region is not None
        self.background.run(self.region.tell(task, **changes))

    def end(
        self,
        task: str,
        outcome: Outcome = Outcome.SUCCEEDED,
        outputs: dict[str, bytes] | None = None,
    ) -> None:
        files = []
        for path, data in (outputs or {}).items():
            self.write(task, path, data)
            digest = hashlib.sha256(data).hexdigest()
            files.append(StoredFile(path=path, sha256=digest, size=len(data)))
        self.run_of(task)
        self.tell(task, state=RunState.ENDED, outcome=outcome, outputs=tuple(files))

    def publish(self) -> None:
        """Bring the log's new leaves to the federation."""
        assert self.region is not None
        self.background.run(self.log.publish(self.region.channel))

    # --- clients ---------------------------------------------------------------------------------

    def client(self, identity: str = "project/demo/ann", **options: Any) -> Client:
        options.setdefault("patience", Patience(retry_s=10.0, stream_s=20.0))
        context = self.contexts(identity).get("test")
        return Client(context.federation(), project=context.project, **options)

    def contexts(self, identity: str = "project/demo/ann") -> Contexts:
        context = Context(name="test", endpoint=self.port, identity=str(self.identity(identity)))
        return Contexts(self.path / "config.toml", "test", {"test": context})

    def cli(
        self,
        *arguments: str,
        identity: str = "project/demo/ann",
        stdin: str = "",
        config: Path | None = None,
    ) -> Result:
        """Run the command line in this process, with an identity or with a configuration."""
        own = self.path / f"config-{identity.replace('/', '-').replace(':', '-')}.toml"
        Contexts(own, "test", self.contexts(identity).by_name).save()
        environment = {"INTERTIE_CONFIG": str(config or own)}
        # In a thread: asyncio.run would forget the loop that pytest-asyncio keeps for the main one.
        invoked = self.commands.submit(
            CliRunner().invoke, app, list(arguments), input=stdin, env=environment
        )
        return invoked.result(60)

    def ok(self, *arguments: str, **options: Any) -> str:
        """Run the command line, which must succeed, and return its stdout."""
        result = self.cli(*arguments, **options)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: str, **options: Any) -> Any:
        return json.loads(self.ok(*arguments, "-o", "json", **options))

    def task_file(self, name: str, text: str = NOOP) -> str:
        path = self.path / f"{name}.yaml"
        path.write_text(text.format(name=name))
        return str(path)

    def submit(self, name: str, *arguments: str, text: str = NOOP) -> str:
        """Submit a task by the command line and return its full name."""
        return self.ok("submit", self.task_file(name, text), "-q", *arguments).strip()

    def settled(self, task: str) -> dict[str, Any]:
        """Wait until the task is in a final state."""

        def final() -> dict[str, Any] | None:
            shown: dict[str, Any] = self.json("task", "show", task)
            state = shown["state"].removeprefix("TASK_STATE_")
            return shown if state in ("SUCCEEDED", "FAILED", "CANCELLED") else None

        found = eventually_sync(final, WITHIN_S, what=f"the end of {task}")
        assert found is not None
        return found


@pytest.fixture(scope="module")
def background() -> Iterator[Background]:
    background = Background()
    yield background
    background.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, background: Background) -> Iterator[Place]:
    path = tmp_path_factory.mktemp("federation")
    pki = federation_pki(path / "pki", regions=["eu"])
    pki.directory("federation/r1", path=path / "identity-r1")
    place = Place(pki, path, background)
    place.start()
    place.attach()
    yield place
    place.stop()
    place.commands.shutdown()


@pytest.fixture
def lines_of() -> Any:
    def lines_of(text: str) -> Sequence[list[str]]:
        return [line.split() for line in text.splitlines() if line.strip()]

    return lines_of
