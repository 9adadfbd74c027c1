"""What a commit promises: all or nothing, one owner, dense numbers, unique names."""

import pytest

from intertie.ports import (
    Change,
    Claim,
    ConflictError,
    Delete,
    Event,
    FencedError,
    Put,
    ShardCommit,
    Store,
)


def _events(*keys: str) -> list[Event]:
    return [Event(key, "projects/a", key.encode()) for key in keys]


async def _standing(store: Store, space: str, name: str) -> Claim | None:
    return (await store.claims([(space, name)])).get((space, name))


def _claim(name: str, digest: str = "d", space: str = "request") -> Claim:
    return Claim(space, name, digest, result=f"result of {name}", utc_ms=7)


async def test_a_new_shard_starts_at_epoch_1_without_changes(store: Store) -> None:
    head = await store.acquire(5)
    assert (head.shard, head.epoch, head.last_seq) == (5, 1, 0)
    assert await store.last_seq(5) == 0


async def test_acquiring_again_bumps_the_epoch_and_keeps_the_number(store: Store) -> None:
    await store.acquire(0)
    await store.commit([ShardCommit(0, 1, 1, events=_events("a", "b"))])
    head = await store.acquire(0)
    assert (head.epoch, head.last_seq) == (2, 2)


async def test_a_commit_is_read_back_whole(store: Store) -> None:
    await store.acquire(0)
    changes: list[Change] = [
        Put("task", "t1", b"\x00\xffbody", scope="projects/a", ord="1"),
        _claim("r1"),
    ]
    await store.commit([ShardCommit(0, 1, 1, changes, _events("t1"))])
    assert await store.get(0, "task", "t1") == b"\x00\xffbody"
    assert await _standing(store, "request", "r1") == _claim("r1")
    (event,) = await store.events(0, 0, limit=10)
    assert (event.shard, event.seq, event.key) == (0, 1, "t1")
    assert (event.scope, event.body) == ("projects/a", b"t1")


async def test_what_was_never_written_is_none(store: Store) -> None:
    assert await store.get(0, "task", "none") is None
    assert await _standing(store, "request", "none") is None
    assert await store.last_seq(9) == 0
    assert list(await store.events(9, 0, limit=10)) == []


async def test_an_empty_commit_is_accepted(store: Store) -> None:
    await store.acquire(0)
    await store.commit([])
    await store.commit([ShardCommit(0, 1, 99)])
    assert await store.last_seq(0) == 0


async def test_an_older_epoch_is_fenced_and_changes_nothing(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(0)
    with pytest.raises(FencedError):
        await store.commit([ShardCommit(0, 1, 1, [Put("task", "t", b"old")], _events("t"))])
    assert await store.get(0, "task", "t") is None
    assert await store.last_seq(0) == 0


async def test_a_commit_without_events_is_fenced_too(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(0)
    with pytest.raises(FencedError):
        await store.commit([ShardCommit(0, 1, 0, [Put("task", "t", b"old")])])
    assert await store.get(0, "task", "t") is None


@pytest.mark.parametrize("epoch", [0, 1, 2])
async def test_a_shard_that_nobody_acquired_refuses_every_epoch(store: Store, epoch: int) -> None:
    for events in ([], _events("a")):
        with pytest.raises(FencedError):
            await store.commit([ShardCommit(3, epoch, 1, [Put("k", "a", b"")], events)])


@pytest.mark.parametrize("first_seq", [0, 1, 2, 4, 5])
async def test_a_gap_or_overlap_in_numbers_is_fenced(store: Store, first_seq: int) -> None:
    await store.acquire(0)
    await store.commit([ShardCommit(0, 1, 1, events=_events("a", "b"))])
    with pytest.raises(FencedError):
        await store.commit([ShardCommit(0, 1, first_seq, [_claim("r")], _events("c"))])
    assert await store.last_seq(0) == 2
    assert await _standing(store, "request", "r") is None


async def test_one_fenced_shard_undoes_the_others_of_the_commit(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(1)
    await store.acquire(1)
    good = ShardCommit(0, 1, 1, [Put("task", "t", b"x"), _claim("r")], _events("t"))
    stale = ShardCommit(1, 1, 1, [Put("task", "u", b"x")], _events("u"))
    for commits in ([good, stale], [stale, good]):
        with pytest.raises(FencedError):
            await store.commit(commits)
    assert await store.get(0, "task", "t") is None
    assert await _standing(store, "request", "r") is None
    assert (await store.last_seq(0), await store.last_seq(1)) == (0, 0)
    await store.commit([good])


async def test_one_commit_may_carry_a_shard_twice_in_sequence(store: Store) -> None:
    await store.acquire(0)
    first = ShardCommit(0, 1, 1, [Put("task", "t", b"1")], _events("a", "b"))
    second = ShardCommit(0, 1, 3, [Put("task", "t", b"2")], _events("c"))
    await store.commit([first, second])
    assert [event.key for event in await store.events(0, 0, limit=9)] == ["a", "b", "c"]
    assert await store.get(0, "task", "t") == b"2"
    with pytest.raises(FencedError):
        await store.commit([ShardCommit(0, 1, 4, events=_events("d"))] * 2)
    assert await store.last_seq(0) == 3


async def test_the_last_change_of_a_row_wins(store: Store) -> None:
    await store.acquire(0)
    put, again, gone = Put("k", "a", b"1"), Put("k", "a", b"2"), Delete("k", "a")
    await store.commit([ShardCommit(0, 1, 0, [put, again])])
    assert await store.get(0, "k", "a") == b"2"
    await store.commit([ShardCommit(0, 1, 0, [put, gone])])
    assert await store.get(0, "k", "a") is None
    await store.commit([ShardCommit(0, 1, 0, [gone, again])])
    assert await store.get(0, "k", "a") == b"2"
    await store.commit([ShardCommit(0, 1, 0, [Delete("k", "never there")])])


async def test_a_delete_spares_the_same_key_elsewhere(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(1)
    puts = [Put("k", "a", b"1"), Put("other", "a", b"2")]
    await store.commit([ShardCommit(0, 1, 0, puts), ShardCommit(1, 1, 0, puts)])
    await store.commit([ShardCommit(0, 1, 0, [Delete("k", "a")])])
    assert await store.get(0, "k", "a") is None
    assert await store.get(0, "other", "a") == b"2"
    assert await store.get(1, "k", "a") == b"1"


async def test_a_taken_claim_undoes_the_commit_and_is_told(store: Store) -> None:
    await store.acquire(0)
    await store.commit([ShardCommit(0, 1, 1, [_claim("r1", "first")], _events("a"))])
    changes: list[Change] = [
        _claim("r0"),
        _claim("r1", "second"),
        Put("task", "t", b"x"),
        Delete("task", "u"),
    ]
    with pytest.raises(ConflictError) as caught:
        await store.commit([ShardCommit(0, 1, 2, changes, _events("b"))])
    assert caught.value.claim == _claim("r1", "first")
    assert await _standing(store, "request", "r0") is None
    assert await store.get(0, "task", "t") is None
    assert await store.last_seq(0) == 1
    await store.commit([ShardCommit(0, 1, 2, [_claim("r0")], _events("b"))])


async def test_a_name_claimed_twice_in_one_commit_conflicts_with_the_first(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(1)
    first = ShardCommit(0, 1, 0, [_claim("r", "first")])
    second = ShardCommit(1, 1, 0, [_claim("r", "second")])
    with pytest.raises(ConflictError) as caught:
        await store.commit([first, second])
    assert caught.value.claim == _claim("r", "first")
    assert await _standing(store, "request", "r") is None


async def test_the_first_claim_in_order_is_the_one_told(store: Store) -> None:
    await store.acquire(0)
    await store.commit([ShardCommit(0, 1, 0, [_claim("a"), _claim("b")])])
    with pytest.raises(ConflictError) as caught:
        await store.commit([ShardCommit(0, 1, 0, [_claim("new"), _claim("b"), _claim("a")])])
    assert caught.value.claim.name == "b"


async def test_spaces_of_claims_are_apart(store: Store) -> None:
    await store.acquire(0)
    claims = [_claim("r", space="request"), _claim("r", space="rid")]
    await store.commit([ShardCommit(0, 1, 0, claims)])
    assert await _standing(store, "rid", "r") == claims[1]


async def test_a_fence_is_told_before_a_conflict(store: Store) -> None:
    await store.acquire(0)
    await store.commit([ShardCommit(0, 1, 0, [_claim("r")])])
    await store.acquire(0)
    with pytest.raises(FencedError):
        await store.commit([ShardCommit(0, 1, 0, [_claim("r")])])


async def test_a_large_commit_is_one_commit(store: Store) -> None:
    count = 777  # no power of two: every size of statement is used
    await store.acquire(0)
    puts = [Put("leaf", f"{i:04}", b"%d" % i) for i in range(count)]
    claims = [_claim(f"{i}", space="rid") for i in range(count)]
    keys = [f"{i:04}" for i in range(count)]
    await store.commit([ShardCommit(0, 1, 1, [*puts, *claims], _events(*keys))])
    assert [row.body async for row in store.scan(0, "leaf")] == [p.body for p in puts]
    assert [event.key for event in await store.events(0, 0, limit=count)] == keys
    taken = [*[_claim(f"new {i}", space="rid") for i in range(count)], claims[-1]]
    with pytest.raises(ConflictError) as caught:
        await store.commit([ShardCommit(0, 1, 0, taken)])
    assert caught.value.claim == claims[-1]
    assert await _standing(store, "rid", "new 0") is None
    await store.commit([ShardCommit(0, 1, 0, [Delete("leaf", key) for key in keys[1:]])])
    assert [row.key async for row in store.scan(0, "leaf")] == ["0000"]
