"""Contract of `Membership`: reading, guarded writing, leases."""

import pytest

from intertie.errors import Reason
from intertie.store.etcd.faults import LeaseGoneError
from intertie.store.etcd.port import (
    Absent,
    Membership,
    Remove,
    Unchanged,
    UnderLease,
    Write,
)
from intertie.testing.waiting import eventually


async def test_a_key_that_was_never_written_reads_as_nothing(
    membership: Membership, root: str
) -> None:
    assert await membership.get(root + "a") is None
    assert (await membership.list(root)).entries == ()


async def test_a_write_reads_back_with_the_revisions_of_its_history(
    membership: Membership, root: str
) -> None:
    first = await membership.txn((), (Write(root + "a", b"1"),))
    second = await membership.txn((), (Write(root + "a", b"2"),))
    entry = await membership.get(root + "a")
    assert entry is not None
    assert (entry.value, entry.create_revision, entry.mod_revision, entry.lease) == (
        b"2",
        first.revision,
        second.revision,
        0,
    )


async def test_a_key_written_again_after_its_deletion_has_a_new_creation(
    membership: Membership, root: str
) -> None:
    await membership.txn((), (Write(root + "a", b"1"),))
    await membership.txn((), (Remove(root + "a"),))
    again = await membership.txn((Absent(root + "a"),), (Write(root + "a", b"2"),))
    entry = await membership.get(root + "a")
    assert entry is not None
    assert entry.create_revision == again.revision


async def test_deleting_a_key_that_does_not_exist_makes_no_revision(
    membership: Membership, root: str
) -> None:
    before = (await membership.list(root)).revision
    result = await membership.txn((), (Remove(root + "a"),))
    assert (result.succeeded, result.revision) == (True, before)


async def test_a_list_has_all_keys_of_the_prefix_and_no_others_in_key_order(
    membership: Membership, root: str
) -> None:
    inside = [f"{root}k/{n}" for n in (10, 1, 2, "é", "z")]
    outside = [root + "k", root + "k0", root + "j/9", root + "l"]
    for key in (*inside, *outside):
        await membership.txn((), (Write(key, key.encode()),))
    listing = await membership.list(root + "k/")
    assert [entry.key for entry in listing.entries] == sorted(inside)
    assert all(entry.value == entry.key.encode() for entry in listing.entries)


async def test_operations_of_one_transaction_share_its_revision(
    membership: Membership, root: str
) -> None:
    result = await membership.txn((), (Write(root + "a", b"1"), Write(root + "b", b"2")))
    entries = (await membership.list(root)).entries
    assert {entry.mod_revision for entry in entries} == {result.revision}


async def test_a_refused_transaction_changes_nothing_and_shows_what_stands(
    membership: Membership, root: str
) -> None:
    await membership.txn((), (Write(root + "a", b"1"),))
    result = await membership.txn(
        (Absent(root + "a"), Absent(root + "b")),
        (Write(root + "b", b"2"), Remove(root + "a")),
    )
    assert not result.succeeded
    assert {key: entry.value for key, entry in result.standing.items()} == {root + "a": b"1"}
    assert [entry.value for entry in (await membership.list(root)).entries] == [b"1"]


async def test_a_guard_on_the_last_write_fails_after_another_write(
    membership: Membership, root: str
) -> None:
    first = await membership.txn((), (Write(root + "a", b"1"),))
    guard = Unchanged(root + "a", first.revision)
    assert (await membership.txn((guard,), (Write(root + "a", b"2"),))).succeeded
    refused = await membership.txn((guard,), (Write(root + "a", b"3"),))
    assert not refused.succeeded
    assert refused.standing[root + "a"].value == b"2"


async def test_a_guard_on_a_key_that_is_gone_shows_nothing_standing(
    membership: Membership, root: str
) -> None:
    result = await membership.txn((Unchanged(root + "a", 1),), (Write(root + "a", b"2"),))
    assert (result.succeeded, result.standing) == (False, {})


async def test_a_guard_on_a_lease_tells_owners_apart(membership: Membership, root: str) -> None:
    mine, other = await membership.grant(30), await membership.grant(30)
    await membership.txn((), (Write(root + "a", b"1", mine.lease),))
    write = (Write(root + "a", b"2", mine.lease),)
    assert not (await membership.txn((UnderLease(root + "a", other.lease),), write)).succeeded
    assert (await membership.txn((UnderLease(root + "a", mine.lease),), write)).succeeded


async def test_keys_under_a_lease_go_when_it_is_revoked(membership: Membership, root: str) -> None:
    lease = (await membership.grant(30)).lease
    await membership.txn((), (Write(root + "a", b"1", lease), Write(root + "b", b"2")))
    await membership.revoke(lease)
    assert [entry.key for entry in (await membership.list(root)).entries] == [root + "b"]
    await membership.revoke(lease)


async def test_a_key_that_was_written_under_another_lease_outlives_the_first(
    membership: Membership, root: str
) -> None:
    old, new = (await membership.grant(30)).lease, (await membership.grant(30)).lease
    await membership.txn((), (Write(root + "a", b"1", old), Write(root + "b", b"1", old)))
    await membership.txn((), (Write(root + "a", b"2", new), Write(root + "b", b"2")))
    await membership.revoke(old)
    assert [entry.lease for entry in (await membership.list(root)).entries] == [new, 0]


async def test_a_lease_that_is_not_renewed_ends_with_its_keys(
    membership: Membership, root: str
) -> None:
    lease = await membership.grant(1)
    assert lease.ttl_s >= 1
    await membership.txn((), (Write(root + "a", b"1", lease.lease),))

    async def gone() -> bool:
        return await membership.get(root + "a") is None

    await eventually(gone, 5)
    with pytest.raises(LeaseGoneError) as renewal:
        await membership.renew(lease.lease, timeout_s=2)
    with pytest.raises(LeaseGoneError):
        await membership.txn((), (Write(root + "a", b"1", lease.lease),))
    assert renewal.value.reason is Reason.STORE_UNAVAILABLE


async def test_a_renewal_answers_with_the_time_to_live(membership: Membership) -> None:
    lease = await membership.grant(30)
    assert await membership.renew(lease.lease, timeout_s=2) == lease


async def test_compacting_twice_to_one_revision_is_no_fault(
    membership: Membership, root: str
) -> None:
    await membership.txn((), (Write(root + "a", b"1"),))
    revision = (await membership.txn((), (Write(root + "a", b"2"),))).revision
    await membership.compact(revision)
    await membership.compact(revision)
    entry = await membership.get(root + "a")
    assert entry is not None
    assert entry.value == b"2"


async def test_a_key_that_is_no_text_can_be_seen_and_removed(
    membership: Membership, root: str
) -> None:
    strange = root + "\udcff\udc80"
    await membership.txn((), (Write(strange, b"1"),))
    assert [entry.key for entry in (await membership.list(root)).entries] == [strange]
    await membership.txn((), (Remove(strange),))
    assert await membership.get(strange) is None
