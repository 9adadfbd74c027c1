"""The link to one replica of the federation: dial, hello, messages both ways, dial again.

The lease is asked for every sixth of its length, and counts from before the renewal is sent. A link
that breaks costs nothing but time: what was not heard is repaired by digests. Must not judge what
the messages mean; assignments are verified by `assignments`.
"""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import grpc.aio

from intertie.api.federation.v1 import link_pb2
from intertie.api.federation.v1 import link_service_pb2 as pb
from intertie.api.federation.v1.link_service_pb2_grpc import LinkServiceStub
from intertie.errors import IntertieError, Reason, error
from intertie.model.link import (
    Assign,
    Beacons,
    FederationHello,
    FromFederation,
    FromRegion,
    LeaseGrant,
    LeaseRenew,
    PolicyUpdate,
    ReadBytes,
    RegionHello,
)
from intertie.ports import Clock
from intertie.telemetry.logs import logger
from intertie.transport.channels import Channels
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc, error_of_call, told_why
from intertie.transport.outbox import Outbox
from intertie.transport.versions import agree
from intertie.wire.link import federation_message_from_pb, region_message_to_pb
from regional.adapters.assignments import Assignments
from regional.adapters.egress import policy_heard
from regional.domain.events import FederationDown, FederationSaid, FederationUp, RenewalSent

FIRST_BACKOFF_S, MOST_BACKOFF_S = 0.2, 1.0
FIRST_RENEWAL_S = 1.0
RENEWALS = 6
"""Renewals in one lease (safety.md)."""
MAX_BACKLOG = 20_000

_log = logger(__name__)
_numbers = itertools.count(1)


class Core(Protocol):
    """What takes events: the pump."""

    def tell(self, event: object) -> None:
        """Queue an event."""
        ...

    async def room(self, most: int) -> None:
        """Return when at most so many events wait."""
        ...


class Reader(Protocol):
    """Answers ReadBytes."""

    async def read(self, request: ReadBytes) -> FromRegion:
        """The chunk, or the error, as a message."""
        ...


@dataclass(frozen=True, slots=True)
class Peers:
    """What a link needs of the rest of the region."""

    core: Core
    reader: Reader
    assignments: Assignments
    hello: Callable[[], RegionHello]
    channels: Channels
    clock: Clock
    rng: random.Random
    beacons: Callable[[Beacons], None]


class FederationLink:
    """See the module's text.

    Args:
        target: host:port of the replica.
        server_name: the DNS name that it must prove.
        peers: the rest of the region.
        hello_s: within which it must answer our hello.
    """

    def __init__(self, target: str, server_name: str, peers: Peers, *, hello_s: float) -> None:
        self._target = target
        self._server_name = server_name
        self._peers = peers
        self._hello_s = hello_s
        self._number = 0
        self._outbox: Outbox[link_pb2.RegionMessage] | None = None
        self._task: asyncio.Task[None] | None = None
        self._renew_s = FIRST_RENEWAL_S
        self._seq = 0
        self._features: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """The number of the present stream, 0 while there is none."""
        return self._number if self._outbox is not None else 0

    def start(self) -> None:
        """Begin to dial."""
        self._task = asyncio.create_task(self._run(), name=f"federation link {self._target}")

    async def stop(self) -> None:
        """Hang up; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def send(self, number: int, message: FromRegion) -> None:
        """Queue a message on this very stream; lost if it is over."""
        if self._outbox is not None and self._number == number:
            self._outbox.put(region_message_to_pb(message))

    def tell(self, feature: str, message: FromRegion) -> None:
        """Queue a message on the present stream, if there is one and the replica speaks this."""
        if self._outbox is not None and feature in self._features:
            self._outbox.put(region_message_to_pb(message))

    def hang_up(self) -> None:
        """End the present stream; dial again."""
        if self._outbox is not None:
            self._outbox.close(error(Reason.STORE_UNAVAILABLE, "The core was loaded anew."))

    # --- one stream after the other --------------------------------------------------------------

    async def _run(self) -> None:
        backoff_s = FIRST_BACKOFF_S
        while True:
            attached_ns = self._peers.clock.now().boot_ns
            try:
                await self._attach()
            except IntertieError as problem:
                log = _log.error if problem.reason is Reason.SESSION_TAKEN else _log.warning
                log("federation link ended", target=self._target, problem=str(problem))
            except asyncio.CancelledError:
                # grpc.aio raises it too when a channel is closed because its certificate rotated.
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
            lived_s = (self._peers.clock.now().boot_ns - attached_ns) / 1e9
            backoff_s = FIRST_BACKOFF_S if lived_s > MOST_BACKOFF_S else backoff_s * 2
            backoff_s = min(backoff_s, MOST_BACKOFF_S)
            await asyncio.sleep(backoff_s * (0.5 + self._peers.rng.random() / 2))

    async def _attach(self) -> None:
        """One stream, from hello to its end. Raises why it ended, if the peer said so."""
        channel = self._peers.channels.get(self._target, self._server_name)
        metadata = clock_metadata(self._peers.clock)
        call = told_why(LinkServiceStub(channel).Attach(metadata=metadata))
        try:
            await call.write(pb.AttachRequest(messages=[region_message_to_pb(self._peers.hello())]))
            async with asyncio.timeout(self._hello_s):
                first = await _read(call)
            replica = self._hello(first)
            await self._exchange(call, replica, first)
        except grpc.aio.AioRpcError as failure:
            raise error_from_rpc(failure) from failure
        except TimeoutError:
            raise error(Reason.UNREACHABLE, f"{self._target} did not answer our hello.") from None
        except asyncio.InvalidStateError:  # written to a stream that is over
            if (told := await error_of_call(call)) is not None:
                raise told from None
        finally:
            call.cancel()

    def _hello(self, first: pb.AttachResponse) -> str:
        hello = federation_message_from_pb(first.messages[0]) if first.messages else None
        if not isinstance(hello, FederationHello):
            raise error(Reason.VERSION_UNSUPPORTED, f"{self._target} said no hello.")
        agree(self._target, hello.protocol, hello.protocol)
        self._features = hello.features
        _log.info("attached to the federation", target=self._target, replica=hello.replica)
        return hello.replica

    async def _exchange(
        self,
        call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse],
        replica: str,
        first: pb.AttachResponse,
    ) -> None:
        self._number = number = next(_numbers)
        outbox: Outbox[link_pb2.RegionMessage] = Outbox()
        self._outbox = outbox
        core = self._peers.core
        core.tell(FederationUp(link=number, replica=replica))
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._write(call, outbox)),
                    group.create_task(self._renew(outbox)),
                ]
                await self._hear(call, first, number, group)
                outbox.close()
                for task in tasks:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise _first_of(several) from None
        finally:
            outbox.close()
            self._outbox = None
            core.tell(FederationDown(link=number))

    async def _write(
        self,
        call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse],
        outbox: Outbox[link_pb2.RegionMessage],
    ) -> None:
        async for batch in outbox.batches():
            await call.write(pb.AttachRequest(messages=batch))
        if outbox.fault is not None:
            raise outbox.fault

    async def _renew(self, outbox: Outbox[link_pb2.RegionMessage]) -> None:
        while not outbox.is_closed:
            self._seq += 1
            sent_ns = self._peers.clock.now().boot_ns
            self._peers.core.tell(RenewalSent(seq=self._seq, sent_ns=sent_ns))
            outbox.put(region_message_to_pb(LeaseRenew(seq=self._seq)))
            await asyncio.sleep(self._renew_s)

    async def _hear(
        self,
        call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse],
        first: pb.AttachResponse,
        number: int,
        group: asyncio.TaskGroup,
    ) -> None:
        start = 1
        async for response in _responses(call, first):
            for envelope in response.messages[start:]:
                message = federation_message_from_pb(envelope)
                if isinstance(message, ReadBytes):
                    group.create_task(self._answer(message, number))
                else:
                    self._dispatch(number, message)
            start = 0
            await self._peers.core.room(MAX_BACKLOG)

    def _dispatch(self, number: int, message: FromFederation) -> None:
        peers = self._peers
        match message:
            case Assign():
                utc_ms = peers.clock.now().utc_ms
                peers.core.tell(peers.assignments.read(number, message, utc_ms))
            case Beacons():
                peers.beacons(message)
            case PolicyUpdate():
                peers.core.tell(policy_heard(message))
            case FederationHello():
                raise error(Reason.INVALID_FIELD, f"{self._target} said a second hello.")
            case _:
                if isinstance(message, LeaseGrant) and message.lease_ms > 0:
                    self._renew_s = max(0.1, message.lease_ms / 1000 / RENEWALS)
                peers.core.tell(FederationSaid(link=number, message=message))

    async def _answer(self, request: ReadBytes, number: int) -> None:
        self.send(number, await self._peers.reader.read(request))


async def _read(
    call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse],
) -> pb.AttachResponse:
    response = await call.read()
    if not isinstance(response, pb.AttachResponse):  # grpc.aio.EOF
        raise error(Reason.UNREACHABLE, "The replica ended the stream.")
    return response


async def _responses(
    call: grpc.aio.StreamStreamCall[pb.AttachRequest, pb.AttachResponse],
    first: pb.AttachResponse,
) -> AsyncIterator[pb.AttachResponse]:
    """All responses from the first on; ends quietly when the replica ends the stream."""
    yield first
    with suppress(IntertieError):
        while True:
            yield await _read(call)


def _first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """One of the failures of a stream, the one that says most: a status before an aftermath."""
    found = list(_leaves(several))
    named = [fault for fault in found if not isinstance(fault, asyncio.InvalidStateError)]
    return (named or found)[0]


def _leaves(several: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    leaves: list[BaseException] = []
    for fault in several.exceptions:
        if isinstance(fault, BaseExceptionGroup):
            leaves += _leaves(fault)
        else:
            leaves.append(fault)
    return leaves
