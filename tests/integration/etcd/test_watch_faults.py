"""Watches through restarts, freezes, cuts and compactions: nothing missed, nothing told twice."""

import asyncio
from collections.abc import Callable

import structlog.testing

from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.port import Put, Resync, Write
from intertie.testing.cut_proxy import CutProxy
from intertie.testing.etcd import EtcdServers
from intertie.testing.waiting import eventually, let_pass
from intertie.testing.watched import Watched

Connect = Callable[..., EtcdClient]


async def put(client: EtcdClient, key: str, *values: int) -> int:
    """Write values one after another; returns the last revision."""
    revision = 0
    for value in values:
        result = await client.txn((), (Write(key, str(value).encode()),))
        revision = result.revision
    return revision


def values(told: Watched) -> list[int]:
    return [int(event.entry.value) for event in told.events if isinstance(event, Put)]


async def test_a_watch_goes_on_after_the_server_was_killed_and_restarted(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client, node = connect(*lone_etcd.endpoints), lone_etcd.nodes[0]
    async with Watched(client, root) as told:
        await put(client, root + "a", 0, 1)
        node.kill()
        lone_etcd.start_node(node)
        await asyncio.to_thread(lone_etcd.wait_healthy, node)
        await put(connect(*lone_etcd.endpoints), root + "a", 2, 3)
        await told.until(lambda told: told.rows == {root + "a": b"3"}, 5)
    assert values(told) == [0, 1, 2, 3]
    assert told.resyncs == 1


async def test_a_watch_goes_on_after_the_server_was_frozen(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client, node = connect(*lone_etcd.endpoints), lone_etcd.nodes[0]
    async with Watched(client, root) as told:
        await put(client, root + "a", 0)
        node.freeze()
        with structlog.testing.capture_logs() as logs:
            await eventually(lambda: logs, 3)
        node.thaw()
        await put(client, root + "a", 1)
        await told.until(lambda told: told.rows == {root + "a": b"1"}, 5)
    assert values(told) == [0, 1]
    assert told.resyncs == 1


async def test_what_happened_during_a_cut_is_told_in_order_afterwards(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    through, direct = connect(proxy.endpoint), connect(*lone_etcd.endpoints)
    async with Watched(through, root) as told:
        await put(direct, root + "a", 0)
        await told.until(lambda told: values(told) == [0], 5)
        await proxy.cut()
        await put(direct, root + "a", *range(1, 20))
        await proxy.open()
        await told.until(lambda told: told.rows == {root + "a": b"19"}, 5)
    assert values(told) == list(range(20))
    assert told.resyncs == 1


async def test_everything_is_told_anew_when_the_missed_history_was_compacted(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    through, direct = connect(proxy.endpoint), connect(*lone_etcd.endpoints)
    async with Watched(through, root) as told:
        await put(direct, root + "gone", 0)
        await told.until(lambda told: values(told) == [0], 5)
        await proxy.cut()
        await put(direct, root + "a", 1, 2)
        await direct.compact(await put(direct, root + "a", 3))
        await proxy.open()
        await told.until(lambda told: told.resyncs == 2, 5)
        await put(direct, root + "a", 4)
        await told.until(lambda told: told.rows[root + "a"] == b"4", 5)
    resync = [event for event in told.events if isinstance(event, Resync)][1]
    assert {entry.key: entry.value for entry in resync.entries} == {
        root + "a": b"3",
        root + "gone": b"0",
    }
    assert values(told) == [0, 4]


async def test_a_connection_that_falls_silent_is_given_up_for_another(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    client, direct = connect(proxy.endpoint, *lone_etcd.endpoints), connect(*lone_etcd.endpoints)
    async with Watched(client, root) as told:
        await put(direct, root + "a", 0)
        await told.until(lambda told: values(told) == [0], 5)
        proxy.muted = True
        await put(direct, root + "a", 1)
        await told.until(lambda told: values(told) == [0, 1], 5)
    assert told.resyncs == 1


async def test_an_idle_watch_outlives_many_signs_of_life(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client = connect(*lone_etcd.endpoints)
    with structlog.testing.capture_logs() as logs:
        async with Watched(client, root) as told:
            await let_pass(1.5, "no changes for longer than a watch tolerates silence")
            await put(client, root + "a", 0)
            await told.until(lambda told: values(told) == [0], 1)
    assert logs == []
