"""etcd holds who is a member, nothing else: its loss stops no task and forgets nobody."""

from typing import Any

import pytest

from intertie.model.states import Reachability, TaskState
from intertie.store.etcd.channels import Tls
from intertie.store.etcd.client import EtcdClient
from intertie.testing.waiting import eventually, let_pass

pytestmark = pytest.mark.alone

TTL_S = 3


async def session(cluster: Any) -> bytes | None:
    """What etcd has as the region's session."""
    identity = cluster.layout.identity("etcd-client")
    tls = Tls(
        root=(identity / "trust.pem").read_bytes(),
        certificate=(identity / "cert.pem").read_bytes(),
        key=(identity / "key.pem").read_bytes(),
    )
    client = EtcdClient([f"127.0.0.1:{cluster.description.etcd[0]}"], tls=tls)
    try:
        entry = await client.get("regions/suzhou-core/session")
        return entry.value if entry is not None else None
    finally:
        await client.close()


async def test_the_loss_of_etcd_stops_no_task_and_forgets_no_member(
    person: Any, cluster: Any
) -> None:
    cluster.change("region", "etcd", ttl_seconds=TTL_S)
    cluster.crash("region")
    cluster.start("region")
    held = await eventually(lambda: session(cluster), 20, 0.2, what="a session")
    task = await person.submit("sleep 1000", move=True)
    run = await person.running(task)
    processes = person.processes(task)

    cluster.crash("etcd")
    await let_pass(TTL_S + 2, "etcd is away for longer than its time to live")
    assert (await person.ended(await person.submit("true"))).state is TaskState.SUCCEEDED
    region = await person.client.get_region("suzhou-core")
    assert region.reachability is Reachability.REACHABLE
    assert person.processes(task) == processes

    cluster.start("etcd")

    async def back() -> bool:
        return await session(cluster) == held

    await eventually(back, 20, 0.2, what="the same session in etcd")
    assert (await person.running(task)).token == run.token
    assert person.processes(task) == processes
    assert (await person.ended(await person.submit("true"))).state is TaskState.SUCCEEDED
