"""The link to the region: dial, hello, messages both ways, beats; dial again when it breaks.

Beats do not pass through the core's commits: a slow disk must not cost a node its lease. The
instant of a beat is read before it leaves, and told to the core with its number.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import grpc.aio

from edge_agent.adapters.region.logs import LogReads
from edge_agent.domain.events import BeatSent, RegionDown, RegionSaid, RegionUp
from edge_agent.domain.lease import Reserve
from intertie.api.agent.v1 import link_pb2
from intertie.api.agent.v1 import link_service_pb2 as pb
from intertie.api.agent.v1.link_service_pb2_grpc import AgentLinkServiceStub
from intertie.errors import IntertieError, PeerError, Reason, error
from intertie.model.agentlink import (
    AgentHello,
    AgentRead,
    AgentWelcome,
    Beat,
    FromAgent,
)
from intertie.ports import Clock
from intertie.telemetry.logs import logger
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc, error_of_call, told_why
from intertie.transport.outbox import Outbox
from intertie.transport.versions import agree
from intertie.wire.agent import agent_message_to_pb, scheduler_message_from_pb

HELLO_S = 10.0
SILENT_BEATS = 5
"""A region that answers none of so many beats in a row is dialled anew."""

_log = logger(__name__)

Stream = Any
"""A grpc.aio.StreamStreamCall; its stubs lack `write`."""

Responses = AsyncIterator[pb.AttachResponse]


@dataclass(frozen=True, slots=True)
class Dialling:
    """Pauses between attempts: doubled from the first to the most, spread by half each way."""

    first_s: float = 0.2
    most_s: float = 5.0
    taken_s: float = 10.0
    """After SESSION_TAKEN: another process is this node, and may be for long."""


class RegionLink:
    """See the module's text. For one event loop.

    Args:
        stub: the service on the current channel.
        hello: made anew for each attempt; with what the node holds then.
        tell: takes events for the core.
        free_disk: bytes that tasks could still use.
        reserve: what a kill on this node takes of a lease.
        clock: time.
        rng: spreads attempts.
    """

    def __init__(
        self,
        stub: Callable[[], AgentLinkServiceStub],
        hello: Callable[[], AgentHello],
        tell: Callable[[object], None],
        *,
        free_disk: Callable[[], int],
        reserve: Reserve,
        clock: Clock,
        rng: random.Random,
        dialling: Dialling = Dialling(),  # noqa: B008 - frozen
    ) -> None:
        self._stub = stub
        self._hello = hello
        self._tell = tell
        self._free_disk = free_disk
        self._reserve = reserve
        self._clock = clock
        self._rng = rng
        self._dialling = dialling
        self._was_up = False
        self._number = 0
        self._seq = 0
        self._unanswered = 0
        self._outbox: Outbox[link_pb2.AgentMessage] | None = None
        self._reads: LogReads | None = None
        self._task: asyncio.Task[None] | None = None
        self.is_up = asyncio.Event()
        self.fault: IntertieError | None = None
        """Why the last link ended or could not be made."""

    def serve_logs(self, reads: LogReads) -> None:
        """Where reads of live logs go; given before `start`."""
        self._reads = reads

    def start(self) -> None:
        """Begin to dial."""
        self._task = asyncio.create_task(self._run(), name="region link")

    async def stop(self) -> None:
        """Hang up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def reconnect(self) -> None:
        """End the present link and dial again: the core was made afresh."""
        if self._outbox is not None:
            self._outbox.close(error(Reason.SHUTTING_DOWN, "The agent starts over."))

    def send(self, link: int, message: FromAgent) -> None:
        """Queue a message on this very link; lost if it is over."""
        if link == self._number and self._outbox is not None:
            self._outbox.put(agent_message_to_pb(message))

    def answer(self, message: FromAgent) -> None:
        """Queue a message on whatever link stands."""
        self.send(self._number, message)

    # --- dialling --------------------------------------------------------------------------------

    async def _run(self) -> None:
        pause_s = self._dialling.first_s
        while True:
            try:
                await self._attach()
            except grpc.aio.AioRpcError as failure:
                self.fault = error_from_rpc(failure)
            except IntertieError as fault:
                self.fault = fault
            except TimeoutError:
                self.fault = error(Reason.DEADLINE_EXCEEDED, "The region did not answer in time.")
            pause_s = self._dialling.first_s if self._was_up else pause_s
            await asyncio.sleep(self._pause(pause_s))
            pause_s = min(pause_s * 2, self._dialling.most_s)

    def _pause(self, pause_s: float) -> float:
        taken = self.fault is not None and self.fault.reason is Reason.SESSION_TAKEN
        if taken:
            _log.error("ALARM: another agent has this node's id", problem=str(self.fault))
        elif self.fault is not None and self.fault.reason is Reason.CONFIG_INVALID:
            _log.error("ALARM: not fit for this region", problem=str(self.fault))
        elif self.fault is not None:
            _log.info("region away", reason=self.fault.reason.value, problem=self.fault.message)
        longest = self._dialling.taken_s if taken else pause_s
        return longest * (0.5 + self._rng.random())

    async def _attach(self) -> None:
        """One link, from hello to its end."""
        self._was_up = False
        self.fault = None
        stream: Stream = told_why(self._stub().Attach(metadata=clock_metadata(self._clock)))
        try:
            hello = agent_message_to_pb(self._hello())
            await asyncio.wait_for(stream.write(pb.AttachRequest(messages=[hello])), HELLO_S)
            responses: Responses = aiter(stream)
            first = await asyncio.wait_for(_next(responses), HELLO_S)
            welcome = scheduler_message_from_pb(first.messages[0]) if first.messages else None
            if not isinstance(welcome, AgentWelcome):
                raise PeerError(Reason.INVALID_FIELD, "The region's first message is no welcome.")
            agree("The region", welcome.protocol, welcome.protocol)
            reserve = self._reserve.agreed(welcome.kill_ms, welcome.delta_ms)
            await self._serve(stream, responses, welcome, reserve, first)
        except asyncio.InvalidStateError:  # written to a stream that is over
            if (told := await error_of_call(stream)) is not None:
                raise told from None
        finally:
            stream.cancel()

    async def _serve(
        self,
        stream: Stream,
        responses: Responses,
        welcome: AgentWelcome,
        reserve: Reserve,
        first: pb.AttachResponse,
    ) -> None:
        self._number += 1
        self._unanswered = 0
        outbox: Outbox[link_pb2.AgentMessage] = Outbox()
        self._outbox = outbox
        self._was_up = True
        place = welcome.jurisdiction
        self._tell(RegionUp(link=self._number, jurisdiction=place, reserve=reserve))
        self._hear(first, start=1)
        self.is_up.set()
        _log.info("attached", region=welcome.region, incarnation=welcome.incarnation)
        parts = [
            asyncio.create_task(self._receive(responses), name="region reader"),
            asyncio.create_task(self._send_all(stream, outbox), name="region writer"),
            asyncio.create_task(self._beat(outbox, welcome.beat_ms / 1000), name="beats"),
        ]
        try:
            done, _ = await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in done:
                part.result()
        finally:
            self.is_up.clear()
            self._outbox = None
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
            self._tell(RegionDown(link=self._number))
            if self._reads is not None:
                self._reads.stop()

    # --- messages --------------------------------------------------------------------------------

    async def _receive(self, responses: Responses) -> None:
        while True:
            self._hear(await _next(responses), start=0)

    def _hear(self, response: pb.AttachResponse, *, start: int) -> None:
        self._unanswered = 0
        for envelope in response.messages[start:]:
            message = scheduler_message_from_pb(envelope)
            if isinstance(message, AgentRead):
                if self._reads is not None:
                    self._reads.read(message)
            elif isinstance(message, AgentWelcome):
                raise PeerError(Reason.INVALID_FIELD, "The region said welcome twice.")
            else:
                self._tell(RegionSaid(link=self._number, message=message))

    async def _send_all(self, stream: Stream, outbox: Outbox[link_pb2.AgentMessage]) -> None:
        async for batch in outbox.batches():
            await stream.write(pb.AttachRequest(messages=batch))
        if outbox.fault is not None:
            raise outbox.fault

    async def _beat(self, outbox: Outbox[link_pb2.AgentMessage], every_s: float) -> None:
        while True:
            if self._unanswered >= SILENT_BEATS:
                raise error(Reason.REGION_OUT_OF_TOUCH, "The region answers no beat.")
            self._seq += 1
            self._unanswered += 1
            self._tell(BeatSent(seq=self._seq, sent_ns=self._clock.now().boot_ns))
            outbox.put(agent_message_to_pb(Beat(seq=self._seq, free_disk=self._free_disk())))
            await asyncio.sleep(every_s)


async def _next(responses: Responses) -> pb.AttachResponse:
    """The next batch; raises what ended the stream."""
    try:
        return await anext(responses)
    except StopAsyncIteration:
        raise error(Reason.UNREACHABLE, "The region closed the link.") from None
