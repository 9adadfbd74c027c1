"""A scripted federation over a real link: assigns what a test tells it to, remembers what it hears.

Answers leases by itself and closes ended runs; grants are signed by a real key over a real tree.
Must not be used where the real federation can run.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from intertie.api.federation.v1 import link_service_pb2 as pb
from intertie.api.federation.v1 import link_service_pb2_grpc as pb_grpc
from intertie.errors import IntertieError
from intertie.metering.dsse import StatementSigner
from intertie.metering.grant import Grant, sign_grants
from intertie.model.link import (
    Assign,
    AssignAck,
    Assignment,
    Bytes,
    FederationHello,
    FromFederation,
    FromRegion,
    LeaseGrant,
    LeaseRenew,
    Offer,
    ReadBytes,
    RegionHello,
    RunClosed,
    RunUpdate,
)
from intertie.model.names import TaskName, shard_of_id, task_id
from intertie.model.pool import Summary
from intertie.model.spec import TaskSpec
from intertie.model.states import RunState
from intertie.model.task import CheckpointRef
from intertie.model.token import Epoch
from intertie.ports import Clock
from intertie.transport.call import Context, caller
from intertie.wire.canonical import encode_spec, spec_sha256
from intertie.wire.link import federation_message_to_pb, region_message_from_pb

NEVER_MS = 1 << 50
PROJECT = "vision"
Altered = Callable[[Assign], Assign]

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Submitted:
    """What a test assigned."""

    task: str
    assign: Assign


class FakeFederation(pb_grpc.LinkServiceServicer):
    """See the module's text.

    Args:
        clock: for grants.
        lease_ms: length of the leases that it grants.
    """

    def __init__(self, clock: Clock, *, lease_ms: int = 20_000) -> None:
        self.signer = StatementSigner.from_seed(bytes(range(1, 33)))
        self.lease_ms = lease_ms
        self.closes_runs = True
        self.refuses_links: IntertieError | None = None
        self.hellos: list[RegionHello] = []
        self.heard: list[FromRegion] = []
        self.updates: dict[str, RunUpdate] = {}
        self._clock = clock
        self._out: dict[str, asyncio.Queue[FromFederation | None]] = {}
        self._reads: dict[int, asyncio.Future[Bytes]] = {}
        self._count = 0

    # --- what tests make it do -------------------------------------------------------------------

    def send(self, region: str, message: FromFederation) -> None:
        """Say anything to a region."""
        self._out[region].put_nowait(message)

    def cut(self, region: str) -> None:
        """End the stream of a region."""
        queue = self._out.get(region)
        if queue is not None:
            queue.put_nowait(None)

    def is_attached(self, region: str) -> bool:
        """Whether the region has a stream."""
        return region in self._out

    def new_task(self) -> str:
        """The name of a task that never was."""
        self._count += 1
        return str(TaskName(PROJECT, task_id(3, f"01890000-0000-7000-8000-{self._count:012x}")))

    def assign(
        self,
        region: str,
        spec: TaskSpec,
        *,
        task: str = "",
        epoch: Epoch = Epoch(1, 1),
        retries: int = 2,
        checkpoint: CheckpointRef | None = None,
        altered: Altered | None = None,
    ) -> Submitted:
        """Assign a task to a region; `altered` may spoil the message."""
        task = task or self.new_task()
        id_ = TaskName.parse(task).id
        grant = Grant(
            task=id_,
            epoch=str(epoch),
            region=region,
            project=PROJECT,
            payer=PROJECT,
            spec_sha256=spec_sha256(spec),
            maximum={"cpu.held_core_ms": 10**9, "mem.held_mib_ms": 10**12},
            price_version="p1",
            policy_sha256="0" * 64,
            not_after_ms=self._clock.now().utc_ms + 3_600_000,
        )
        (signed,) = sign_grants([grant.encode()], self.signer)
        assignment = Assignment(
            task=task,
            epoch=epoch,
            shard=shard_of_id(id_),
            shard_epoch=1,
            offer="",
            variant=0,
            local_retries=retries,
            attempts_left=2,
            index=0,
            spec=encode_spec(spec),
            principal="p-1",
            payer=PROJECT,
            checkpoint=checkpoint,
        )
        assign = Assign(
            assignment=assignment,
            grant=signed.grant,
            grant_index=signed.index,
            proof=signed.proof,
            envelope=signed.envelope,
        )
        if altered is not None:
            assign = altered(assign)
        self.send(region, assign)
        return Submitted(task, assign)

    async def read(self, region: str, question: ReadBytes) -> Bytes:
        """Read a chunk through the link."""
        self._count += 1
        future: asyncio.Future[Bytes] = asyncio.get_running_loop().create_future()
        self._reads[self._count] = future
        self.send(region, replace(question, id=self._count))
        return await asyncio.wait_for(future, 20)

    # --- what tests ask --------------------------------------------------------------------------

    def last(self, of_type: type[M]) -> M | None:
        """The newest message of a kind."""
        return next((m for m in reversed(self.heard) if isinstance(m, of_type)), None)

    def ack(self, task: str) -> AssignAck | None:
        """The newest answer to the assignment of a task."""
        acks = [m for m in self.heard if isinstance(m, AssignAck) and m.task == task]
        return acks[-1] if acks else None

    @property
    def summary(self) -> Summary | None:
        """The newest summary."""
        return self.last(Summary)

    @property
    def offer(self) -> Offer | None:
        """The newest offer."""
        return self.last(Offer)

    # --- the link --------------------------------------------------------------------------------

    async def Attach(  # noqa: N802 - the name of the method in the protocol
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: Context
    ) -> AsyncIterator[pb.AttachResponse]:
        """Serve a region."""
        del context
        requests = aiter(request_iterator)
        first = await anext(requests)
        if self.refuses_links is not None:
            raise self.refuses_links
        hello = region_message_from_pb(first.messages[0])
        assert isinstance(hello, RegionHello), "the first message is the hello"
        region = caller().region
        assert region is not None, "only regions attach"
        self.hellos.append(hello)
        queue: asyncio.Queue[FromFederation | None] = asyncio.Queue()
        self._out[region] = queue
        queue.put_nowait(FederationHello(replica="fake", software="fake", protocol=1, generation=1))
        reader = asyncio.create_task(self._hear(requests, queue))
        try:
            while (message := await queue.get()) is not None:
                yield pb.AttachResponse(messages=[federation_message_to_pb(message)])
        finally:
            reader.cancel()
            await asyncio.wait([reader])
            if self._out.get(region) is queue:
                del self._out[region]

    async def _hear(
        self,
        requests: AsyncIterator[pb.AttachRequest],
        queue: "asyncio.Queue[FromFederation | None]",
    ) -> None:
        try:
            async for request in requests:
                for envelope in request.messages:
                    self._one(queue, region_message_from_pb(envelope))
        finally:
            queue.put_nowait(None)

    def _one(self, queue: "asyncio.Queue[FromFederation | None]", message: FromRegion) -> None:
        self.heard.append(message)
        match message:
            case LeaseRenew(seq=seq):
                if self.lease_ms:
                    queue.put_nowait(LeaseGrant(seq=seq, lease_ms=self.lease_ms))
            case RunUpdate():
                self.updates[message.task] = message
                if message.state is RunState.ENDED and self.closes_runs:
                    queue.put_nowait(RunClosed(task=message.task, token=message.token))
            case Bytes() as chunk:
                future = self._reads.pop(chunk.id, None)
                if future is not None and not future.done():
                    future.set_result(chunk)
