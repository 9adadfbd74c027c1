"""The faults that `MemoryEtcd` makes on demand do what real ones do."""

import pytest

from intertie.store.etcd.claims import claim, claim_session, session_value
from intertie.store.etcd.faults import EtcdUnavailableError, LeaseGoneError, OutcomeUnknownError
from intertie.store.etcd.memory import MemoryEtcd
from intertie.store.etcd.port import Absent, Write
from intertie.testing.clock import FakeClock
from intertie.testing.watched import Watched


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def etcd(clock: FakeClock) -> MemoryEtcd:
    return MemoryEtcd(clock)


async def test_while_it_is_away_nothing_answers_and_nothing_is_lost(etcd: MemoryEtcd) -> None:
    await etcd.txn((), (Write("a", b"1"),))
    etcd.away = True
    with pytest.raises(EtcdUnavailableError):
        await etcd.get("a")
    etcd.away = False
    assert await etcd.get("a") is not None


async def test_a_lost_answer_leaves_a_write_applied_and_in_doubt(etcd: MemoryEtcd) -> None:
    etcd.lose_answers = 1
    with pytest.raises(OutcomeUnknownError):
        await etcd.txn((Absent("a"),), (Write("a", b"1"),))
    assert await etcd.get("a") is not None


async def test_claims_survive_a_lost_answer(etcd: MemoryEtcd) -> None:
    lease = (await etcd.grant(10)).lease
    etcd.lose_answers = 1
    assert await claim(etcd, "a", b"me", lease) is None
    old, new = session_value("one"), (await etcd.grant(10)).lease
    await etcd.txn((), (Write("s", old, lease),))
    etcd.lose_answers = 2
    assert await claim_session(etcd, "s", session_value("two"), new, {"one", "two"}) is None
    entry = await etcd.get("s")
    assert entry is not None
    assert (entry.value, entry.lease) == (b"two", new)


async def test_leases_end_by_the_given_clock(etcd: MemoryEtcd, clock: FakeClock) -> None:
    lease = (await etcd.grant(10)).lease
    async with Watched(etcd, "a") as told:
        await etcd.txn((), (Write("a", b"1", lease),))
        clock.advance(9)
        await etcd.renew(lease, timeout_s=1)
        clock.advance(9)
        assert await etcd.get("a") is not None
        clock.advance(1)
        etcd.expire()
        await told.until(lambda told: told.rows == {}, 1)
    with pytest.raises(LeaseGoneError):
        await etcd.renew(lease, timeout_s=1)


async def test_lost_history_makes_a_watch_start_over(etcd: MemoryEtcd) -> None:
    await etcd.txn((), (Write("a", b"1"),))
    async with Watched(etcd, "a") as told:
        etcd.lose_history()
        await told.until(lambda told: told.resyncs == 2, 1)
    assert told.rows == {"a": b"1"}
