"""Beacons and probes over real UDP on loopback."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from intertie.clock import SystemClock, SystemIds
from intertie.errors import IntertieError, Reason
from intertie.latency import echo, probe
from intertie.model.link import Beacon as Named
from intertie.model.link import Beacons, RttReport
from intertie.testing.waiting import eventually
from regional.adapters.beacon.asking import ask
from regional.adapters.beacon.echo import Beacon, Rate
from regional.adapters.beacon.prober import Prober, Rhythm

WITHIN_S = 10.0
NONCE = bytes(range(16))
QUICK = Rhythm(every_ms=100, timeout_ms=200, window=5, keep_ms=60_000)


def now_ns() -> int:
    return SystemClock().now().boot_ns


@pytest.fixture
async def beacon() -> AsyncIterator[Beacon]:
    made = Beacon(SystemClock(), "127.0.0.1:0", 400)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def prober() -> AsyncIterator[Callable[..., tuple[Prober, list[RttReport]]]]:
    made: list[Prober] = []

    def make(rhythm: Rhythm = QUICK) -> tuple[Prober, list[RttReport]]:
        heard: list[RttReport] = []
        found = Prober(SystemClock(), SystemIds(), random.Random(1), rhythm, heard.append)
        found.start()
        made.append(found)
        return found, heard

    yield make
    for each in made:
        await each.stop()


async def test_a_probe_is_echoed_and_its_round_trip_known(beacon: Beacon) -> None:
    rtt_us = await ask(f"127.0.0.1:{beacon.port}", NONCE, now_ns, 5.0)
    assert rtt_us is not None
    assert 0 < rtt_us < 5_000_000


async def test_where_nobody_listens_or_answers_a_probe_is_lost() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        port = mute.getsockname()[1]
        assert await ask(f"127.0.0.1:{port}", NONCE, now_ns, 0.2) is None
    assert await ask(f"127.0.0.1:{port}", NONCE, now_ns, 5.0) is None
    assert await ask("no-such-host.invalid:9", NONCE, now_ns, 5.0) is None


async def test_an_answer_to_another_probe_is_none(beacon: Beacon) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.bind(("127.0.0.1", 0))
        liar.setblocking(False)
        asked = asyncio.create_task(ask(f"127.0.0.1:{liar.getsockname()[1]}", NONCE, now_ns, 0.5))
        loop = asyncio.get_running_loop()
        _, sender = await loop.sock_recvfrom(liar, 100)
        forged = echo(probe(bytes(16)))
        assert forged is not None
        await loop.sock_sendto(liar, forged, sender)
        assert await asked is None
    assert beacon.port


async def test_a_beacon_answers_no_more_than_its_rate_and_nothing_but_probes() -> None:
    made = Beacon(SystemClock(), "127.0.0.1:0", 8)
    await made.start()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.setblocking(False)
            asking.connect(("127.0.0.1", made.port))
            asking.send(b"x" * 24)
            asking.send(probe(NONCE) + b"more")
            for _ in range(50):
                asking.send(probe(NONCE))
            loop = asyncio.get_running_loop()
            answers = [await loop.sock_recv(asking, 100) for _ in range(2)]
            assert answers == [echo(probe(NONCE))] * 2
            assert made.answered <= 4  # 2 a second for one host, and the seconds this took
    finally:
        await made.stop()


def test_a_rate_gives_what_it_promises_and_saves_up_one_second() -> None:
    rate = Rate(4, 0)
    assert [rate.take(0) for _ in range(5)] == [True] * 4 + [False]
    assert [rate.take(250_000_000) for _ in range(2)] == [True, False]
    assert sum(rate.take(3_600_000_000_000) for _ in range(9)) == 4


async def test_a_port_that_is_taken_is_named(beacon: Beacon) -> None:
    with pytest.raises(IntertieError, match=r"beacon\.listen") as caught:
        await Beacon(SystemClock(), f"127.0.0.1:{beacon.port}", 4).start()
    assert caught.value.reason is Reason.CONFIG_INVALID


async def test_all_named_beacons_are_probed_and_those_that_answer_are_reported(
    beacon: Beacon, prober: Callable[..., tuple[Prober, list[RttReport]]]
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        found, heard = prober()
        found.heard(
            Beacons(
                beacons=(
                    Named(region="eu", address=f"127.0.0.1:{beacon.port}"),
                    Named(region="us", address=f"127.0.0.1:{mute.getsockname()[1]}"),
                )
            )
        )

        def is_full() -> bool:
            trips = heard[-1].round_trips if heard else ()
            return [t.region for t in trips] == ["eu"] and trips[0].samples == QUICK.window

        await eventually(is_full, WITHIN_S, what="a full window of the one that answers")
    (trip,) = heard[-1].round_trips
    assert 0 < trip.p50_us <= trip.p95_us


async def test_a_beacon_is_reached_by_the_way_that_the_operator_names(
    beacon: Beacon, prober: Callable[..., tuple[Prober, list[RttReport]]]
) -> None:
    via = {"eu": f"127.0.0.1:{beacon.port}"}
    found, heard = prober(Rhythm(every_ms=100, timeout_ms=200, window=5, keep_ms=60_000, via=via))
    found.heard(Beacons(beacons=(Named(region="eu", address="no-such-host.invalid:1"),)))
    await eventually(lambda: heard and heard[-1].round_trips, WITHIN_S, what="a round trip")
