"""What the client says and does when an answer does not come: repeat, move on, or admit doubt."""

import socket
from collections.abc import Callable

import pytest

from intertie.clock import SystemClock
from intertie.errors import Reason
from intertie.store.etcd.claims import claim
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.faults import EtcdRefusedError, EtcdUnavailableError, OutcomeUnknownError
from intertie.store.etcd.port import Absent, Write
from intertie.testing.cut_proxy import CutProxy
from intertie.testing.etcd import EtcdServers, free_ports
from intertie.testing.waiting import eventually

Connect = Callable[..., EtcdClient]


async def test_a_write_whose_answer_is_lost_is_in_doubt_and_may_have_been_applied(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    through, direct = connect(proxy.endpoint), connect(*lone_etcd.endpoints)
    assert await through.get(root + "a") is None
    proxy.muted = True
    with pytest.raises(OutcomeUnknownError) as doubt:
        await through.txn((Absent(root + "a"),), (Write(root + "a", b"1"),))
    assert doubt.value.reason is Reason.STORE_UNAVAILABLE
    entry = await direct.get(root + "a")
    assert entry is not None
    assert entry.value == b"1"


async def test_a_write_in_doubt_is_not_repeated_at_another_member(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    both, direct = connect(proxy.endpoint, *lone_etcd.endpoints), connect(*lone_etcd.endpoints)
    assert await both.get(root + "a") is None
    proxy.muted = True
    with pytest.raises(OutcomeUnknownError):
        await both.txn((), (Write(root + "a", b"1"),))
    entry = await direct.get(root + "a")
    assert entry is not None
    assert entry.create_revision == entry.mod_revision, "written twice"


async def test_a_repeatable_claim_whose_answer_is_lost_finds_that_it_won(
    lone_etcd: EtcdServers, proxy: CutProxy, connect: Connect, root: str
) -> None:
    both = connect(proxy.endpoint, *lone_etcd.endpoints)
    lease = (await both.grant(30)).lease
    proxy.muted = True
    assert await claim(both, root + "a", b"me", lease) is None
    entry = await both.get(root + "a")
    assert entry is not None
    assert entry.lease == lease


async def test_a_write_that_was_surely_not_sent_is_no_doubt(connect: Connect, root: str) -> None:
    nobody = connect(f"127.0.0.1:{free_ports(1)[0]}", call_s=1)
    with pytest.raises(EtcdUnavailableError, match="refused") as fault:
        await nobody.txn((), (Write(root + "a", b"1"),))
    assert not isinstance(fault.value, OutcomeUnknownError)


async def test_a_dead_first_endpoint_costs_nothing(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client = connect(f"127.0.0.1:{free_ports(1)[0]}", *lone_etcd.endpoints)
    clock = SystemClock()
    start_ns = clock.now().boot_ns
    for n in range(20):
        await client.txn((), (Write(f"{root}{n}", b"1"),))
    assert clock.now().boot_ns - start_ns < 1_000_000_000
    statuses = await client.status()
    assert {bool(status.fault) for status in statuses} == {True, False}


async def test_an_endpoint_that_accepts_and_never_speaks_is_passed_over(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(f"127.0.0.1:{silent.getsockname()[1]}", *lone_etcd.endpoints)
        assert (await client.txn((), (Write(root + "a", b"1"),))).succeeded


async def test_reads_and_vouched_writes_wait_out_a_short_freeze(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client = connect(*lone_etcd.endpoints, call_s=1)
    await client.get(root + "a")
    node = lone_etcd.nodes[0]
    node.freeze()
    try:
        with pytest.raises(EtcdUnavailableError):
            await client.get(root + "a")
    finally:
        node.thaw()
    write = (Write(root + "a", b"1"),)
    assert (await client.txn((), write, repeatable=True)).succeeded

    async def healthy() -> bool:
        return not any(status.fault for status in await client.status())

    await eventually(healthy, 5)


async def test_a_write_that_etcd_refuses_is_told_and_not_repeated(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client = connect(*lone_etcd.endpoints)
    with pytest.raises(EtcdRefusedError, match="too large"):
        await client.txn((), (Write(root + "a", bytes(2_000_000)),), repeatable=True)
    assert await client.get(root + "a") is None


async def test_after_closing_an_operation_fails_at_once(
    lone_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    client = connect(*lone_etcd.endpoints)
    await client.get(root + "a")
    await client.close()
    clock = SystemClock()
    start_ns = clock.now().boot_ns
    with pytest.raises(EtcdUnavailableError):
        await client.get(root + "a")
    assert clock.now().boot_ns - start_ns < 500_000_000
