"""A scripted region: speaks AgentLinkService and BlobService to real agents over real mTLS.

    region = ScriptedRegion(pki, tmp_path / "blobs")
    await region.up()
    await region.attached("n1")
    region.send("n1", order("projects/p/tasks/...", ["true"]))
    end = await region.ended("n1", task)

It keeps its books as a real region does: samples by number and once, checkpoints by
compare-and-swap, an end only after its samples; what breaks a rule is a failed assertion in
`faults`. What it answers can be switched off, as if answers were lost. Must not be used where the
real regional service can run.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intertie.api.agent.v1 import link_pb2
from intertie.api.agent.v1 import link_service_pb2 as pb
from intertie.api.agent.v1 import link_service_pb2_grpc as pb_grpc
from intertie.api.federation.v1.blob_service_pb2_grpc import add_BlobServiceServicer_to_server
from intertie.clock import SystemClock, SystemIds
from intertie.errors import Reason, error
from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentBytes,
    AgentHello,
    AgentLease,
    AgentRead,
    AgentRunUpdate,
    AgentWelcome,
    Beat,
    CheckpointOffer,
    CheckpointVerdict,
    FromAgent,
    FromRegionToAgent,
    StartRun,
    StopRun,
    UsageSample,
)
from intertie.model.states import Outcome, RunState
from intertie.model.task import CheckpointRef
from intertie.model.token import Epoch, Token
from intertie.pki.load import IdentityDirectory
from intertie.pki.spiffe import Role
from intertie.store.blobs import BlobStore
from intertie.telemetry.registry import Metrics
from intertie.testing.pki import FederationPki
from intertie.testing.waiting import eventually
from intertie.transport.blobs import BlobServicer
from intertie.transport.call import Context
from intertie.transport.methods import METHODS
from intertie.transport.outbox import Outbox
from intertie.transport.server import Server
from intertie.wire.agent import agent_message_from_pb, scheduler_message_to_pb

_BLOBS = "/intertie.api.federation.v1.BlobService/"
WITHIN_S = 20.0


@dataclass(slots=True)
class Books:
    """What a region keeps of one run."""

    updates: list[AgentRunUpdate] = field(default_factory=list)
    samples: list[UsageSample] = field(default_factory=list)
    offers: list[CheckpointOffer] = field(default_factory=list)
    checkpoint: CheckpointRef | None = None
    end: AgentRunUpdate | None = None
    ends: int = 0
    """Ends that were told, repetitions included."""

    @property
    def states(self) -> list[RunState]:
        """Distinct states in the order in which they were told."""
        return [state for state, _ in itertools.groupby(u.state for u in self.updates)]

    @property
    def run_ms(self) -> int:
        """What all samples add up to."""
        return sum(sample.boot_ms for sample in self.samples)


@dataclass(slots=True)
class _Link:
    hello: AgentHello
    outbox: Outbox[link_pb2.SchedulerMessage]


class ScriptedRegion(pb_grpc.AgentLinkServiceServicer):
    """See the module's text.

    Args:
        pki: whose regional CA issues our identity.
        blobs: folder of the blob root.
        region: our id.
        lease_ms: what beats are answered with.
        beat_ms: how often agents beat.
    """

    def __init__(
        self,
        pki: FederationPki,
        blobs: Path,
        *,
        region: str = "eu",
        jurisdiction: str = "DE/DE-HE/fra1",
        lease_ms: int = 6_000,
        beat_ms: int = 200,
    ) -> None:
        self.blobs = BlobStore(str(blobs))
        self.lease_ms = lease_ms
        self.answers_beats = True
        self.acknowledges = True
        self.settles_checkpoints = True
        self.faults: list[str] = []
        self.hellos: list[AgentHello] = []
        self.heard: list[FromAgent] = []
        self.books: dict[tuple[str, Token], Books] = {}
        self._pki = pki
        self._identity = pki.directory(f"{region}:scheduler")
        self._region = region
        self._jurisdiction = jurisdiction
        self._beat_ms = beat_ms
        self._links: dict[str, _Link] = {}
        self._reads: dict[int, asyncio.Future[AgentBytes]] = {}
        self._ids = itertools.count(1)
        self._lives = itertools.count(1)
        self._server: Server | None = None
        self._life = 0
        self.port = 0

    # --- life ------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """Where it serves; the same after a restart."""
        return f"127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Serve; again on the same port after `down`."""
        nodes = frozenset({Role.NODE})
        server = Server(
            IdentityDirectory(self._identity, self._pki.trust_domain),
            self._pki.check(),
            clock=SystemClock(),
            ids=SystemIds(),
            metrics=Metrics(),
            methods={
                **METHODS,
                **{_BLOBS + name: nodes for name in ("UploadBlob", "StatBlobs", "ReadBlob")},
            },
            home_region=self._region,
        )
        pb_grpc.add_AgentLinkServiceServicer_to_server(self, server)
        add_BlobServiceServicer_to_server(BlobServicer(self.blobs), server)
        self.port = server.listen(f"127.0.0.1:{self.port}")
        await server.start()
        self._server = server
        self._life = next(self._lives)

    async def down(self) -> None:
        """Stop serving, as a crash looks from outside; the books stay."""
        if self._server is not None:
            for link in self._links.values():
                link.outbox.close(error(Reason.SHUTTING_DOWN, "The region is stopping."))
            await self._server.stop(0)
            self._server = None

    # --- orders ----------------------------------------------------------------------------------

    def send(self, node: str, message: FromRegionToAgent) -> None:
        """Send one message to an attached node."""
        self._links[node].outbox.put(scheduler_message_to_pb(message))

    def stop_run(
        self,
        node: str,
        order: StartRun,
        *,
        outcome: Outcome = Outcome.CANCELLED,
        notice_ms: int = 5_000,
    ) -> None:
        """Stop a run."""
        stop = StopRun(
            task=order.task,
            token=order.token,
            outcome=outcome,
            reason="the test says so",
            notice_ms=notice_ms,
        )
        self.send(node, stop)

    async def read(self, node: str, order: StartRun, stream: str, **changes: int) -> AgentBytes:
        """Read a chunk of a live log."""
        number = next(self._ids)
        future: asyncio.Future[AgentBytes] = asyncio.get_running_loop().create_future()
        self._reads[number] = future
        bounds = {"offset": 0, "limit": 65_536, "wait_ms": 0, **changes}
        self.send(
            node, AgentRead(id=number, task=order.task, run=order.run, stream=stream, **bounds)
        )
        return await asyncio.wait_for(future, WITHIN_S)

    # --- what tests ask --------------------------------------------------------------------------

    def is_attached(self, node: str) -> bool:
        """Whether a node's link stands."""
        link = self._links.get(node)
        return link is not None and not link.outbox.is_closed

    async def attached(self, node: str) -> None:
        """Wait for a node."""
        await eventually(lambda: self.is_attached(node), WITHIN_S, what=f"{node} attaches")

    async def detached(self, node: str) -> None:
        """Wait until a node is gone."""
        await eventually(lambda: not self.is_attached(node), WITHIN_S, what=f"{node} detaches")

    def book(self, order: StartRun) -> Books:
        """The books of a run."""
        return self.books.setdefault((order.task, order.token), Books())

    async def told(self, order: StartRun, state: RunState) -> AgentRunUpdate:
        """Wait until a state of a run was told."""

        def found() -> AgentRunUpdate | None:
            updates = self.book(order).updates
            return next((update for update in updates if update.state is state), None)

        update = await eventually(found, WITHIN_S, what=f"{order.task} is told {state}")
        assert update is not None, "eventually returns something true"
        return update

    async def ended(self, order: StartRun, within_s: float = WITHIN_S) -> AgentRunUpdate:
        """Wait for the end of a run."""
        book = self.book(order)
        end = await eventually(lambda: book.end, within_s, what=f"{order.task} ends")
        assert end is not None, "eventually returns something true"
        assert not self.faults, self.faults
        return end

    async def committed(self, order: StartRun, step: int) -> CheckpointRef:
        """Wait until a checkpoint of at least a step is committed."""
        book = self.book(order)
        await eventually(
            lambda: book.checkpoint is not None and book.checkpoint.step >= step,
            WITHIN_S,
            what=f"{order.task} commits step {step}",
        )
        assert book.checkpoint is not None, "just seen"
        return book.checkpoint

    # --- the service -----------------------------------------------------------------------------

    async def Attach(  # noqa: N802 - the name of the method in the protocol
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: Context
    ) -> AsyncIterator[pb.AttachResponse]:
        """One link."""
        del context
        requests = aiter(request_iterator)
        first = await anext(requests)
        hello = agent_message_from_pb(first.messages[0])
        assert isinstance(hello, AgentHello), "the first message is the hello"
        link = self._open(hello)
        reader = asyncio.create_task(self._read(link, first, requests))
        try:
            async for batch in link.outbox.batches():
                yield pb.AttachResponse(messages=batch)
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            link.outbox.close()
        if link.outbox.fault is not None:
            raise link.outbox.fault

    def _open(self, hello: AgentHello) -> _Link:
        before = self._links.get(hello.node)
        if before is not None and not before.outbox.is_closed:
            if before.hello.incarnation != hello.incarnation:
                raise error(Reason.SESSION_TAKEN, f"{hello.node} is attached already.")
            before.outbox.close()
        link = _Link(hello, Outbox())
        self._links[hello.node] = link
        self.hellos.append(hello)
        welcome = AgentWelcome(
            region=self._region,
            incarnation=f"r{self._life}",
            software="1",
            protocol=1,
            beat_ms=self._beat_ms,
            jurisdiction=self._jurisdiction,
        )
        link.outbox.put(scheduler_message_to_pb(welcome))
        return link

    async def _read(
        self, link: _Link, first: pb.AttachRequest, requests: AsyncIterator[pb.AttachRequest]
    ) -> None:
        try:
            for envelope in first.messages[1:]:
                self._hear(link, agent_message_from_pb(envelope))
            async for request in requests:
                for envelope in request.messages:
                    self._hear(link, agent_message_from_pb(envelope))
        except AssertionError as fault:
            self.faults.append(str(fault))
        finally:
            link.outbox.close()

    def _hear(self, link: _Link, message: FromAgent) -> None:
        self.heard.append(message)
        match message:
            case Beat(seq=seq):
                if self.answers_beats:
                    self._say(link, AgentLease(seq=seq, lease_ms=self.lease_ms))
            case AgentRunUpdate():
                self._updated(link, message)
            case UsageSample():
                self._sampled(link, message)
            case CheckpointOffer():
                self._offered(link, message)
            case AgentBytes(id=number):
                future = self._reads.pop(number, None)
                if future is not None and not future.done():
                    future.set_result(message)
            case _:
                raise AssertionError(f"unexpected {type(message).__name__}")

    def _say(self, link: _Link, message: FromRegionToAgent) -> None:
        link.outbox.put(scheduler_message_to_pb(message))

    def _updated(self, link: _Link, update: AgentRunUpdate) -> None:
        book = self.books.setdefault((update.task, update.token), Books())
        book.updates.append(update)
        if update.state is not RunState.ENDED:
            assert book.end is None, f"{update.task} is {update.state} after its end"
            return
        book.ends += 1
        assert book.end in (None, update), f"{update.task} has two different ends"
        assert book.samples, f"{update.task} ended without a sample"
        assert book.samples[-1].final, f"{update.task} ended before its last sample"
        assert book.run_ms == update.boot_ms, (
            f"{update.task}: samples of {book.run_ms} ms, run time {update.boot_ms} ms"
        )
        if self.acknowledges:
            book.end = update
            self._say(link, AckRun(task=update.task, token=update.token))

    def _sampled(self, link: _Link, sample: UsageSample) -> None:
        book = self.books.setdefault((sample.task, sample.token), Books())
        if sample.interval <= len(book.samples):
            assert book.samples[sample.interval - 1] == sample, f"{sample} changed"
        else:
            assert sample.interval == len(book.samples) + 1, f"a gap before {sample}"
            if not self.acknowledges:
                return
            before = book.samples[-1] if book.samples else None
            assert before is None or before.end_ms == sample.start_ms, f"{sample} does not follow"
            book.samples.append(sample)
        if self.acknowledges:
            ack = AckUsage(task=sample.task, token=sample.token, interval=sample.interval)
            self._say(link, ack)

    def _offered(self, link: _Link, offer: CheckpointOffer) -> None:
        book = self.books.setdefault((offer.task, offer.token), Books())
        book.offers.append(offer)
        if not self.settles_checkpoints:
            return
        old = book.checkpoint
        if old is None or offer.step > old.step:
            book.checkpoint = CheckpointRef(
                step=offer.step,
                manifest=offer.manifest,
                size=offer.size,
                token=offer.token,
                committed_ms=SystemClock().now().utc_ms,
            )
        self._say(
            link,
            CheckpointVerdict(task=offer.task, token=offer.token, step=offer.step, committed=True),
        )


def start_order(
    task: str,
    command: list[str] | tuple[str, ...],
    *,
    n: int = 1,
    sub: int = 1,
    env: Mapping[str, str] | None = None,
    **changes: Any,  # noqa: ANN401 - fields of StartRun
) -> StartRun:
    """A StartRun with the defaults of a small task, as `regional.domain.nodes.orders` makes it."""
    fields: dict[str, Any] = {
        "task": task,
        "run": n,
        "token": Token(Epoch(1, n), sub),
        "index": 0,
        "rank": 0,
        "nodes": 1,
        "command": tuple(command),
        "shell": False,
        "env": {
            **(env or {}),
            "INTERTIE_TASK": task,
            "INTERTIE_RUN": str(n),
            "INTERTIE_ARRAY_INDEX": "0",
            "INTERTIE_NODES": "1",
            "INTERTIE_NODE_RANK": "0",
        },
        "files": (),
        "modes": (),
        "outputs": (),
        "cpu": 500,
        "memory": 256 << 20,
        "disk": 64 << 20,
        "devices": (),
        "timeout_ms": 0,
        "is_move": False,
        "lease_ms": 0,
        "checkpoint_interval_ms": 0,
        "checkpoint": None,
    }
    return StartRun(**{**fields, **changes})
