"""LinkService: one stream per region, hello first, then messages both ways until either side ends.

Messages reach the core one by one, in order; answers leave in batches. Must not judge what the
messages ask for; form and identity are checked in `checks`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from federation.domain.events import Heard, LinkDown, LinkUp
from federation.server.region.checks import BEACONS, FEATURES, POLICY, check_hello, check_message
from federation.server.region.links import Link, Links
from intertie.api.federation.v1 import link_service_pb2 as pb
from intertie.api.federation.v1 import link_service_pb2_grpc as pb_grpc
from intertie.errors import Reason, error, invalid
from intertie.model.link import Bytes, FederationHello, PolicyUpdate, RegionHello, RttReport
from intertie.store.pump import Pump
from intertie.telemetry.logs import logger
from intertie.transport.call import Context, caller
from intertie.transport.layers.silence import heard_within
from intertie.transport.versions import software
from intertie.wire.link import region_message_from_pb

HELLO_WITHIN_S = 10.0
MAX_BACKLOG = 20_000
"""Events that wait for the core before a link's reader pauses; gRPC then holds the region back."""

_log = logger(__name__)


class LinkServicer(pb_grpc.LinkServiceServicer):
    """See the module's text.

    Args:
        pump: the core.
        links: where the outward messages of the core go.
        chunks: takes answers to ReadBytes, with the region that they came from.
        replica: our id.
        generation: of our store.
        trust_domain: the federation's.
        policy: the residency policy that holds, told to each region that attaches.
        silence_s: after which a region that says nothing loses its stream.
    """

    def __init__(
        self,
        pump: Pump,
        links: Links,
        chunks: Callable[[str, Bytes], None],
        *,
        replica: str,
        generation: int,
        trust_domain: str,
        policy: Callable[[], PolicyUpdate],
        measured: Callable[[str, RttReport], None],
        silence_s: float,
    ) -> None:
        self._pump = pump
        self._links = links
        self._chunks = chunks
        self._replica = replica
        self._generation = generation
        self._trust_domain = trust_domain
        self._policy = policy
        self._measured = measured
        self._silence_s = silence_s

    async def Attach(  # noqa: N802 - the name of the method in the protocol
        self, request_iterator: AsyncIterator[pb.AttachRequest], context: Context
    ) -> None:
        """Serve one link until the region, a ban, or this process ends it."""
        requests = aiter(request_iterator)
        first = await self._first(requests)
        hello = region_message_from_pb(first.messages[0])
        if not isinstance(hello, RegionHello):
            raise invalid("messages[0]", "must be the hello")
        protocol = check_hello(hello, caller(), self._trust_domain)
        link = self._links.open(hello)
        try:
            await self._admit(link, self._welcome(protocol, hello))
            if POLICY in hello.features:
                link.send(self._policy())
            self._links.tell_beacons(BEACONS, link)
            _log.info("region attached", region=hello.region, incarnation=hello.incarnation)
            await self._serve(link, first, requests, context)
        finally:
            self._links.forget(link)
            self._links.tell_beacons(BEACONS)
            self._pump.tell(LinkDown(link=link.number, region=hello.region))
            _log.info(
                "region detached", region=hello.region, reason=str(link.outbox.fault or "ended")
            )

    async def _first(self, requests: AsyncIterator[pb.AttachRequest]) -> pb.AttachRequest:
        try:
            async with asyncio.timeout(HELLO_WITHIN_S):
                first = await anext(requests)
        except (TimeoutError, StopAsyncIteration):
            raise error(Reason.DEADLINE_EXCEEDED, "No hello came in time.") from None
        if not first.messages:
            raise invalid("messages", "must not be empty")
        return first

    async def _admit(self, link: Link, welcome: FederationHello) -> None:
        """Let the core remember the region; it sends the welcome. Raises why it may not attach."""

        def make(ticket: int) -> LinkUp:
            return LinkUp(ticket=ticket, link=link.number, hello=link.hello, welcome=welcome)

        await self._pump.ask(make)

    def _welcome(self, protocol: int, hello: RegionHello) -> FederationHello:
        return FederationHello(
            replica=self._replica,
            software=software(),
            protocol=protocol,
            generation=self._generation,
            features=tuple(feature for feature in FEATURES if feature in hello.features),
        )

    async def _serve(
        self,
        link: Link,
        first: pb.AttachRequest,
        requests: AsyncIterator[pb.AttachRequest],
        context: Context,
    ) -> None:
        reader = asyncio.create_task(self._read(link, first, requests), name="link reader")
        try:
            async for batch in link.outbox.batches():
                await context.write(pb.AttachResponse(messages=batch))
        finally:
            reader.cancel()
            await asyncio.wait([reader])
        if not reader.cancelled():
            reader.result()  # raises what broke it
        if link.outbox.fault is not None:
            raise link.outbox.fault

    async def _read(
        self, link: Link, first: pb.AttachRequest, requests: AsyncIterator[pb.AttachRequest]
    ) -> None:
        try:
            self._hear(link, first, start=1)
            async for request in heard_within(requests, self._silence_s, link.hello.region):
                self._hear(link, request, start=0)
                await self._pump.room(MAX_BACKLOG)
        finally:
            link.outbox.close()

    def _hear(self, link: Link, request: pb.AttachRequest, *, start: int) -> None:
        region = link.hello.region
        for envelope in request.messages[start:]:
            message = region_message_from_pb(envelope)
            check_message(message, link.hello)
            if isinstance(message, Bytes):
                self._chunks(region, message)
            elif isinstance(message, RttReport):
                self._measured(region, message)
            else:
                self._pump.tell(Heard(link=link.number, region=region, message=message))
