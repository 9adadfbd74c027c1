"""The fence in real failures: nobody believes to hold a key that the server has dropped."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from intertie.clock import SystemClock
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.faults import SessionTakenError
from intertie.store.etcd.registration import Registration, Standing, register
from intertie.testing.cut_proxy import CutProxy
from intertie.testing.etcd import EtcdServers
from intertie.testing.waiting import eventually

CLOCK = SystemClock()
TTL_S = 2
Connect = Callable[..., EtcdClient]


@asynccontextmanager
async def held(
    client: EtcdClient, key: str, incarnation: str, standings: list[Standing] | None = None
) -> AsyncIterator[Registration]:
    registration = await register(
        client,
        CLOCK,
        key,
        incarnation=incarnation,
        ttl_s=TTL_S,
        on_change=None if standings is None else standings.append,
    )
    try:
        yield registration
    finally:
        await registration.close()


async def test_a_cut_off_holder_stops_before_the_server_drops_its_key(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    through, direct = connect(proxy.endpoint), connect(*lone_etcd.endpoints)
    standings: list[Standing] = []
    async with held(through, root + "s", "one", standings) as registration:
        await proxy.cut()

        async def dropped() -> bool:
            return await direct.get(root + "s") is None

        # The key is asked for first and the fence second: a dropped key must find it down.
        await eventually(dropped, TTL_S + 4, 0.005)
        assert not registration.is_held(CLOCK.now())
        assert standings == [Standing.HELD, Standing.SEEKING]

        await proxy.open()
        await eventually(lambda: registration.is_held(CLOCK.now()), 5)
        assert await direct.get(root + "s") is not None


async def test_a_rival_may_come_in_only_after_the_fence_and_then_stays(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    through, direct = connect(proxy.endpoint), connect(*lone_etcd.endpoints)
    async with held(through, root + "s", "one") as first:
        await proxy.cut()

        async def rival() -> Registration | None:
            try:
                second = await register(direct, CLOCK, root + "s", incarnation="two", ttl_s=TTL_S)
            except SessionTakenError:
                return None
            assert not first.is_held(CLOCK.now())
            return second

        second = await eventually(rival, 8)
        assert second is not None
        await proxy.open()
        await eventually(lambda: first.standing is Standing.TAKEN, 5)
        assert second.is_held(CLOCK.now())
        await second.close()


async def test_a_registration_outlives_a_restart_of_the_server(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client, node = connect(*lone_etcd.endpoints), lone_etcd.nodes[0]
    standings: list[Standing] = []
    async with held(client, root + "s", "one", standings) as registration:
        lease = registration.lease
        node.kill()
        lone_etcd.start_node(node)
        await asyncio.to_thread(lone_etcd.wait_healthy, node)
        await eventually(lambda: registration.is_held(CLOCK.now()), 5)
        entry = await client.get(root + "s")
        assert entry is not None
        assert entry.lease == registration.lease
        if standings == [Standing.HELD]:
            assert registration.lease == lease


async def test_a_frozen_server_fences_its_clients_and_takes_them_back(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client, node = connect(*lone_etcd.endpoints), lone_etcd.nodes[0]
    standings: list[Standing] = []
    async with held(client, root + "s", "one", standings) as registration:
        node.freeze()
        await eventually(lambda: not registration.is_held(CLOCK.now()), TTL_S + 1)
        node.thaw()
        await eventually(lambda: registration.is_held(CLOCK.now()), 8)
        await eventually(lambda: standings[-1] is Standing.HELD, 1)
    assert standings == [Standing.HELD, Standing.SEEKING, Standing.HELD, Standing.CLOSED]


HOLDER = """
import asyncio, sys
from intertie.clock import SystemClock
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.registration import register

async def main(endpoint, key, ttl_s):
    clock, client = SystemClock(), EtcdClient([endpoint])
    registration = await register(client, clock, key, incarnation="frozen", ttl_s=ttl_s)
    while True:
        now = clock.now()
        print(now.boot_ns, int(registration.is_held(now)), registration.lease, flush=True)
        await asyncio.sleep(0.01)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


async def test_a_process_that_wakes_from_a_freeze_knows_at_once_that_it_lost_its_key(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client = connect(*lone_etcd.endpoints)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, lone_etcd.endpoints[0], root + "s", str(TTL_S)),
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    try:
        _, is_held, old_lease = (await process.stdout.readline()).split()
        assert is_held == b"1"
        process.send_signal(signal.SIGSTOP)

        async def dropped() -> bool:
            return await client.get(root + "s") is None

        await eventually(dropped, TTL_S + 4)
        woken_ns = CLOCK.now().boot_ns
        process.send_signal(signal.SIGCONT)
        is_held, lease = b"0", old_lease
        while is_held == b"0" or lease == old_lease:
            said_ns, is_held, lease = (await process.stdout.readline()).split()
            believes = is_held == b"1" and lease == old_lease
            assert not (believes and int(said_ns) >= woken_ns), "it woke believing in its old lease"
        entry = await client.get(root + "s")
        assert entry is not None
    finally:
        process.kill()
        await process.wait()


async def test_closing_does_not_wait_for_a_server_that_is_away(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    through = connect(proxy.endpoint)
    async with held(through, root + "s", "one") as registration:
        await proxy.cut()
        start_ns = CLOCK.now().boot_ns
        await registration.close(within_s=0.3)
        assert CLOCK.now().boot_ns - start_ns < 1_000_000_000
        assert not registration.is_held(CLOCK.now())


async def test_a_loop_that_dies_is_noticed_by_whoever_waits(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    faults = [ZeroDivisionError("on purpose")]

    def break_once(_: Standing) -> None:
        if faults:
            raise faults.pop()

    registration = Registration(
        connect(*lone_etcd.endpoints),
        CLOCK,
        root + "s",
        incarnation="one",
        ttl_s=TTL_S,
        on_change=break_once,
    )
    registration.start()
    await eventually(lambda: registration.standing is Standing.BROKEN, 5)
    with pytest.raises(RuntimeError, match="bug"):
        await registration.wait_held()
    await eventually(lambda: not registration.is_held(CLOCK.now()), TTL_S + 1)
