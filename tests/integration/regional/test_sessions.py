"""Two schedulers with one region id: etcd lets one live, a successor of a killed one goes on."""

from pathlib import Path
from typing import Any

import pytest

from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.pki.bans import Bans
from intertie.store.etcd.memory import MemoryEtcd
from intertie.store.etcd.port import Write
from intertie.testing.waiting import consistently, eventually
from regional.adapters.etcd import Session, remember_incarnation

WITHIN_S = 10.0


def _session(
    etcd: Any, incarnation: str, earlier: tuple[str, ...] = (), bans: Bans | None = None
) -> tuple[Session, Any]:
    taken: list[bool] = []
    session = Session(
        etcd,
        SystemClock(),
        "eu",
        incarnation,
        bans=Bans() if bans is None else bans,
        earlier=earlier,
        ttl_s=2,
        taken=lambda: taken.append(True),
    )
    session.start()
    return session, taken


async def test_a_second_scheduler_of_a_region_is_refused_with_an_alarm() -> None:
    etcd = MemoryEtcd(SystemClock())
    first, first_taken = _session(etcd, "r1")
    await eventually(lambda: first.is_held, WITHIN_S, what="the session")
    second, second_taken = _session(etcd, "r2")
    await eventually(lambda: second_taken, WITHIN_S, what="the alarm")
    await consistently(lambda: first.is_held and not second.is_held, 0.2)
    assert not first_taken
    await second.stop()
    await first.stop()


async def test_a_successor_from_the_same_state_directory_takes_over_at_once(
    tmp_path: Path,
) -> None:
    etcd = MemoryEtcd(SystemClock())
    assert remember_incarnation(tmp_path, "r1") == ()
    killed, _ = _session(etcd, "r1")
    await eventually(lambda: killed.is_held, WITHIN_S, what="the session")
    earlier = remember_incarnation(tmp_path, "r2")
    assert earlier == ("r1",)
    successor, taken = _session(etcd, "r2", earlier)
    await eventually(lambda: successor.is_held, WITHIN_S, what="the takeover")
    assert not taken
    await successor.stop()
    await killed.stop()


async def test_a_region_follows_the_ban_list() -> None:
    etcd, bans = MemoryEtcd(SystemClock()), Bans()
    session, _ = _session(etcd, "r1", bans=bans)
    node = "spiffe://eu.intertie.example/node/n1"
    await etcd.txn((), (Write(f"bans/id/{node}", b""), Write("bans/serial/0aB", b"")))
    await eventually(lambda: bans.ids, WITHIN_S, what="the ban")
    await eventually(lambda: bans.serials, WITHIN_S, what="the other ban")
    assert bans.ids == {node}
    assert bans.serials == {"ab"}
    await session.stop()


async def test_only_the_last_incarnations_are_remembered(tmp_path: Path) -> None:
    for n in range(20):
        earlier = remember_incarnation(tmp_path, f"r{n}")
    assert earlier[-1] == "r18"
    assert len(earlier) <= 9


async def test_two_schedulers_cannot_use_one_state_directory(place: Any) -> None:
    await place.start()
    with pytest.raises(IntertieError) as refusal:
        await place.start()
    assert refusal.value.reason is Reason.STATE_DIR_IN_USE


async def test_a_port_that_is_taken_is_named(place: Any) -> None:
    application = await place.start()
    place.overrides |= {"listen": application.address, "state_dir": str(place.path / "other")}
    with pytest.raises(IntertieError) as refusal:
        await place.start()
    assert refusal.value.reason is Reason.PORT_IN_USE


async def test_a_lost_log_key_is_not_replaced_in_silence(place: Any, spec: Any) -> None:
    application = await place.start()
    agent = await place.agent()
    await place.attached()
    place.federation.assign("eu", spec)
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    await eventually(
        lambda: application.publisher.cosigned_size > 0, WITHIN_S, what="the first leaf"
    )
    await application.stop()
    (place.state / "keys" / "log.key").unlink()
    with pytest.raises(IntertieError) as refusal:
        await place.start()
    assert refusal.value.reason is Reason.CONFIG_INVALID
    assert "log.key" in str(refusal.value)
