"""The private port: metrics, health, and short answers to anything else."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from intertie.errors import IntertieError, Reason
from intertie.telemetry.http import TelemetryServer
from intertie.telemetry.metrics import RPC_REFUSED
from intertie.telemetry.registry import Metrics


class Health:
    def __init__(self) -> None:
        self.good = True


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
async def port(health: Health) -> AsyncIterator[int]:
    metrics = Metrics()
    metrics.counter(RPC_REFUSED, "BANNED").inc()
    server = TelemetryServer(metrics.registry, lambda: health.good)
    yield await server.start()
    await server.stop()


async def ask(port: int, raw: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 5.0)
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


async def get(port: int, path: str) -> tuple[int, bytes]:
    return await ask(port, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


async def test_metrics_are_served_as_text(port: int) -> None:
    status, body = await get(port, "/metrics?x=1")
    assert status == 200
    assert b'intertie_rpc_refused_total{reason="BANNED"} 1.0' in body


async def test_health_follows_the_process(port: int, health: Health) -> None:
    assert await get(port, "/healthz") == (200, b"ok\n")
    health.good = False
    assert (await get(port, "/healthz"))[0] == 503


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /other HTTP/1.1\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
        (b"nonsense", 400),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 20_000 + b"\r\n\r\n", 431),
    ],
)
async def test_anything_else_gets_a_short_answer(port: int, raw: bytes, status: int) -> None:
    assert (await ask(port, raw))[0] == status


async def test_a_taken_port_is_a_typed_error(port: int) -> None:
    second = TelemetryServer(Metrics().registry, lambda: True)
    with pytest.raises(IntertieError) as caught:
        await second.start(port)
    assert caught.value.reason is Reason.PORT_IN_USE
    await second.stop()
