"""Contract of `claims`: who has a key is decided once, and asking again is safe."""

import asyncio

import pytest

from intertie.store.etcd.claims import claim, release, swap
from intertie.store.etcd.port import Membership, Write


async def test_of_many_rivals_for_a_key_one_wins_and_the_others_see_it(
    membership: Membership, root: str
) -> None:
    leases = [(await membership.grant(30)).lease for _ in range(8)]
    answers = await asyncio.gather(
        *(claim(membership, root + "a", str(lease).encode(), lease) for lease in leases)
    )
    winners = [lease for lease, answer in zip(leases, answers, strict=True) if answer is None]
    assert len(winners) == 1
    assert {answer.lease for answer in answers if answer is not None} == set(winners)


async def test_claiming_what_one_has_is_no_fault(membership: Membership, root: str) -> None:
    lease = (await membership.grant(30)).lease
    assert await claim(membership, root + "a", b"me", lease) is None
    assert await claim(membership, root + "a", b"me", lease) is None


async def test_only_the_owner_can_release_a_claim(membership: Membership, root: str) -> None:
    mine, other = (await membership.grant(30)).lease, (await membership.grant(30)).lease
    await claim(membership, root + "a", b"me", mine)
    assert not await release(membership, root + "a", other)
    assert await release(membership, root + "a", mine)
    assert await release(membership, root + "a", mine)
    assert await claim(membership, root + "a", b"other", other) is None


async def test_a_swap_works_once_on_what_was_seen(membership: Membership, root: str) -> None:
    assert await swap(membership, root + "t", b"issued", seen=None) is None
    seen = await membership.get(root + "t")
    assert await swap(membership, root + "t", b"redeemed by A", seen=seen) is None
    standing = await swap(membership, root + "t", b"redeemed by B", seen=seen)
    assert standing is not None
    assert standing.value == b"redeemed by A"


async def test_a_swap_to_what_stands_there_already_is_no_fault(
    membership: Membership, root: str
) -> None:
    await membership.txn((), (Write(root + "t", b"issued"),))
    seen = await membership.get(root + "t")
    assert await swap(membership, root + "t", b"redeemed by A", seen=seen) is None
    assert await swap(membership, root + "t", b"redeemed by A", seen=seen) is None
    assert await swap(membership, root + "t", None, seen=await membership.get(root + "t")) is None
    assert await swap(membership, root + "t", None, seen=seen) is None


async def test_a_swap_of_something_that_is_gone_says_so(membership: Membership, root: str) -> None:
    await swap(membership, root + "t", b"issued", seen=None)
    seen = await membership.get(root + "t")
    await swap(membership, root + "t", None, seen=seen)
    with pytest.raises(LookupError):
        await swap(membership, root + "t", b"redeemed", seen=seen)
