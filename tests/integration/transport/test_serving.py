"""A server's life: ports, health, reflection, rotation without a dropped call, a graceful stop."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.pki.load import IdentityDirectory
from intertie.telemetry.metrics import CERTIFICATE_END, CERTIFICATE_ROTATIONS, CHANNELS_REBUILT
from intertie.testing.waiting import eventually
from intertie.transport.call import Context
from intertie.transport.channels import Channels

Say = Callable[..., Awaitable[bytes]]
SERVER_NAME = "federation.intertie.example"


async def test_a_taken_port_is_a_typed_error(bench: Any) -> None:
    address = await bench.serve()
    second = bench.server(bench.pki.directory("federation/r2"))
    with pytest.raises(IntertieError) as caught:
        second.listen(address)
    assert caught.value.reason is Reason.PORT_IN_USE
    assert address in caught.value.message


@pytest.mark.parametrize("address", ["203.0.113.7:0", "127.0.0.1:notaport"])
async def test_an_address_that_cannot_be_bound_is_named(bench: Any, address: str) -> None:
    server = bench.server(bench.pki.directory("federation/r1"))
    with pytest.raises(IntertieError) as caught:
        server.listen(address)
    assert caught.value.reason is Reason.CONFIG_INVALID
    assert address in caught.value.message


async def test_a_method_without_a_row_is_refused_when_added(bench: Any) -> None:
    server = bench.server(bench.pki.directory("federation/r1"))
    with pytest.raises(AssertionError, match=r"test\.New/Say"):
        server.add_registered_method_handlers("test.New", bench.echo.handlers())


async def test_health_tells_each_service_and_the_whole(bench: Any) -> None:
    stub = health_pb2_grpc.HealthStub(bench.channel(await bench.serve()))
    serving = health_pb2.HealthCheckResponse.SERVING
    for service in ("", "test.Echo"):
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
        assert answer.status == serving
    await bench.servers[0].set_serving(serving=False)
    answer = await stub.Check(health_pb2.HealthCheckRequest())
    assert answer.status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_reflection_lists_what_is_served(bench: Any) -> None:
    target = await bench.serve()
    credentials = bench.channel_credentials("admin/ann")

    def list_services() -> list[str]:
        options = [("grpc.ssl_target_name_override", SERVER_NAME)]
        with grpc.secure_channel(target, credentials, options) as channel:
            return list(ProtoReflectionDescriptorDatabase(channel).get_services())

    names = await asyncio.to_thread(list_services)
    assert {"test.Echo", "grpc.health.v1.Health"} <= set(names)


async def test_a_server_rotates_its_certificate_without_dropping_a_call(
    bench: Any, call: Say
) -> None:
    path: Path = bench.pki.directory("federation/r1")
    target = await bench.serve(path)
    old = bench.channel(target)
    stream = old.stream_stream("/test.Echo/Chat")()
    await stream.write(b"before")
    assert await stream.read() == b"before"
    bench.pki.directory("federation/r1", path=path)
    assert await call(bench.channel(target))
    assert bench.metrics.counter(CERTIFICATE_ROTATIONS, "ok")._value.get() == 1
    await stream.write(b"after")
    assert await stream.read() == b"after"


async def test_new_connections_get_the_new_certificate(bench: Any, call: Say) -> None:
    path: Path = bench.pki.directory("federation/r1")
    target = await bench.serve(path)
    name = "r2.federation.intertie.example"
    with pytest.raises(IntertieError):
        await call(bench.channel(target, name=name))
    bench.pki.directory("federation/r2", path=path)
    assert await call(bench.channel(target, name=name))


async def test_a_broken_rotation_keeps_the_old_certificate(bench: Any, call: Say) -> None:
    path: Path = bench.pki.directory("federation/r1")
    target = await bench.serve(path)
    (path / "cert.pem").write_bytes(b"nonsense")
    assert await call(bench.channel(target))
    assert bench.metrics.counter(CERTIFICATE_ROTATIONS, "failed")._value.get() >= 1


async def test_channels_are_rebuilt_with_a_new_leaf_and_old_calls_may_end(bench: Any) -> None:
    release = asyncio.Event()

    async def say(request: bytes, context: Context) -> bytes:
        if request == b"slow":
            await release.wait()
        (pem,) = context.auth_context()["x509_pem_cert"]
        return pem

    bench.echo.say = say
    target = await bench.serve()
    path: Path = bench.pki.directory("eu:node/n1")
    channels = Channels(
        IdentityDirectory(path, bench.pki.trust_domain), SystemClock(), bench.metrics, grace_s=5.0
    )
    channels.start(look_s=0.02)
    try:
        assert bench.metrics.gauge(CERTIFICATE_END)._value.get() > 0
        first: Any = channels.get(target, SERVER_NAME)
        assert channels.get(target, SERVER_NAME) is first
        slow = first.unary_unary("/test.Echo/Say")(b"slow")
        old_pem = await first.unary_unary("/test.Echo/Say")(b"")
        bench.pki.directory("eu:node/n1", path=path)
        await eventually(lambda: channels.get(target, SERVER_NAME) is not first, 2.0)
        second: Any = channels.get(target, SERVER_NAME)
        new_pem = await second.unary_unary("/test.Echo/Say")(b"")
        assert new_pem != old_pem
        release.set()
        assert await slow == old_pem
        assert bench.metrics.counter(CHANNELS_REBUILT)._value.get() == 1
    finally:
        await channels.close()


async def test_a_stub_is_made_once_for_each_channel(bench: Any) -> None:
    target = await bench.serve()
    path: Path = bench.pki.directory("admin/ann")
    identity = IdentityDirectory(path, bench.pki.trust_domain)
    channels = Channels(identity, SystemClock(), bench.metrics)
    try:
        stub = channels.stub(target, SERVER_NAME, health_pb2_grpc.HealthStub)
        assert channels.stub(target, SERVER_NAME, health_pb2_grpc.HealthStub) is stub
        assert not channels.refresh()
        bench.pki.directory("admin/ann", path=path)
        assert channels.refresh()
        renewed = channels.stub(target, SERVER_NAME, health_pb2_grpc.HealthStub)
        assert renewed is not stub
        assert await renewed.Check(health_pb2.HealthCheckRequest())
    finally:
        await channels.close()


async def test_an_unusable_rotation_leaves_the_channels_as_they_are(bench: Any) -> None:
    path: Path = bench.pki.directory("admin/ann")
    channels = Channels(
        IdentityDirectory(path, bench.pki.trust_domain), SystemClock(), bench.metrics
    )
    channel = channels.get("127.0.0.1:1", SERVER_NAME)
    (path / "cert.pem").unlink()
    with pytest.raises(IntertieError, match="does not exist"):
        channels.refresh()
    assert channels.get("127.0.0.1:1", SERVER_NAME) is channel
    await channels.close()


async def test_a_graceful_stop_lets_open_calls_end(bench: Any, call: Say) -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def say(_request: bytes, _context: Context) -> bytes:
        entered.set()
        await release.wait()
        return b"done"

    bench.echo.say = say
    channel = bench.channel(await bench.serve())
    calling = asyncio.ensure_future(call(channel))
    await entered.wait()
    stopping = asyncio.ensure_future(bench.servers[0].stop(5.0))
    release.set()
    assert await calling == b"done"
    await stopping
    with pytest.raises(IntertieError) as caught:
        await call(channel)
    assert caught.value.reason is Reason.UNREACHABLE


async def test_a_dead_server_is_unreachable_with_a_hint(bench: Any, call: Say) -> None:
    target = await bench.serve()
    await bench.servers[0].stop(0)
    with pytest.raises(IntertieError, match="Check the address") as caught:
        await call(bench.channel(target))
    assert caught.value.reason is Reason.UNREACHABLE


async def test_an_old_connection_is_replaced_without_failing_calls(
    bench: Any, call: Say, short_options: Any
) -> None:
    channel = bench.channel(await bench.serve(options=short_options))
    peers: set[str] = set()

    async def say(_request: bytes, context: Context) -> bytes:
        peers.add(context.peer())
        return b""

    bench.echo.say = say

    async def two_connections() -> bool:
        await call(channel)
        return len(peers) > 1

    await eventually(two_connections, 5.0)
