"""A real server and real clients over loopback, with an echo service of every shape of call."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from intertie.clock import SystemClock, SystemIds
from intertie.errors import IntertieError
from intertie.pki.load import IdentityDirectory, load
from intertie.pki.spiffe import Role
from intertie.ports import Clock
from intertie.telemetry.registry import Metrics
from intertie.testing.pki import FederationPki, federation_pki
from intertie.transport.call import Context, caller
from intertie.transport.channel import ChannelOptions, open_channel
from intertie.transport.credentials import channel_credentials
from intertie.transport.failure import error_from_rpc
from intertie.transport.layers.chain import Handler
from intertie.transport.methods import METHODS
from intertie.transport.server import Server, ServerOptions

SERVICE = "test.Echo"
SERVER_NAME = "federation.intertie.example"
ECHO_METHODS = {
    **METHODS,
    **{
        f"/{SERVICE}/{name}": frozenset(Role) - {Role.ANONYMOUS}
        for name in ("Say", "Count", "Gather", "Chat", "Talk")
    },
    f"/{SERVICE}/Open": frozenset(Role),
    f"/{SERVICE}/Admin": frozenset({Role.ADMIN}),
}


@dataclass
class Echo:
    """Handlers; `say` can be replaced to do anything."""

    say: Callable[[bytes, Context], Awaitable[bytes]]
    cancelled: list[str] = field(default_factory=list)

    def handlers(self) -> dict[str, Handler]:
        async def say(request: bytes, context: Context) -> bytes:
            return await self.say(request, context)

        return {
            "Say": grpc.unary_unary_rpc_method_handler(say),
            "Open": grpc.unary_unary_rpc_method_handler(say),
            "Admin": grpc.unary_unary_rpc_method_handler(say),
            "Count": grpc.unary_stream_rpc_method_handler(self.count),
            "Gather": grpc.stream_unary_rpc_method_handler(self.gather),
            "Chat": grpc.stream_stream_rpc_method_handler(self.chat),
            "Talk": grpc.stream_stream_rpc_method_handler(self.talk),
        }

    async def count(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        for number in range(int(request)):
            yield str(number).encode()
        if int(request) == 0:
            await self._for_ever()

    async def gather(self, requests: AsyncIterator[bytes], context: Context) -> bytes:
        return b"".join([request async for request in requests])

    async def chat(self, requests: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        try:
            async for request in requests:
                yield request
        except asyncio.CancelledError:
            self.cancelled.append("chat")
            raise

    async def talk(self, requests: AsyncIterator[bytes], context: Context) -> None:
        async for request in requests:
            await context.write(request)

    async def _for_ever(self) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append("count")
            raise


async def say_who(request: bytes, _context: Context) -> bytes:
    return request + b" " + str(caller()).encode()


@dataclass
class Bench:
    """Starts servers and clients, and stops them all at the end."""

    pki: FederationPki
    metrics: Metrics = field(default_factory=Metrics)
    echo: Echo = field(default_factory=lambda: Echo(say_who))
    servers: list[Server] = field(default_factory=list)
    channels: list[grpc.aio.Channel] = field(default_factory=list)

    def server(self, path: Path, **arguments: Any) -> Server:
        arguments.setdefault("clock", SystemClock())
        server = Server(
            IdentityDirectory(path, self.pki.trust_domain),
            self.pki.check(),
            ids=SystemIds(),
            metrics=self.metrics,
            methods=ECHO_METHODS,
            **arguments,
        )
        server.add_registered_method_handlers(SERVICE, self.echo.handlers())
        self.servers.append(server)
        return server

    async def serve(self, identity: str | Path = "federation/r1", **arguments: Any) -> str:
        """Start a server and return its address."""
        anonymous = arguments.pop("anonymous", False)
        path = identity if isinstance(identity, Path) else self.pki.directory(identity)
        server = self.server(path, **arguments)
        port = server.listen("127.0.0.1:0", anonymous=anonymous)
        await server.start()
        return f"127.0.0.1:{port}"

    def channel(
        self,
        target: str,
        client: str | Path = "admin/ann",
        *,
        name: str = SERVER_NAME,
        clock: Clock | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        options: ChannelOptions | None = None,
    ) -> grpc.aio.Channel:
        if credentials is None:
            path = client if isinstance(client, Path) else self.pki.directory(client)
            credentials = channel_credentials(load_raw(path))
        channel = open_channel(
            target, name, credentials, clock or SystemClock(), options or ChannelOptions()
        )
        self.channels.append(channel)
        return channel

    def channel_credentials(self, client: str) -> grpc.ChannelCredentials:
        return channel_credentials(load_raw(self.pki.directory(client)))

    async def close(self) -> None:
        for channel in self.channels:
            await channel.close()
        for server in self.servers:
            await server.stop(0)


def load_raw(path: Path) -> Any:
    """Credentials of a directory without the checks that would refuse a forgery."""
    try:
        return load(path, "intertie.example")
    except IntertieError:

        @dataclass
        class Raw:
            key_pem: bytes
            cert_chain_pem: bytes
            trust_pem: bytes

        return Raw(
            (path / "key.pem").read_bytes(),
            (path / "cert.pem").read_bytes() + (path / "chain.pem").read_bytes(),
            (path / "trust.pem").read_bytes(),
        )


async def say(
    channel: Any,
    text: bytes = b"hello",
    *,
    method: str = "Say",
    **arguments: Any,
) -> bytes:
    """One unary call, its failure as an error of the catalogue."""
    try:
        answer: bytes = await channel.unary_unary(f"/{SERVICE}/{method}")(text, **arguments)
    except grpc.aio.AioRpcError as failure:
        raise error_from_rpc(failure) from failure
    return answer


@pytest.fixture
def pki(tmp_path: Path) -> FederationPki:
    return federation_pki(tmp_path, regions=["eu", "us"])


@pytest.fixture
async def bench(pki: FederationPki) -> AsyncIterator[Bench]:
    bench = Bench(pki)
    yield bench
    await bench.close()


@pytest.fixture
def call() -> Callable[..., Awaitable[bytes]]:
    return say


@pytest.fixture
def short_options() -> ServerOptions:
    return ServerOptions(max_connection_age_ms=500, connection_age_grace_ms=500)
