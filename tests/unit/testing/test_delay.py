"""The delay proxy over real sockets: what it promises about time, order, cuts and commands."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path as File

import pytest

from intertie.testing.delay.control import serve_control
from intertie.testing.delay.paths import Path, Route, Table
from intertie.testing.delay.proxy import DelayProxy

BOUND_S = 10.0


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


class Line:
    """One connection through the proxy to an echo."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def round_trip_s(self) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.writer.write(b"x")
        await asyncio.wait_for(self.reader.readexactly(1), BOUND_S)
        return loop.time() - began


@pytest.fixture
async def proxy() -> AsyncIterator[DelayProxy]:
    made = DelayProxy(Table({}), random.Random(1))
    yield made
    await made.close()


@pytest.fixture
async def line(proxy: DelayProxy) -> AsyncIterator[Line]:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    (port,) = await proxy.open([Route(0, target, "a", "b")])
    line = Line(*await asyncio.open_connection("127.0.0.1", port))
    yield line
    line.writer.close()
    server.close()


async def test_no_round_trip_is_shorter_than_both_delays_and_a_change_counts_at_once(
    proxy: DelayProxy, line: Line
) -> None:
    await proxy.change("a", "b", Path(delay_ms=30))
    await proxy.change("b", "a", Path(delay_ms=10))
    assert min([await line.round_trip_s() for _ in range(5)]) >= 0.04
    await proxy.change("a", "b", Path())
    await proxy.change("b", "a", Path())
    assert min([await line.round_trip_s() for _ in range(5)]) < 0.04


async def test_bytes_keep_their_order_whatever_the_jitter(proxy: DelayProxy, line: Line) -> None:
    await proxy.change("a", "b", Path(jitter_ms=5))
    await proxy.change("b", "a", Path(jitter_ms=5))
    sent = bytes(range(256)) * 2_000
    line.writer.write(sent)
    assert await asyncio.wait_for(line.reader.readexactly(len(sent)), BOUND_S) == sent


async def test_what_a_cut_holds_back_flows_on_when_it_is_mended(
    proxy: DelayProxy, line: Line
) -> None:
    await line.round_trip_s()
    await proxy.change("b", "a", Path(cut=True))
    answer = asyncio.create_task(line.round_trip_s())
    done, _ = await asyncio.wait({answer}, timeout=0.1)
    assert not done, "the answer does not pass"
    await proxy.change("b", "a", Path())
    assert await answer > 0


async def test_commands_change_a_round_trip_and_faulty_ones_change_nothing(
    proxy: DelayProxy, tmp_path: File
) -> None:
    server = await serve_control(proxy, tmp_path / "c")
    reader, writer = await asyncio.open_unix_connection(str(tmp_path / "c"))

    async def ask(line: bytes) -> dict[str, object]:
        writer.write(line + b"\n")
        answer: dict[str, object] = json.loads(await reader.readline())
        return answer

    assert "paths" in await ask(b'{"from": "a", "to": "b", "rtt_ms": 20}')
    assert proxy.table.path("a", "b") == proxy.table.path("b", "a") == Path(delay_ms=10)
    before = proxy.table.rows()
    for faulty in (
        b"{",
        b"[1]",
        b'{"from": "a"}',
        b'{"from": "a", "to": "b", "rtt_ms": -1}',
        b'{"from": "a", "to": "b", "rtt_ms": NaN}',
        b'{"from": "a", "to": "b", "delay_ms": [1]}',
    ):
        assert "error" in await ask(faulty)
    assert await ask(b"{}") == {"paths": before}
    writer.close()
    server.close()


async def test_a_target_that_is_not_there_ends_the_connection(proxy: DelayProxy) -> None:
    unused = await asyncio.start_server(echo, "127.0.0.1", 0)
    gone = unused.sockets[0].getsockname()[1]
    unused.close()
    await unused.wait_closed()
    (port,) = await proxy.open([Route(0, f"127.0.0.1:{gone}", "a", "b")])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await asyncio.wait_for(reader.read(), BOUND_S) == b""
    writer.close()
