"""A scripted agent over a real link: attaches to a region, starts what it is told to start.

Runs are not processes: a test ends them by `end`. It keeps what was not acknowledged and sends it
again after each attach, as the real agent does, so that a region can be killed under it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import grpc.aio

from intertie.api.agent.v1 import link_service_pb2 as pb
from intertie.api.agent.v1.link_service_pb2_grpc import AgentLinkServiceStub
from intertie.errors import IntertieError
from intertie.model.agentlink import (
    AckRun,
    AckUsage,
    AgentBytes,
    AgentHello,
    AgentRead,
    AgentRun,
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
from intertie.model.pool import NodeCapability
from intertie.model.states import RunState
from intertie.model.task import StoredFile
from intertie.model.token import Token
from intertie.ports import Clock
from intertie.transport.channels import Channels
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc, told_why
from intertie.wire.agent import agent_message_to_pb, scheduler_message_from_pb

RETRY_S = 0.05
SMALL = NodeCapability(cpu=4_000, memory=8 << 30, disk=64 << 30, architecture="x86_64")

Run = tuple[str, Token]
Call = grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse]


@dataclass(slots=True)
class Held:
    """A run that the agent has, until its end is acknowledged."""

    order: StartRun
    state: RunState = RunState.STARTING
    started_ms: int = 0
    intervals: int = 0
    unacked: list[UsageSample] = field(default_factory=list)
    end: AgentRunUpdate | None = None


class FakeAgent:
    """See the module's text.

    Args:
        node: its id, as in its certificate.
        target: where the region serves; a function, as its port may change.
        server_name: the name that the region proves.
        channels: of the node's identity.
        clock: instants of updates.
        capability: what it has.
    """

    def __init__(
        self,
        node: str,
        target: Callable[[], str],
        server_name: str,
        channels: Channels,
        clock: Clock,
        *,
        capability: NodeCapability = SMALL,
    ) -> None:
        self.node = node
        self.capability = capability
        self.incarnation = f"{node}-1"
        self.keeper = "k1"
        self.boot_id = "boot-1"
        self.site = ""
        self.runs: dict[Run, Held] = {}
        self.logs: dict[str, bytes] = {}
        self.heard: list[FromRegionToAgent] = []
        self.verdicts: list[CheckpointVerdict] = []
        self.welcome: AgentWelcome | None = None
        self.problem: IntertieError | None = None
        self.starts_runs = True
        self._target = target
        self._server_name = server_name
        self._channels = channels
        self._clock = clock
        self._out: asyncio.Queue[FromAgent] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._beats = 0

    @property
    def is_attached(self) -> bool:
        """Whether the region has welcomed the present stream."""
        return self.welcome is not None

    def start(self) -> None:
        """Attach, and attach again whenever the stream breaks."""
        self._task = asyncio.create_task(self._run(), name=f"agent {self.node}")

    async def stop(self) -> None:
        """Hang up; what it holds stays, as after a crash of the link process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self.welcome = None

    def lose_everything(self) -> None:
        """The keeper dies, and all runs with it."""
        self.runs.clear()
        self.keeper += "+"

    # --- what tests make it do -------------------------------------------------------------------

    def run_of(self, task: str) -> Held:
        """The newest run of a task on this node."""
        return max(
            (held for (name, _), held in self.runs.items() if name == task),
            key=lambda held: held.order.token,
        )

    def sample(self, task: str, ran_ms: int = 1_000, *, final: bool = False) -> None:
        """Report one interval of a run."""
        held = self.run_of(task)
        held.intervals += 1
        now_ms = self._clock.now().utc_ms
        sample = UsageSample(
            task=task,
            token=held.order.token,
            interval=held.intervals,
            start_ms=now_ms - ran_ms,
            end_ms=now_ms,
            boot_ms=ran_ms,
            cpu_used_ms=ran_ms // 2,
            memory_peak=1 << 20,
            final=final,
        )
        held.unacked.append(sample)
        self._out.put_nowait(sample)

    def end(
        self,
        task: str,
        *,
        exit_code: int | None = 0,
        signal: int = 0,
        evidence: dict[str, str] | None = None,
        ran_ms: int = 1_000,
        outputs: tuple[StoredFile, ...] = (),
        logs: tuple[StoredFile, ...] = (),
    ) -> None:
        """A run ends: its last sample, then its end."""
        self.sample(task, ran_ms, final=True)
        held = self.run_of(task)
        held.end = AgentRunUpdate(
            task=task,
            token=held.order.token,
            state=RunState.ENDED,
            started_ms=held.started_ms,
            ended_ms=self._clock.now().utc_ms,
            boot_ms=ran_ms,
            exit_code=exit_code,
            signal=signal,
            evidence=evidence or {},
            outputs=outputs,
            logs=logs,
        )
        held.state = RunState.ENDED
        self._out.put_nowait(held.end)

    def checkpoint(self, task: str, step: int, manifest: str = "ab" * 32) -> None:
        """A run has written a checkpoint."""
        held = self.run_of(task)
        self._out.put_nowait(
            CheckpointOffer(
                task=task, token=held.order.token, step=step, manifest=manifest, size=10
            )
        )

    def say(self, message: FromAgent) -> None:
        """Say anything."""
        self._out.put_nowait(message)

    # --- the link --------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            try:
                await self._attach()
            except grpc.aio.AioRpcError as failure:
                self.problem = error_from_rpc(failure)
            except asyncio.InvalidStateError:
                pass  # written to a stream that is over
            self.welcome = None
            await asyncio.sleep(RETRY_S)

    async def _attach(self) -> None:
        channel = self._channels.get(self._target(), self._server_name)
        metadata = clock_metadata(self._clock)
        call: Call = told_why(AgentLinkServiceStub(channel).Attach(metadata=metadata))
        writer: asyncio.Task[None] | None = None
        beats: asyncio.Task[None] | None = None
        try:
            await call.write(_request(self._hello()))
            async for response in call:
                for envelope in response.messages:
                    message = scheduler_message_from_pb(envelope)
                    self.heard.append(message)
                    if isinstance(message, AgentWelcome):
                        self.welcome = message
                        self._again()
                        writer = asyncio.create_task(self._write(call))
                        beats = asyncio.create_task(self._beat(message.beat_ms / 1000))
                    else:
                        self._handle(message)
        finally:
            call.cancel()
            for task in (writer, beats):
                if task is not None:
                    task.cancel()
                    await asyncio.gather(task, return_exceptions=True)

    def _hello(self) -> AgentHello:
        return AgentHello(
            node=self.node,
            incarnation=self.incarnation,
            boot_id=self.boot_id,
            site=self.site,
            software="fake",
            protocol_min=1,
            protocol_max=1,
            capability=self.capability,
            runs=tuple(
                AgentRun(task=task, token=token, state=held.state)
                for (task, token), held in self.runs.items()
            ),
            keeper_incarnation=self.keeper,
        )

    def _again(self) -> None:
        """Send what was not acknowledged again, in order."""
        self._out = asyncio.Queue()
        for held in self.runs.values():
            for sample in held.unacked:
                self._out.put_nowait(sample)
            self._out.put_nowait(held.end or self._update(held))

    async def _write(self, call: Call) -> None:
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while True:
                batch = [await self._out.get()]
                while not self._out.empty():
                    batch.append(self._out.get_nowait())
                await call.write(_request(*batch))

    async def _beat(self, every_s: float) -> None:
        while True:
            self._beats += 1
            self._out.put_nowait(Beat(seq=self._beats))
            await asyncio.sleep(every_s)

    def _handle(self, message: FromRegionToAgent) -> None:
        match message:
            case StartRun():
                self._start(message)
            case StopRun():
                self._stop(message)
            case AckUsage():
                held = self.runs.get((message.task, message.token))
                if held is not None:
                    held.unacked = [s for s in held.unacked if s.interval > message.interval]
            case AckRun():
                self.runs.pop((message.task, message.token), None)
            case CheckpointVerdict():
                self.verdicts.append(message)
            case AgentRead():
                self._out.put_nowait(self._chunk(message))

    def _start(self, order: StartRun) -> None:
        held = self.runs.get((order.task, order.token))
        if held is None:
            held = self.runs[order.task, order.token] = Held(order)
            if self.starts_runs:
                held.state = RunState.RUNNING
                held.started_ms = self._clock.now().utc_ms
        self._out.put_nowait(held.end or self._update(held))

    def _stop(self, order: StopRun) -> None:
        held = self.runs.get((order.task, order.token))
        if held is None:
            self._out.put_nowait(
                AgentRunUpdate(
                    task=order.task,
                    token=order.token,
                    state=RunState.ENDED,
                    evidence={"lost": "this node does not have it"},
                )
            )
        elif held.end is None:
            self.end(order.task, exit_code=None, signal=15, evidence={"stopped": order.reason})

    def _update(self, held: Held) -> AgentRunUpdate:
        return AgentRunUpdate(
            task=held.order.task,
            token=held.order.token,
            state=held.state,
            started_ms=held.started_ms,
        )

    def _chunk(self, read: AgentRead) -> AgentBytes:
        log = self.logs.get(read.stream, b"")
        start = read.offset if read.offset >= 0 else max(0, len(log) + read.offset)
        data = log[start : start + read.limit]
        return AgentBytes(
            id=read.id,
            data=data,
            offset=start,
            next_offset=start + len(data),
            final=False,
        )


def _request(*messages: FromAgent) -> pb.AttachRequest:
    return pb.AttachRequest(messages=[agent_message_to_pb(message) for message in messages])
