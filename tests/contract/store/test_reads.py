"""What reads promise: order, bounds, limits, cursors, retention, persistence."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from intertie.ports import (
    Change,
    Claim,
    Delete,
    Event,
    Put,
    ShardCommit,
    Store,
    StoreUnavailableError,
)

Reopen = Callable[[], Awaitable[Store]]


async def _standing(store: Store, space: str, name: str) -> Claim | None:
    return (await store.claims([(space, name)])).get((space, name))


async def _listed(store: Store) -> None:
    """Five rows of one scope over three shards, and rows that belong to other lists."""
    for shard in range(3):
        await store.acquire(shard)
    await store.commit(
        [
            ShardCommit(0, 1, 0, [_row("d"), _row("a"), _row("x", scope="projects/b")]),
            ShardCommit(1, 1, 0, [_row("c"), _row("x", kind="run")]),
            ShardCommit(
                2, 1, 0, [_row("b"), _row("e"), Put("task", "unlisted", b"", "projects/a")]
            ),
        ]
    )


def _row(name: str, kind: str = "task", scope: str = "projects/a") -> Put:
    return Put(kind, f"key {name}", name.encode(), scope=scope, ord=name)


async def _names(store: Store, **bounds: object) -> str:
    listed = await store.list_rows("task", "projects/a", **{"limit": 100, **bounds})  # type: ignore[arg-type]  # the tests name bounds freely
    return "".join(row.ord for row in listed)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, "abcde"),
        ({"descending": True}, "edcba"),
        ({"limit": 2}, "ab"),
        ({"limit": 2, "descending": True}, "ed"),
        ({"after": "b"}, "cde"),
        ({"before": "d"}, "abc"),
        ({"after": "a", "before": "d"}, "bc"),
        ({"after": "a", "before": "e", "limit": 2, "descending": True}, "dc"),
        ({"after": "bb"}, "cde"),
        ({"after": "e"}, ""),
        ({"limit": 0}, ""),
    ],
)
async def test_lists_are_ordered_over_shards_and_bounded(
    store: Store, bounds: dict[str, object], expected: str
) -> None:
    await _listed(store)
    assert await _names(store, **bounds) == expected


async def test_a_listed_row_is_read_back_whole(store: Store) -> None:
    await _listed(store)
    (row,) = await store.list_rows("task", "projects/b", limit=5)
    assert (row.shard, row.kind, row.key) == (0, "task", "key x")
    assert (row.scope, row.ord, row.body) == ("projects/b", "x", b"x")


async def test_a_row_without_an_order_is_in_no_list(store: Store) -> None:
    await _listed(store)
    assert await store.get(2, "task", "unlisted") == b""
    assert "unlisted" not in [
        row.key for row in await store.list_rows("task", "projects/a", limit=100)
    ]


async def test_lists_follow_updates_and_deletes(store: Store) -> None:
    await _listed(store)
    moved = Put("task", "key a", b"", scope="projects/a", ord="z")
    left = Put("task", "key d", b"", scope="projects/b", ord="d")
    await store.commit([ShardCommit(0, 1, 0, [moved, left])])
    await store.commit([ShardCommit(2, 1, 0, [Delete("task", "key b")])])
    assert await _names(store) == "cez"


async def test_equal_orders_are_listed_by_shard_and_key(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(1)
    same = [Put("task", key, b"", "projects/a", "same") for key in ("q", "p")]
    await store.commit([ShardCommit(1, 1, 0, same), ShardCommit(0, 1, 0, same)])
    for descending in (False, True):
        listed = await store.list_rows("task", "projects/a", limit=9, descending=descending)
        places = [(row.shard, row.key) for row in listed]
        assert places == sorted(places, reverse=descending)
        assert len(places) == 4


async def test_scan_gives_one_kind_of_one_shard_in_key_order(store: Store) -> None:
    await store.acquire(0)
    await store.acquire(1)
    keys = ["b", "", "a", "ü", "B", "\U0001f600", "\uff5e"]
    await store.commit(
        [
            ShardCommit(0, 1, 0, [Put("task", key, b"") for key in keys]),
            ShardCommit(0, 1, 0, [Put("run", "r", b"")]),
            ShardCommit(1, 1, 0, [Put("task", "elsewhere", b"")]),
        ]
    )
    assert [row.key async for row in store.scan(0, "task")] == sorted(keys)


async def test_scan_goes_past_a_page(store: Store) -> None:
    await store.acquire(0)
    keys = [f"{i:05}" for i in range(2000)]
    await store.commit([ShardCommit(0, 1, 0, [Put("task", key, b"") for key in keys])])
    assert [row.key async for row in store.scan(0, "task")] == keys


async def test_events_are_read_by_cursor(store: Store) -> None:
    await store.acquire(0)
    events = [Event("odd" if i % 2 else "even", "", b"%d" % i) for i in range(1, 11)]
    await store.commit([ShardCommit(0, 1, 1, events=events)])
    seqs = [event.seq for event in await store.events(0, 0, limit=100)]
    assert seqs == list(range(1, 11))
    assert [event.seq for event in await store.events(0, 3, limit=2)] == [4, 5]
    assert list(await store.events(0, 10, limit=5)) == []
    assert [event.seq for event in await store.events(0, 3, limit=2, key="odd")] == [5, 7]
    assert list(await store.events(0, 0, limit=5, key="none")) == []
    assert await store.last_seq(0) == 10


async def test_claims_are_looked_up_many_at_once(store: Store) -> None:
    await store.acquire(0)
    made = [Claim(space, f"{i}", "d", "", 0) for i in range(300) for space in ("a", "b")]
    await store.commit([ShardCommit(0, 1, 0, made)])
    asked = [("a", f"{i}") for i in range(250, 350)] + [("b", "7"), ("b", "7"), ("c", "7")]
    found = await store.claims(asked)
    assert set(found) == {("a", f"{i}") for i in range(250, 300)} | {("b", "7")}
    assert found["b", "7"] == Claim("b", "7", "d", "", 0)
    assert await store.claims([]) == {}


async def test_forgetting_drops_the_oldest_claims_first(store: Store) -> None:
    await store.acquire(0)
    claims = [Claim("request", f"r{i}", "", "", utc_ms=i) for i in (3, 1, 4, 2)]
    other = Claim("rid", "kept", "", "", utc_ms=0)
    await store.commit([ShardCommit(0, 1, 0, [*claims, other])])
    assert await store.forget_claims("request", 4, limit=2) == 2
    assert await _standing(store, "request", "r2") is None
    assert await _standing(store, "request", "r3") is not None
    assert await store.forget_claims("request", 4, limit=2) == 1
    assert await store.forget_claims("request", 4, limit=2) == 0
    assert await _standing(store, "request", "r4") is not None
    assert await _standing(store, "rid", "kept") is not None


async def test_a_forgotten_name_can_be_claimed_again(store: Store) -> None:
    await store.acquire(0)
    old, new = (Claim("request", "r", digest, "", utc_ms=1) for digest in ("old", "new"))
    await store.commit([ShardCommit(0, 1, 0, [old])])
    await store.forget_claims("request", 2, limit=10)
    await store.commit([ShardCommit(0, 1, 0, [new])])
    assert await _standing(store, "request", "r") == new


async def test_everything_is_there_after_a_restart(store: Store, reopen: Reopen) -> None:
    await store.acquire(0)
    claim = Claim("request", "r", "d", "t", 5)
    changes: list[Change] = [Put("task", "t", b"body", "projects/a", "1"), claim]
    await store.commit([ShardCommit(0, 1, 1, changes, [Event("t", "", b"e")])])
    again = await reopen()
    try:
        assert await again.get(0, "task", "t") == b"body"
        assert await _standing(again, "request", "r") == claim
        assert await _names(again) == "1"
        head = await again.acquire(0)
        assert (head.epoch, head.last_seq) == (2, 1)
        await again.commit(
            [ShardCommit(0, 2, 2, [Put("task", "t", b"new")], [Event("t", "", b"")])]
        )
    finally:
        await again.close()


async def test_a_closed_store_says_so_and_closes_twice(store: Store) -> None:
    await store.acquire(0)
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailableError):
        await store.commit([])
    with pytest.raises(StoreUnavailableError):
        await store.get(0, "task", "t")
    with pytest.raises(StoreUnavailableError):
        await store.acquire(0)


async def test_commits_begun_together_are_all_applied(store: Store) -> None:
    await store.acquire(0)
    puts = [[Put("task", f"{i}", b"")] for i in range(50)]
    await asyncio.gather(*(store.commit([ShardCommit(0, 1, 0, put)]) for put in puts))
    assert len([row async for row in store.scan(0, "task")]) == 50
