"""Errors over the wire: they arrive as they were raised, and our own faults tell nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest
from structlog.testing import capture_logs

from intertie.errors import FieldViolation, IntertieError, Reason, error
from intertie.ports import FencedError, StoreUnavailableError
from intertie.telemetry.metrics import RPC_HANDLED, RPC_IN_FLIGHT
from intertie.testing.waiting import eventually
from intertie.transport.call import Context
from intertie.transport.channel import ChannelOptions
from intertie.transport.layers.bounds import Limits
from intertie.transport.server import ServerOptions

Say = Callable[..., Awaitable[bytes]]


def raising(problem: BaseException) -> Callable[[bytes, Context], Awaitable[bytes]]:
    async def say(_request: bytes, _context: Context) -> bytes:
        raise problem

    return say


async def failure(bench: Any, call: Say, **arguments: Any) -> IntertieError:
    with pytest.raises(IntertieError) as caught:
        await call(bench.channel(await bench.serve(**arguments)))
    return caught.value


async def test_an_error_arrives_with_all_its_fields(bench: Any, call: Say) -> None:
    sent = error(
        Reason.INVALID_FIELD,
        "resources.cpu: must be above 0.",
        remedy="Ask for at least 1.",
        fields=[FieldViolation("resources.cpu", "must be above 0")],
        metadata={"limit": "1"},
        retry_after_ms=1500,
    )
    bench.echo.say = raising(sent)
    told = await failure(bench, call)
    assert (told.reason, told.message, told.remedy) == (sent.reason, sent.message, sent.remedy)
    assert (told.fields, told.metadata, told.retry_after_ms) == (
        sent.fields,
        {"limit": "1"},
        1500,
    )
    assert type(told) is type(sent)


async def test_an_unexpected_exception_tells_an_id_and_nothing_else(bench: Any, call: Say) -> None:
    bench.echo.say = raising(KeyError("the secret detail"))
    with capture_logs() as logs:
        told = await failure(bench, call)
    assert told.reason is Reason.INTERNAL
    assert "secret" not in str(told)
    lines = [line for line in logs if line["event"] == "unexpected exception"]
    assert [line["error_id"] for line in lines] == [told.metadata["error_id"]]
    assert isinstance(lines[0]["exc_info"], KeyError)


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (StoreUnavailableError("disk full"), Reason.STORE_UNAVAILABLE),
        (FencedError("epoch 4"), Reason.NOT_OWNER),
    ],
)
async def test_a_store_that_fails_asks_for_a_retry(
    bench: Any, call: Say, problem: Exception, reason: Reason
) -> None:
    bench.echo.say = raising(problem)
    told = await failure(bench, call)
    assert told.reason is reason
    assert "request_id" in told.remedy


async def test_an_abort_of_the_handler_s_own_passes_through(bench: Any, call: Say) -> None:
    async def say(_request: bytes, context: Context) -> bytes:
        await context.abort(grpc.StatusCode.NOT_FOUND, "nothing here")

    bench.echo.say = say
    told = await failure(bench, call)
    assert (told.reason, told.message) == (Reason.NOT_FOUND, "nothing here")
    handled = bench.metrics.counter(RPC_HANDLED, "/test.Echo/Say", "NOT_FOUND")
    await eventually(lambda: handled._value.get() == 1, 2.0)


async def test_a_call_without_a_deadline_gets_the_server_s(bench: Any) -> None:
    async def say(_request: bytes, _context: Context) -> bytes:
        await asyncio.Event().wait()
        return b""

    bench.echo.say = say
    target = await bench.serve(options=ServerOptions(default_deadline_s=0.05))
    # Our channels always set a deadline; a client in another language may not.
    raw: Any = grpc.aio.secure_channel(
        target,
        bench.channel_credentials("admin/ann"),
        options=[("grpc.ssl_target_name_override", "federation.intertie.example")],
    )
    bench.channels.append(raw)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await raw.unary_unary("/test.Echo/Say")(b"")
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "the server's 0.05 s" in (caught.value.details() or "")


async def test_a_client_sets_a_deadline_by_itself(bench: Any, call: Say) -> None:
    async def say(_request: bytes, _context: Context) -> bytes:
        await asyncio.Event().wait()
        return b""

    bench.echo.say = say
    channel = bench.channel(await bench.serve(), options=ChannelOptions(default_deadline_s=0.1))
    with pytest.raises(IntertieError) as caught:
        await call(channel)
    assert caught.value.reason is Reason.DEADLINE_EXCEEDED
    in_flight = bench.metrics.gauge(RPC_IN_FLIGHT, "/test.Echo/Say")
    await eventually(lambda: in_flight._value.get() == 0, 2.0)


async def test_too_many_calls_are_told_when_to_come_back(bench: Any, call: Say) -> None:
    options = ServerOptions(limits=Limits(calls_per_s=0.1, burst=2))
    target = await bench.serve(options=options)
    ann, bob = bench.channel(target, "admin/ann"), bench.channel(target, "admin/bob")
    for _ in range(2):
        await call(ann)
    with pytest.raises(IntertieError) as caught:
        await call(ann)
    assert caught.value.reason is Reason.RATE_LIMITED
    assert 0 < (caught.value.retry_after_ms or 0) <= 10_001
    assert await call(bob)


async def test_too_many_streams_are_refused_until_one_ends(bench: Any) -> None:
    options = ServerOptions(limits=Limits(streams=1))
    channel = bench.channel(await bench.serve(options=options))
    first = channel.stream_stream("/test.Echo/Chat")()
    await first.write(b"one")
    assert await first.read() == b"one"
    second = channel.stream_stream("/test.Echo/Chat")()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await second.read()
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await first.done_writing()
    assert not await first.read()
    third = channel.stream_stream("/test.Echo/Chat")()
    await third.write(b"three")
    assert await third.read() == b"three"


async def test_a_message_over_the_limit_is_named(bench: Any, call: Say) -> None:
    target = await bench.serve(options=ServerOptions(max_message_bytes=1000))
    with pytest.raises(IntertieError) as caught:
        await call(bench.channel(target), b"x" * 2000)
    assert caught.value.reason is Reason.TOO_LARGE


async def test_an_unknown_method_is_a_matter_of_versions(bench: Any, call: Say) -> None:
    with pytest.raises(IntertieError) as caught:
        await call(bench.channel(await bench.serve()), method="FromTheFuture")
    assert caught.value.reason is Reason.VERSION_UNSUPPORTED


async def test_authorization_comes_before_the_handler_sees_the_request(
    bench: Any, call: Say
) -> None:
    seen: list[bytes] = []

    async def say(request: bytes, _context: Context) -> bytes:
        seen.append(request)
        return b""

    bench.echo.say = say
    channel = bench.channel(await bench.serve(), "project/genome/bob")
    with pytest.raises(IntertieError) as caught:
        await call(channel, b"not even valid", method="Admin")
    assert caught.value.reason is Reason.PERMISSION_DENIED
    assert seen == []
