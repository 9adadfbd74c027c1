"""A server that ends a call while its client writes: the client learns why."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from intertie.transport.failure import told_why

ROUNDS = 50


async def _refuses_the_third(requests: AsyncIterator[bytes], context: Any) -> None:
    count = 0
    async for _ in requests:
        count += 1
        if count == 3:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the reason")


async def _takes_one(requests: AsyncIterator[bytes], context: Any) -> bytes:
    del context
    return await anext(requests)


async def _chunks() -> AsyncIterator[bytes]:
    for _ in range(1_000):
        yield b"x"
        await asyncio.sleep(0)  # a turn for the reader


@pytest.fixture
async def channel() -> AsyncIterator[grpc.aio.Channel]:
    server = grpc.aio.server()
    handlers: dict[str, Any] = {
        "Both": grpc.stream_stream_rpc_method_handler(_refuses_the_third),
        "Enough": grpc.stream_unary_rpc_method_handler(_takes_one),
        "Upload": grpc.stream_unary_rpc_method_handler(_refuses_the_third),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("test", handlers)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as opened:
        yield opened
    await server.stop(None)


async def _write_until_it_fails(call: Any) -> BaseException:
    while True:
        try:
            await call.write(b"x")
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as failure:
            return failure
        await asyncio.sleep(0)  # a turn for the reader


async def test_a_link_that_is_cut_amid_its_writes_is_told_why(channel: grpc.aio.Channel) -> None:
    for _ in range(ROUNDS):
        call: Any = told_why(channel.stream_stream("/test/Both")())
        writer = asyncio.create_task(_write_until_it_fails(call))
        with pytest.raises(grpc.aio.AioRpcError, match="the reason") as told:
            await call.read()
        assert told.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        failure = await writer
        assert not isinstance(failure, grpc.aio.AioRpcError) or failure.details() == "the reason"


async def test_an_upload_that_is_refused_amid_its_writes_is_told_why(
    channel: grpc.aio.Channel,
) -> None:
    upload: Any = channel.stream_unary("/test/Upload")
    for _ in range(ROUNDS):
        call: Any = told_why(upload(_chunks()))
        with pytest.raises(grpc.aio.AioRpcError, match="the reason"):
            await call


async def test_an_upload_of_which_the_server_needs_no_more_succeeds(
    channel: grpc.aio.Channel,
) -> None:
    upload: Any = channel.stream_unary("/test/Enough")
    for _ in range(ROUNDS):
        assert await told_why(upload(_chunks())) == b"x"


async def test_a_cancelled_call_is_cancelled(channel: grpc.aio.Channel) -> None:
    call: Any = told_why(channel.stream_stream("/test/Both")())
    await call.write(b"x")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call.read()
