"""Contract of `Membership.watch`: everything first, then each change once and in order."""

import contextlib

from intertie.store.etcd.port import Delete, Membership, Put, Remove, Resync, Write
from intertie.testing.watched import Watched


async def test_a_watch_begins_with_everything_that_stands(
    membership: Membership, root: str
) -> None:
    for n in range(5):
        await membership.txn((), (Write(f"{root}{n}", b"x"),))
    async with contextlib.aclosing(membership.watch(root)) as events:
        first = await anext(events)
    assert isinstance(first, Resync)
    assert first.entries == (await membership.list(root)).entries


async def test_a_watch_of_an_empty_prefix_says_so_at_once(
    membership: Membership, root: str
) -> None:
    async with contextlib.aclosing(membership.watch(root)) as events:
        first = await anext(events)
    assert isinstance(first, Resync)
    assert first.entries == ()


async def test_each_change_is_told_once_and_in_order(membership: Membership, root: str) -> None:
    async with Watched(membership, root) as told:
        for n in range(50):
            await membership.txn((), (Write(root + "a", str(n).encode()),))
        await membership.txn((), (Remove(root + "a"),))
        await told.until(lambda told: isinstance(told.events[-1], Delete), 5)
    puts = [event.entry.value for event in told.events if isinstance(event, Put)]
    assert puts == [str(n).encode() for n in range(50)]
    assert len(told.events) == 52


async def test_changes_outside_of_the_prefix_are_not_told(
    membership: Membership, root: str
) -> None:
    async with Watched(membership, root + "k/") as told:
        await membership.txn((), (Write(root + "k", b"no"), Write(root + "k0", b"no")))
        await membership.txn((), (Write(root + "k/1", b"yes"),))
        await told.until(lambda told: len(told.events) > 1, 5)
    assert [e.entry.key for e in told.events if isinstance(e, Put)] == [root + "k/1"]


async def test_all_changes_of_one_transaction_are_told(membership: Membership, root: str) -> None:
    await membership.txn((), (Write(root + "a", b"1"),))
    async with Watched(membership, root) as told:
        await membership.txn((), (Remove(root + "a"), Write(root + "b", b"2")))
        await told.until(lambda told: told.rows == {root + "b": b"2"}, 5)


async def test_the_end_of_a_lease_is_told_as_a_deletion(membership: Membership, root: str) -> None:
    lease = await membership.grant(1)
    await membership.txn((), (Write(root + "a", b"1", lease.lease),))
    async with Watched(membership, root) as told:
        await told.until(lambda told: isinstance(told.events[-1], Delete), 5)
    assert told.rows == {}


async def test_two_watches_of_one_prefix_are_told_the_same(
    membership: Membership, root: str
) -> None:
    async with Watched(membership, root) as one, Watched(membership, root) as two:
        await membership.txn((), (Write(root + "a", b"1"),))
        await one.until(lambda told: len(told.events) == 2, 5)
        await two.until(lambda told: len(told.events) == 2, 5)
    assert one.events[1] == two.events[1]


async def test_a_watch_ends_when_the_membership_is_closed(
    membership: Membership, root: str
) -> None:
    async with Watched(membership, root) as told:
        await membership.close()
        await told.until(lambda told: told.ended, 5)
