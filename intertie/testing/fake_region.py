"""A scripted region: speaks LinkService to a real federation and runs nothing.

    region = FakeRegion(channel, "eu", "DE/DE-HE/fra1")
    await region.attach()                      hello, lease, summary; then it answers by itself
    run = await region.run_of(task_name)       accepted and told as RUNNING
    await region.end(run, Outcome.SUCCEEDED)

It keeps its runs over broken links, as a real one keeps them in its store. `silent` kinds of
messages are swallowed as if lost. Must not be used where the real regional service can run.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

import grpc.aio

from intertie.api.federation.v1 import link_service_pb2 as pb
from intertie.api.federation.v1.link_service_pb2_grpc import LinkServiceStub
from intertie.metering.dsse import StatementKey
from intertie.metering.grant import SignedGrant, verify_grant
from intertie.model.link import (
    Assign,
    AssignAck,
    Bytes,
    CancelRun,
    DigestEntry,
    DigestRequest,
    FederationHello,
    FromFederation,
    FromRegion,
    LeaseGrant,
    LeaseRenew,
    Offer,
    OfferRequest,
    ReadBytes,
    RegionHello,
    RunClosed,
    RunDigest,
    RunUpdate,
)
from intertie.model.names import TaskName
from intertie.model.pool import NodeClass, Summary
from intertie.model.spec import TaskSpec
from intertie.model.states import FailureClass, Outcome, RunState
from intertie.model.task import CheckpointRef, StoredFile
from intertie.model.token import Token
from intertie.testing.waiting import eventually
from intertie.transport.failure import told_why
from intertie.transport.versions import PROTOCOL_MAX, PROTOCOL_MIN, software
from intertie.wire.canonical import decode_spec
from intertie.wire.link import federation_message_from_pb, region_message_to_pb

WITHIN_S = 10.0

BEAT_S = 0.1
ROOMY = NodeClass(
    architecture="x86_64",
    nodes=100,
    max_cpu=64_000,
    max_memory=512 << 30,
    max_disk=1 << 40,
    free_cpu=6_400_000,
    free_memory=512 << 40,
)
"""A hundred large nodes that nothing runs on."""


@dataclass(frozen=True, slots=True)
class FakeRun:
    """A run that the region has accepted."""

    task: str
    token: Token
    spec: TaskSpec
    index: int
    grant_sha256: str
    state: RunState = RunState.QUEUED
    outcome: Outcome | None = None
    checkpoint: CheckpointRef | None = None
    outputs: tuple[StoredFile, ...] = ()


@dataclass(slots=True)
class FakeRegion:
    """See the module's text.

    Args:
        channel: to the federation, under the identity of the region's scheduler.
        region: its id.
        jurisdiction: where it is.
        incarnation: this life of it.
        log_vkey: the key of its metering log.
        features: optional parts of the protocol that it says it speaks.
        grant_keys: whose grants it believes; assignments with others are refused.
        runs_at_once: whether accepted runs are told as RUNNING at once.
        refusal: a reason with which every assignment is refused.
        silent: kinds of messages of the federation that it never gets.
        logs: bytes by task, stream or output path, for reads.
    """

    channel: grpc.aio.Channel
    region: str = "eu"
    jurisdiction: str = "DE/DE-HE/fra1"
    incarnation: str = "life-1"
    log_vkey: str = ""
    features: tuple[str, ...] = ()
    grant_keys: tuple[StatementKey, ...] = ()
    runs_at_once: bool = True
    refusal: str = ""
    silent: set[type] = field(default_factory=set)
    logs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    classes: tuple[NodeClass, ...] = (ROOMY,)
    protocol: tuple[int, int] = (PROTOCOL_MIN, PROTOCOL_MAX)
    runs: dict[str, FakeRun] = field(default_factory=dict)
    heard: list[FromFederation] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    welcome: FederationHello | None = None
    _revision: int = 0
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _call: "grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse] | None" = None
    _reader: "asyncio.Task[None] | None" = None
    _beating: "asyncio.Task[None] | None" = None

    # --- the link --------------------------------------------------------------------------------

    async def attach(self) -> None:
        """Dial, say hello, ask for a lease, say what there is. Raises what the federation says."""
        call = told_why(LinkServiceStub(self.channel).Attach())
        self._call = call
        await self._write(self._hello())
        first = await asyncio.wait_for(call.read(), WITHIN_S)
        if not isinstance(first, pb.AttachResponse):
            await call  # raises the status
            raise AssertionError("the federation ended the stream without a word")
        self._reader = asyncio.create_task(self._read(call), name=f"fake region {self.region}")
        for envelope in first.messages:
            await self._on(federation_message_from_pb(envelope))
        await self.summarise()
        await self.send(LeaseRenew(seq=1))
        await eventually(self._is_settled, WITHIN_S, what="the lease after the hello")
        self._beating = asyncio.create_task(self._beat(call), name=f"beat of {self.region}")

    async def detach(self) -> None:
        """Drop the link without a word; idempotent."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
            self._beating = None
        if self._call is not None:
            self._call.cancel()
        if self._reader is not None:
            with suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
                await self._reader
        self._call = self._reader = None

    async def ended(self) -> grpc.aio.AioRpcError | None:
        """Wait for the federation to end the link; how it did."""
        assert self._reader is not None, "not attached"
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), WITHIN_S)
        except grpc.aio.AioRpcError as failure:
            return failure
        return None

    async def send(self, message: FromRegion) -> None:
        """Say something."""
        await self._write(message)

    async def summarise(self) -> None:
        """Advertise what there is."""
        self._revision += 1
        await self.send(
            Summary(
                region=self.region,
                incarnation=self.incarnation,
                revision=self._revision,
                jurisdiction=self.jurisdiction,
                classes=self.classes,
            )
        )

    # --- runs ------------------------------------------------------------------------------------

    async def run_of(self, task: str, n: int = 0) -> FakeRun:
        """Wait until a run of this task was assigned here (the n-th, or any)."""

        def here() -> FakeRun | None:
            run = self.runs.get(task)
            return run if run is not None and n in (0, run.token.epoch.n) else None

        found = await eventually(here, WITHIN_S, what=f"a run of {task}")
        assert found is not None, "eventually returns what is true"
        return found

    async def tell(self, task: str, **changes: object) -> FakeRun:
        """Change a run and tell the federation."""
        run = replace(self.runs[task], **changes)  # type: ignore[arg-type] # checked by replace
        self.runs[task] = run
        await self._tell(run)
        return run

    async def end(
        self,
        task: str,
        outcome: Outcome = Outcome.SUCCEEDED,
        *,
        outputs: Mapping[str, bytes] | None = None,
        failure: FailureClass | None = None,
    ) -> None:
        """End a run; the federation closes it in its own time."""
        files = []
        for path, data in (outputs or {}).items():
            self.logs[task, path] = data
            files.append(StoredFile(path=path, sha256="0" * 64, size=len(data)))
        run = replace(self.runs[task], state=RunState.ENDED, outcome=outcome, outputs=tuple(files))
        self.runs[task] = run
        await self._tell(run, failure)

    def heard_of(self, kind: type[FromFederation]) -> list[FromFederation]:
        """All messages of a kind so far."""
        return [message for message in self.heard if isinstance(message, kind)]

    # --- inside ----------------------------------------------------------------------------------

    def _is_settled(self) -> bool:
        """Whether what belongs to attaching was said and answered.

        A stream that the other side ends while we write shows a fault of ours instead of theirs.
        """
        over = self._reader is None or self._reader.done()
        answered = bool(self.heard_of(LeaseGrant)) and not self._writing.locked()
        return over or answered

    def _hello(self) -> RegionHello:
        return RegionHello(
            region=self.region,
            incarnation=self.incarnation,
            jurisdiction=self.jurisdiction,
            software=software(),
            protocol_min=self.protocol[0],
            protocol_max=self.protocol[1],
            log_vkey=self.log_vkey,
            features=self.features,
        )

    async def _beat(
        self, call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse]
    ) -> None:
        """Speak now and then, as a region does: one that says nothing is taken for frozen."""
        while not call.done() and self._call is call:
            await asyncio.sleep(BEAT_S)
            await self.summarise()

    async def _write(self, message: FromRegion) -> None:
        request = pb.AttachRequest(messages=[region_message_to_pb(message)])
        async with self._writing:  # grpc takes one write of a call at a time
            if self._call is not None:
                with suppress(asyncio.InvalidStateError, grpc.aio.AioRpcError):
                    await self._call.write(request)  # why it failed is told to the reader

    async def _read(
        self, call: "grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse]"
    ) -> None:
        # Not `async for`: grpc.aio allows one way of reading a call, and `attach` has read.
        while isinstance(response := await call.read(), pb.AttachResponse):
            for envelope in response.messages:
                message = federation_message_from_pb(envelope)
                if type(message) not in self.silent:
                    await self._on(message)

    async def _on(self, message: FromFederation) -> None:
        self.heard.append(message)
        match message:
            case FederationHello():
                self.welcome = message
            case OfferRequest():
                await self._offer(message)
            case Assign():
                await self._assigned(message)
            case CancelRun():
                await self._cancel(message)
            case DigestRequest():
                await self._digest(message)
            case RunClosed():
                self.closed.add(message.task)
                self.runs.pop(message.task, None)
            case ReadBytes():
                await self.send(self._chunk(message))
            case _:
                pass  # leases and let-go offers ask for no answer

    async def _offer(self, request: OfferRequest) -> None:
        await self.send(
            Offer(
                id=request.id,
                units=request.count,
                units_now=request.count,
                expected_wait_ms=0,
                hold_ms=request.hold_ms,
                incarnation=self.incarnation,
            )
        )

    async def _assigned(self, message: Assign) -> None:
        assignment = message.assignment
        standing = self.runs.get(assignment.task)
        if standing is not None and standing.token.epoch == assignment.epoch:
            await self._ack(message, "")
            await self._tell(standing)
            return
        signed = SignedGrant(message.grant, message.grant_index, message.proof, message.envelope)
        grant = verify_grant(signed, self.grant_keys) if self.grant_keys else None
        if grant is not None:
            assert grant.task == TaskName.parse(assignment.task).id, "a grant of another task"
            assert grant.region == self.region, "a grant of another region"
        if self.refusal:
            await self._ack(message, self.refusal)
            return
        run = FakeRun(
            task=assignment.task,
            token=Token(assignment.epoch, 1),
            spec=decode_spec(assignment.spec),
            index=assignment.index,
            grant_sha256=grant.sha256 if grant is not None else "",
            checkpoint=assignment.checkpoint,
        )
        self.runs[run.task] = run
        await self._ack(message, "")
        await self._tell(run)
        if self.runs_at_once:
            await self.tell(run.task, state=RunState.RUNNING)

    async def _ack(self, message: Assign, reason: str) -> None:
        await self.send(
            AssignAck(
                task=message.assignment.task,
                epoch=message.assignment.epoch,
                accepted=not reason,
                reason=reason,
            )
        )

    async def _cancel(self, cancel: CancelRun) -> None:
        run = self.runs.get(cancel.task)
        if run is None or run.token.epoch != cancel.epoch:
            await self.send(
                AssignAck(task=cancel.task, epoch=cancel.epoch, accepted=False, reason="CANCELLED")
            )
        elif run.state is RunState.ENDED:
            await self._tell(run)
        else:
            outcome = Outcome.EVICTED if cancel.evict else Outcome.CANCELLED
            outcome = Outcome.SUPERSEDED if cancel.superseded else outcome
            await self.end(cancel.task, outcome)

    async def _digest(self, request: DigestRequest) -> None:
        entries = tuple(
            DigestEntry(task=run.task, token=run.token, state=run.state, revision=1)
            for run in self.runs.values()
        )
        await self.send(RunDigest(id=request.id, entries=entries, last=True))

    async def _tell(self, run: FakeRun, failure: FailureClass | None = None) -> None:
        self._revision += 1
        await self.send(
            RunUpdate(
                task=run.task,
                token=run.token,
                revision=self._revision,
                state=run.state,
                outcome=run.outcome,
                node="n1" if run.state is not RunState.QUEUED else "",
                placements=1,
                failure_class=failure,
                exit_code=0 if run.outcome is Outcome.SUCCEEDED else None,
                checkpoint=run.checkpoint,
                outputs=run.outputs,
            )
        )

    def _chunk(self, request: ReadBytes) -> Bytes:
        data = self.logs.get((request.task, request.path or request.stream))
        if data is None:
            return _no_bytes(request)
        start = request.offset if request.offset >= 0 else max(0, len(data) + request.offset)
        chunk = data[start : start + request.limit]
        run = self.runs.get(request.task)
        over = run is None or run.state is RunState.ENDED
        return Bytes(
            id=request.id,
            data=chunk,
            offset=start,
            next_offset=start + len(chunk),
            final=over and start + len(chunk) >= len(data),
        )


def _no_bytes(request: ReadBytes) -> Bytes:
    return Bytes(
        id=request.id,
        data=b"",
        offset=0,
        next_offset=0,
        final=True,
        error="NOT_FOUND",
        error_message=f"{request.task} has no {request.path or request.stream}",
    )
