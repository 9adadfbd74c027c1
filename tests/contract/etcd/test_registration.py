"""Contract of `Registration`: hold, lose, take again, never against a rival."""

from collections.abc import AsyncIterator
from typing import Protocol

import pytest

from intertie.clock import SystemClock
from intertie.errors import Reason
from intertie.ports import Now
from intertie.store.etcd.claims import body_of, incarnation_of
from intertie.store.etcd.faults import SessionTakenError
from intertie.store.etcd.port import Membership, Remove, Write
from intertie.store.etcd.registration import Registration, Standing, register
from intertie.testing.waiting import consistently, eventually

CLOCK = SystemClock()
TTL_S = 2


class Register(Protocol):
    async def __call__(
        self,
        key: str,
        incarnation: str,
        *,
        body: bytes = b"",
        supersedes: tuple[str, ...] = (),
        standings: list[Standing] | None = None,
    ) -> Registration: ...


@pytest.fixture
async def hold(membership: Membership) -> AsyncIterator[Register]:
    """Register, and close at the end of the test."""
    made = []

    async def hold(
        key: str,
        incarnation: str,
        *,
        body: bytes = b"",
        supersedes: tuple[str, ...] = (),
        standings: list[Standing] | None = None,
    ) -> Registration:
        registration = await register(
            membership,
            CLOCK,
            key,
            incarnation=incarnation,
            ttl_s=TTL_S,
            body=body,
            supersedes=supersedes,
            on_change=None if standings is None else standings.append,
        )
        made.append(registration)
        return registration

    yield hold
    for registration in made:
        await registration.close()


async def test_a_registration_holds_its_key_for_longer_than_its_lease(
    membership: Membership, root: str, hold: Register
) -> None:
    standings: list[Standing] = []
    registration = await hold(root + "s", "one", body=b"a\nb", standings=standings)
    entry = await membership.get(root + "s")
    assert entry is not None
    assert (incarnation_of(entry.value), body_of(entry.value)) == ("one", b"a\nb")
    assert entry.lease == registration.lease

    await consistently(lambda: registration.is_held(CLOCK.now()), 1.5 * TTL_S)
    assert await membership.get(root + "s") == entry
    assert standings == [Standing.HELD]


async def test_another_incarnation_is_refused_and_sees_who_is_there(
    root: str, hold: Register, membership: Membership
) -> None:
    first = await hold(root + "s", "one", body=b"10.0.0.1")
    with pytest.raises(SessionTakenError) as refusal:
        await hold(root + "s", "two")
    assert refusal.value.reason is Reason.SESSION_TAKEN
    assert refusal.value.incarnation == "one"
    assert refusal.value.holder == await membership.get(root + "s")
    assert first.is_held(CLOCK.now())


async def test_the_same_incarnation_takes_its_own_key_over(
    root: str, hold: Register, membership: Membership
) -> None:
    await hold(root + "s", "one", body=b"old")
    again = await hold(root + "s", "one", body=b"new")
    entry = await membership.get(root + "s")
    assert entry is not None
    assert (body_of(entry.value), entry.lease) == (b"new", again.lease)


async def test_a_restarted_process_takes_over_from_its_dead_incarnation(
    root: str, hold: Register
) -> None:
    await hold(root + "s", "one")
    restarted = await hold(root + "s", "two", supersedes=("zero", "one"))
    assert restarted.is_held(CLOCK.now())


async def test_closing_frees_the_key_at_once(
    root: str, hold: Register, membership: Membership
) -> None:
    standings: list[Standing] = []
    registration = await hold(root + "s", "one", standings=standings)
    await registration.close()
    await registration.close()
    assert not registration.is_held(CLOCK.now())
    assert await membership.get(root + "s") is None
    assert standings == [Standing.HELD, Standing.CLOSED]
    assert (await hold(root + "s", "two")).is_held(CLOCK.now())


async def test_a_lost_lease_is_noticed_and_the_key_taken_again(
    root: str, hold: Register, membership: Membership
) -> None:
    standings: list[Standing] = []
    registration = await hold(root + "s", "one", standings=standings)
    lost = registration.lease
    await membership.revoke(lost)
    await eventually(lambda: registration.lease not in (0, lost), TTL_S)
    await registration.wait_held()
    assert standings == [Standing.HELD, Standing.SEEKING, Standing.HELD]
    entry = await membership.get(root + "s")
    assert entry is not None
    assert entry.lease == registration.lease


async def test_a_key_that_somebody_deleted_is_noticed_and_taken_again(
    root: str, hold: Register, membership: Membership
) -> None:
    registration = await hold(root + "s", "one")
    await membership.txn((), (Remove(root + "s"),))

    async def back() -> bool:
        entry = await membership.get(root + "s")
        return entry is not None and entry.lease == registration.lease

    await eventually(back, TTL_S)


async def test_a_key_that_a_rival_took_is_given_up(
    root: str, hold: Register, membership: Membership
) -> None:
    standings: list[Standing] = []
    registration = await hold(root + "s", "one", standings=standings)
    await membership.txn((), (Write(root + "s", b"two"),))
    await eventually(lambda: registration.standing is Standing.TAKEN, TTL_S)
    with pytest.raises(SessionTakenError):
        await registration.wait_held()
    assert not registration.is_held(CLOCK.now())
    assert standings[-1] is Standing.TAKEN
    entry = await membership.get(root + "s")
    assert entry is not None
    assert entry.value == b"two"


async def test_a_reading_of_another_boot_is_never_within_the_fence(
    root: str, hold: Register
) -> None:
    registration = await hold(root + "s", "one")
    now = CLOCK.now()
    assert registration.is_held(now)
    assert not registration.is_held(Now(now.boot_ns, "another boot", now.utc_ms))
