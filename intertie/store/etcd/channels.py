"""Connections to the members of an etcd cluster, and which of them to use next.

One channel per member, all dialled at once, and an order of preference: a member that failed or
fell silent goes to the end of the line. A frozen member keeps its TCP connection, so gRPC's own
balancing would go on using it until a keepalive times out; here the first call that times out moves
on. Must not know keys or revisions.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import Message

from intertie.pki.files import read_private

Req = TypeVar("Req", bound=Message)
Resp = TypeVar("Resp", bound=Message)

REQUIRE_LEADER = (("hasleader", "true"),)
"""Metadata by which a member that is cut off from the leader refuses at once instead of waiting."""

_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one client. Seconds unless the name says otherwise.

    A frozen member is noticed after `attempt_s` by a call and after `silence_s` by a watch, so
    these two decide how long a failover takes.
    """

    call_s: float = 6.0
    """One operation over all its attempts."""
    attempt_s: float = 2.0
    """One attempt at one member."""
    beat_s: float = 1.0
    """How often a watch asks its member for a sign of life."""
    silence_s: float = 4.0
    """A watch leaves a member that said nothing for this long."""
    backoff_s: float = 0.05
    """First pause before another attempt; doubles, with jitter, up to `backoff_max_s`."""
    backoff_max_s: float = 1.0
    keepalive_s: float = 10.0
    """HTTP/2 ping interval. etcd ends connections that ping more often than every 5 s."""
    message_bytes: int = 64 * 1024 * 1024
    page_keys: int = 1000
    """Keys read at once when a prefix is listed."""

    def __post_init__(self) -> None:
        assert 0 < self.attempt_s <= self.call_s, self
        assert 0 < self.beat_s < self.silence_s, self
        assert self.keepalive_s >= 6, self


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM bytes for mutual TLS. `server_name` overrides the name that a server must prove."""

    root: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    server_name: str | None = None


@dataclass(frozen=True, slots=True)
class Method(Generic[Req, Resp]):
    """An etcd method: its raw path and the messages on it."""

    path: str
    request: type[Req]
    response: type[Resp]


class CallEndedError(Exception):
    """A call ended without a status: the stream is over, or our own channel was closed."""


@contextlib.contextmanager
def _ended_calls_told() -> Iterator[None]:
    """Raise CallEndedError for the several ways in which grpc.aio says that a call is over.

    A closed channel and a cancelled task both raise CancelledError: the task knows which it was.
    """
    try:
        yield
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if task is not None and task.cancelling() > 0:
            raise
        raise CallEndedError("the channel was closed") from cancelled
    except asyncio.InvalidStateError as ended:  # a write to a call that is over
        raise CallEndedError("the stream is over") from ended
    except grpc.aio.UsageError as closed:
        raise CallEndedError("the channel is closed") from closed


class Stream(Generic[Req, Resp]):
    """A bidirectional stream: send, receive, close. Raises AioRpcError or CallEndedError."""

    def __init__(
        self,
        call: grpc.aio.StreamStreamCall[Req, Resp],
        on_close: Callable[["Stream[Any, Any]"], None],
    ) -> None:
        self._call = call
        self._on_close = on_close

    async def send(self, message: Req) -> None:
        """Write one message."""
        with _ended_calls_told():
            await self._call.write(message)

    async def receive(self) -> Resp:
        """Read one message."""
        with _ended_calls_told():
            message = await self._call.read()
        if not isinstance(message, Message):  # grpc.aio.EOF, which the type stubs do not name
            raise CallEndedError("the server ended the stream")
        return cast(Resp, message)

    def close(self) -> None:
        """Cancel the call; idempotent."""
        self._call.cancel()
        self._on_close(self)


class Member:
    """One member of the cluster, by the address it is dialled at."""

    def __init__(self, target: str, tls: Tls | None, limits: Limits) -> None:
        self.target = target
        self._streams: set[Stream[Any, Any]] = set()
        options = _options(limits, tls)
        self._channel = (
            grpc.aio.insecure_channel(target, options)
            if tls is None
            else grpc.aio.secure_channel(
                target, grpc.ssl_channel_credentials(tls.root, tls.key, tls.certificate), options
            )
        )

    def is_connected(self) -> bool:
        """Whether a connection stands; starts to connect if not."""
        return self._channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY

    async def call(self, method: Method[Req, Resp], request: Req, *, timeout_s: float) -> Resp:
        """One unary call, once, failing at once without a connection.

        Raises AioRpcError or CallEndedError.
        """
        invoke = self._channel.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        with _ended_calls_told():
            return await invoke(request, timeout=timeout_s, metadata=REQUIRE_LEADER)

    def stream(
        self, method: Method[Req, Resp], *, timeout_s: float | None = None
    ) -> Stream[Req, Resp]:
        """Open a stream; None lets it live as long as it says something (see `watch`)."""
        invoke: grpc.aio.StreamStreamMultiCallable[Req, Resp] = self._channel.stream_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        with _ended_calls_told():
            call = invoke(timeout=timeout_s, metadata=REQUIRE_LEADER)
        stream: Stream[Req, Resp] = Stream(call, self._streams.discard)
        self._streams.add(stream)
        return stream

    async def complaint(self, timeout_s: float) -> str:
        """Why there is no connection, in gRPC's words: refused, unreachable, certificate ..."""
        invoke: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(
            "/etcdserverpb.Maintenance/Status"
        )
        try:
            with _ended_calls_told():
                await invoke(b"", timeout=timeout_s)
        except grpc.aio.AioRpcError as fault:
            return fault.details() or fault.code().name
        except CallEndedError as ended:
            return str(ended)
        return "connected just now"

    async def close(self, grace_s: float | None = None) -> None:
        """Close the channel, after the calls under way or `grace_s`; streams end at once."""
        # Closing a channel leaves its open streams alive (seen with grpcio 1.82).
        for stream in tuple(self._streams):
            stream.close()
        await self._channel.close(grace_s)


class Cluster:
    """The members in the order in which they are to be tried."""

    def __init__(self, targets: Sequence[str], tls: Tls | None, limits: Limits) -> None:
        assert targets, "an etcd client needs at least one endpoint"
        self._targets = tuple(targets)
        self._limits = limits
        self._line = [Member(target, tls, limits) for target in targets]
        self.closed = False

    @property
    def members(self) -> Sequence[Member]:
        """All members, the preferred one first."""
        return tuple(self._line)

    async def connected(self, timeout_s: float) -> Member | None:
        """The most preferred member that has a connection; None if none gets one in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not self.closed:
            # Ask all of them, so that all of them start to connect.
            connected = [member for member in self._line if member.is_connected()]
            if connected:
                return connected[0]
            if loop.time() >= deadline:
                return None
            await asyncio.sleep(_POLL_S)
        return None

    def suspect(self, member: Member) -> None:
        """Send a member to the end of the line."""
        if member in self._line:
            self._line.remove(member)
            self._line.append(member)

    async def replace_tls(self, tls: Tls) -> None:
        """Dial all members anew with other certificates; gRPC cannot reload a client's."""
        old, self._line = self._line, [Member(t, tls, self._limits) for t in self._targets]
        await asyncio.gather(*(member.close(self._limits.attempt_s) for member in old))

    async def close(self) -> None:
        """Close all channels; idempotent."""
        self.closed = True
        await asyncio.gather(*(member.close() for member in self._line))


def _options(limits: Limits, tls: Tls | None) -> list[tuple[str, str | int]]:
    options: list[tuple[str, str | int]] = [
        # etcd also refuses pings while no call is open, so those stay off.
        ("grpc.keepalive_time_ms", round(limits.keepalive_s * 1000)),
        ("grpc.keepalive_timeout_ms", 2_000),
        ("grpc.keepalive_permit_without_calls", 0),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.min_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        ("grpc.max_receive_message_length", limits.message_bytes),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.enable_retries", 0),
    ]
    if tls is not None and tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return options


def read_tls(ca: Path, cert: Path, key: Path) -> Tls:
    """The client's certificate from files."""
    return Tls(root=ca.read_bytes(), certificate=cert.read_bytes(), key=read_private(key))
