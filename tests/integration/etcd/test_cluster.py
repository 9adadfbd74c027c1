"""Three members: loss and freeze of the leader. Figures of the gaps are printed with `-s`."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from intertie.clock import SystemClock
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.faults import EtcdUnavailableError
from intertie.store.etcd.port import Write
from intertie.store.etcd.registration import Registration, Standing, register
from intertie.testing.etcd import EtcdNode, EtcdServers
from intertie.testing.watched import Watched

CLOCK = SystemClock()
Connect = Callable[..., EtcdClient]
GAP_BOUND_S = 6.0


class Writer:
    """Writes 0, 1, 2 ... under one key, each until it is surely written; knows its longest gap."""

    def __init__(self, client: EtcdClient, key: str) -> None:
        self._client, self._key = client, key
        self.written = -1
        self.gap_s = 0.0

    async def run(self) -> None:
        last_ns = CLOCK.now().boot_ns
        while True:
            write = (Write(self._key, str(self.written + 1).encode()),)
            try:
                await self._client.txn((), write, repeatable=True)
            except EtcdUnavailableError:
                continue
            now_ns = CLOCK.now().boot_ns
            self.gap_s = max(self.gap_s, (now_ns - last_ns) / 1e9)
            last_ns = now_ns
            self.written += 1


@pytest.fixture
async def writer(three_etcds: EtcdServers, connect: Connect, root: str) -> AsyncIterator[Writer]:
    writer = Writer(connect(*three_etcds.endpoints), root + "w/a")
    task = asyncio.create_task(writer.run())
    yield writer
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def check_that_all_goes_on(
    told: Watched, writer: Writer, registration: Registration, what: str
) -> None:
    """Some more writes are written and told; the key is held; nothing was told anew."""
    goal = writer.written + 20
    await told.until(lambda told: int(told.rows.get(writer._key, b"-1")) >= goal, 15)
    await asyncio.wait_for(registration.wait_held(), 10)
    assert registration.is_held(CLOCK.now())
    assert told.resyncs == 1
    print(f"\n{what}: longest gap between two writes {writer.gap_s:.2f} s")
    assert writer.gap_s < GAP_BOUND_S


async def harmed(
    three_etcds: EtcdServers,
    connect: Connect,
    root: str,
    writer: Writer,
    harm: Callable[[EtcdNode], None],
) -> list[Standing]:
    leader = await asyncio.to_thread(three_etcds.leader)
    # The leader first, so that it is the member in use.
    endpoints = sorted(three_etcds.endpoints, key=lambda e: e != leader.endpoint)
    client = connect(*endpoints)
    standings: list[Standing] = []
    registration = await register(
        client, CLOCK, root + "s", incarnation="one", ttl_s=4, on_change=standings.append
    )
    async with Watched(client, root + "w/") as told:
        await told.until(lambda told: writer.written >= 5, 5)
        harm(leader)
        await check_that_all_goes_on(told, writer, registration, harm.__name__)
    await registration.close()
    return standings


async def test_all_goes_on_when_the_leader_is_killed(
    three_etcds: EtcdServers, connect: Connect, root: str, writer: Writer
) -> None:
    leader = await asyncio.to_thread(three_etcds.leader)
    try:
        standings = await harmed(three_etcds, connect, root, writer, EtcdNode.kill)
    finally:
        three_etcds.start_node(leader)
        await asyncio.to_thread(three_etcds.wait_healthy, leader)
    assert standings == [Standing.HELD, Standing.CLOSED]


async def test_all_goes_on_when_the_leader_is_frozen(
    three_etcds: EtcdServers, connect: Connect, root: str, writer: Writer
) -> None:
    leader = await asyncio.to_thread(three_etcds.leader)
    try:
        standings = await harmed(three_etcds, connect, root, writer, EtcdNode.freeze)
    finally:
        leader.thaw()
        await asyncio.to_thread(three_etcds.wait_healthy, leader)
    assert standings == [Standing.HELD, Standing.CLOSED]
