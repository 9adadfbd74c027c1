"""AgentLinkService: one stream per node, hello first, then messages both ways until a side ends.

What an agent can rely on:
- the first message is the welcome; then StartRun and StopRun until they are answered by updates;
- AckUsage, AckRun and CheckpointVerdict leave only after what they tell of is durable;
- nothing is lost for good: on each attach the agent lists its runs, and the region sends again what
  the agent lacks. A StopRun for a run that the agent does not have is answered by an ENDED update
  with the evidence `lost`;
- updates and samples of one run are heard in the order in which they are sent: the samples first.

Must not judge what the messages mean; form and identity are checked in `agent_checks`.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from intertie.api.agent.v1 import link_service_pb2 as pb
from intertie.api.agent.v1 import link_service_pb2_grpc as pb_grpc
from intertie.errors import Reason, error, invalid
from intertie.model.agentlink import AgentBytes, AgentHello
from intertie.telemetry.logs import logger
from intertie.transport.call import Context, caller
from intertie.transport.layers.silence import heard_within
from intertie.wire.agent import agent_message_from_pb
from regional.domain.events import NodeDown, NodeSaid, NodeUp
from regional.server.agent_checks import check_hello, check_message
from regional.server.node_links import NodeLink, NodeLinks

MAX_BACKLOG = 20_000
"""Events that wait for the core before a link's reader pauses; gRPC then holds the agent back."""

_log = logger(__name__)


class Core(Protocol):
    """What takes events: the pump."""

    def tell(self, event: object) -> None:
        """Queue an event."""
        ...

    async def room(self, most: int) -> None:
        """Return when at most so many events wait."""
        ...


class AgentLinkServicer(pb_grpc.AgentLinkServiceServicer):
    """See the module's text.

    Args:
        core: takes what agents say.
        links: where what the core says to nodes goes.
        jurisdiction: the region's place; nodes refine it.
        hello_s: within which the first message must come.
        silence_s: after which an agent that says nothing loses its stream.
    """

    def __init__(
        self,
        core: Core,
        links: NodeLinks,
        *,
        jurisdiction: str,
        hello_s: float,
        silence_s: float,
    ) -> None:
        self._core = core
        self._links = links
        self._jurisdiction = jurisdiction
        self._hello_s = hello_s
        self._silence_s = silence_s

    async def Attach(  # noqa: N802 - the name of the method in the protocol
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: Context
    ) -> AsyncIterator[pb.AttachResponse]:
        """Serve one link until the agent, a ban, or this process ends it."""
        del context
        requests = aiter(request_iterator)
        first = await self._first(requests)
        hello = agent_message_from_pb(first.messages[0])
        if not isinstance(hello, AgentHello):
            raise invalid("messages[0]", "must be the hello")
        check_hello(hello, caller(), self._jurisdiction)
        link = self._links.open(hello)
        _log.info("node attached", node=hello.node, incarnation=hello.incarnation)
        self._core.tell(NodeUp(link=link.number, hello=hello))
        reader = asyncio.create_task(self._read(link, first, requests), name="agent reader")
        try:
            async for batch in link.outbox.batches():
                yield pb.AttachResponse(messages=batch)
        finally:
            reader.cancel()
            await asyncio.wait([reader])
            self._links.forget(link)
            self._core.tell(NodeDown(link=link.number, node=hello.node))
            _log.info("node detached", node=hello.node, reason=str(link.outbox.fault or "ended"))
        if not reader.cancelled():
            reader.result()  # raises what broke it
        if link.outbox.fault is not None:
            raise link.outbox.fault

    async def _first(self, requests: AsyncIterator[pb.AttachRequest]) -> pb.AttachRequest:
        try:
            async with asyncio.timeout(self._hello_s):
                first = await anext(requests)
        except (TimeoutError, StopAsyncIteration):
            raise error(Reason.DEADLINE_EXCEEDED, "No hello came in time.") from None
        if not first.messages:
            raise invalid("messages", "must not be empty")
        return first

    async def _read(
        self, link: NodeLink, first: pb.AttachRequest, requests: AsyncIterator[pb.AttachRequest]
    ) -> None:
        try:
            self._hear(link, first, start=1)
            async for request in heard_within(requests, self._silence_s, link.hello.node):
                self._hear(link, request, start=0)
                await self._core.room(MAX_BACKLOG)
        finally:
            link.outbox.close()

    def _hear(self, link: NodeLink, request: pb.AttachRequest, *, start: int) -> None:
        self._links.heard(link)
        for envelope in request.messages[start:]:
            message = agent_message_from_pb(envelope)
            check_message(message)
            if isinstance(message, AgentBytes):
                self._links.answered(message)
            else:
                self._core.tell(NodeSaid(link=link.number, node=link.hello.node, message=message))
