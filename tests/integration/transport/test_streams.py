"""Streams: cut by a ban or an expiry, cancelled by the client, checked in both directions."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc.aio
import pytest

from intertie.clock import SystemClock
from intertie.errors import Reason
from intertie.pki.check import read_leaf
from intertie.pki.profile import HOUR_MS
from intertie.ports import Now
from intertie.testing.waiting import eventually
from intertie.transport.client import clock_metadata
from intertie.transport.failure import error_from_rpc

NODE = "spiffe://eu.intertie.example/node/n1"
CUT_WITHIN_S = 1.0
Say = Callable[..., Awaitable[bytes]]


class ShiftedClock:
    """The system's clock, moved by hand."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def now(self) -> Now:
        now = SystemClock().now()
        return Now(now.boot_ns, now.boot_id, now.utc_ms + self.ahead_ms)


async def cut_reason(read: Awaitable[object]) -> Reason:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(read, CUT_WITHIN_S)
    return error_from_rpc(caught.value).reason


@pytest.mark.parametrize("method", ["Chat", "Talk"])
@pytest.mark.parametrize("by", ["serial", "id"])
async def test_a_ban_cuts_an_idle_stream_within_a_second(bench: Any, method: str, by: str) -> None:
    node = bench.pki.directory("eu:node/n1")
    channel = bench.channel(await bench.serve(), node)
    stream = channel.stream_stream(f"/test.Echo/{method}")(metadata=clock_metadata(SystemClock()))
    await stream.write(b"one")
    assert await stream.read() == b"one"
    reading = asyncio.ensure_future(stream.read())
    identity = read_leaf((node / "cert.pem").read_bytes(), "intertie.example")
    if by == "serial":
        bench.pki.bans.ban(serials=[identity.serial])
    else:
        bench.pki.bans.ban(ids=[NODE])
    assert await cut_reason(reading) is Reason.BANNED
    await eventually(lambda: len(bench.servers[0].streams) == 0, 1.0)


async def test_a_ban_cuts_a_stream_of_responses_and_its_handler_cleans_up(bench: Any) -> None:
    channel = bench.channel(await bench.serve(), "eu:node/n1")
    stream = channel.unary_stream("/test.Echo/Count")(b"0")
    await eventually(lambda: len(bench.servers[0].streams) == 1, 2.0)
    bench.pki.bans.ban(ids=[NODE])
    assert await cut_reason(stream.read()) is Reason.BANNED
    assert bench.echo.cancelled == ["count"]


async def test_a_ban_leaves_the_streams_of_others_open(bench: Any) -> None:
    channel = bench.channel(await bench.serve(), "eu:node/n2")
    stream = channel.stream_stream("/test.Echo/Chat")()
    await stream.write(b"one")
    assert await stream.read() == b"one"
    bench.pki.bans.ban(ids=[NODE])
    await stream.write(b"two")
    assert await stream.read() == b"two"
    await stream.done_writing()
    assert not await stream.read()


async def test_a_banned_identity_can_open_nothing_on_its_old_connection(
    bench: Any, call: Say
) -> None:
    channel = bench.channel(await bench.serve(), "eu:node/n1")
    assert await call(channel)
    bench.pki.bans.ban(ids=[NODE])
    stream = channel.stream_stream("/test.Echo/Chat")()
    assert await cut_reason(stream.read()) is Reason.BANNED


async def test_a_message_after_the_certificate_s_end_cuts_the_stream(bench: Any) -> None:
    clock = ShiftedClock()
    channel = bench.channel(await bench.serve(clock=clock), "eu:node/n1")
    stream = channel.stream_stream("/test.Echo/Chat")()
    await stream.write(b"one")
    assert await stream.read() == b"one"
    clock.ahead_ms = HOUR_MS + 1000
    await stream.write(b"two")
    assert await cut_reason(stream.read()) is Reason.CERTIFICATE_EXPIRED


async def test_an_idle_stream_ends_with_its_certificate(bench: Any) -> None:
    clock = ShiftedClock()
    channel = bench.channel(await bench.serve(clock=clock), "eu:node/n1")
    stream = channel.unary_stream("/test.Echo/Count")(b"0")
    await eventually(lambda: len(bench.servers[0].streams) == 1, 2.0)
    clock.ahead_ms = HOUR_MS + 1000
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asyncio.wait_for(stream.read(), 3.0)
    assert error_from_rpc(caught.value).reason is Reason.CERTIFICATE_EXPIRED


async def test_a_client_that_cancels_is_a_cancellation_to_the_handler(bench: Any) -> None:
    channel = bench.channel(await bench.serve())
    stream = channel.unary_stream("/test.Echo/Count")(b"0")
    await eventually(lambda: len(bench.servers[0].streams) == 1, 2.0)
    stream.cancel()
    await eventually(lambda: bench.echo.cancelled == ["count"], 2.0)
    await eventually(lambda: len(bench.servers[0].streams) == 0, 2.0)


async def test_a_client_that_cancels_ends_the_requests_of_a_handler(bench: Any) -> None:
    # To a handler that waits for a request, grpc.aio shows a cancelled client as the end of them.
    channel = bench.channel(await bench.serve())
    stream = channel.stream_stream("/test.Echo/Chat")()
    await stream.write(b"one")
    assert await stream.read() == b"one"
    stream.cancel()
    await eventually(lambda: len(bench.servers[0].streams) == 0, 2.0)


async def test_every_shape_of_call_passes_the_layers(bench: Any) -> None:
    channel = bench.channel(await bench.serve())
    counted = channel.unary_stream("/test.Echo/Count")(b"3")
    assert [message async for message in counted] == [b"0", b"1", b"2"]
    assert await channel.stream_unary("/test.Echo/Gather")(iter([b"a", b"b"])) == b"ab"
    chat = channel.stream_stream("/test.Echo/Chat")(iter([b"x", b"y"]))
    assert [message async for message in chat] == [b"x", b"y"]
