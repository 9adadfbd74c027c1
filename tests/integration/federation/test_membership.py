"""The replica beside a real etcd, and without one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import Reason
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.port import Write
from intertie.testing.etcd import EtcdServers, etcd_binary, running_etcd
from intertie.testing.waiting import eventually

WITHIN_S = 15.0


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdServers]:
    if etcd_binary() is None:
        pytest.skip("etcd is not installed")
    with running_etcd(tmp_path / "etcd") as servers:
        yield servers


def over(place: Any, endpoint: str) -> Any:
    place.overrides["etcd.endpoints"] = f'["{endpoint}"]'
    place.overrides["etcd.ttl_seconds"] = "2"
    return place


async def test_a_replica_registers_and_gives_its_session_up_when_it_stops(
    place: Any, etcd: EtcdServers
) -> None:
    client = EtcdClient(etcd.endpoints)
    replica = await over(place, etcd.endpoints[0]).start()

    async def registered() -> bool:
        return await client.get("replicas/r1/session") is not None

    await eventually(registered, WITHIN_S)
    await replica.stop()
    assert not await registered()
    await client.close()


async def test_a_ban_in_etcd_reaches_the_replica_and_is_lifted_again(
    place: Any, etcd: EtcdServers, create: Any, reason: Any
) -> None:
    client = EtcdClient(etcd.endpoints)
    replica = await over(place, etcd.endpoints[0]).start()
    tasks = place.tasks(replica.address)
    listing = pb.ListTasksRequest(parent="projects/demo")
    await tasks.ListTasks(listing)
    key = "bans/id/spiffe://intertie.example/project/demo/ann"
    await client.txn((), (Write(key, b"lost laptop"),))
    await eventually(lambda: replica.bans.ids, WITHIN_S)
    assert await reason(tasks.ListTasks(listing)) is Reason.BANNED
    etcd.nodes[0].kill()
    assert await reason(tasks.ListTasks(listing)) is Reason.BANNED, "what is banned stays so"
    await client.close()


async def test_submissions_go_on_without_any_etcd(place: Any, create: Any) -> None:
    replica = await over(place, "127.0.0.1:9").start()
    made = await asyncio.wait_for(place.tasks(replica.address).CreateTask(create()), WITHIN_S)
    assert made.name
