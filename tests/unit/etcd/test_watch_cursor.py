"""What a response on a watch means: go on, open another stream, or list everything again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.store.etcd.port import Delete, Entry, Put
from intertie.store.etcd.reads import Head
from intertie.store.etcd.rpc import prefix_range
from intertie.store.etcd.watch import Batch, Verdict, WatchCursor


def put(revision: int) -> Put:
    return Put(Entry(f"k{revision}", b"", revision, revision))


def test_changes_up_to_the_cursor_are_not_told_again() -> None:
    cursor = WatchCursor(Head(1, 10))
    verdict, events = cursor.take(Batch((put(9), put(10), put(11), Delete("k", 12))))
    assert (verdict, events) == (Verdict.GO_ON, [put(11), Delete("k", 12)])
    assert cursor.take(Batch((put(12),))) == (Verdict.GO_ON, [])


def test_all_changes_of_one_revision_are_told() -> None:
    cursor = WatchCursor(Head(1, 10))
    assert cursor.take(Batch((put(11), Delete("k", 11))))[1] == [put(11), Delete("k", 11)]


def test_a_response_without_changes_does_not_move_the_cursor() -> None:
    cursor = WatchCursor(Head(1, 10))
    assert cursor.take(Batch()) == (Verdict.GO_ON, [])
    assert cursor.head == Head(1, 10)


def test_a_cancelled_watch_is_opened_again() -> None:
    assert WatchCursor(Head(1, 10)).take(Batch(cancelled=True))[0] is Verdict.REOPEN


def test_a_compacted_watch_is_listed_again() -> None:
    batch = Batch(cancelled=True, compact_revision=20)
    assert WatchCursor(Head(1, 10)).take(batch)[0] is Verdict.LIST_AGAIN


@pytest.mark.parametrize(
    ("head", "fits"),
    [(Head(1, 10), True), (Head(1, 11), True), (Head(1, 9), False), (Head(2, 10), False)],
)
def test_another_cluster_or_an_older_one_does_not_fit(head: Head, *, fits: bool) -> None:
    assert WatchCursor(Head(1, 10)).fits(head) is fits


@given(st.text(min_size=1), st.text())
def test_a_prefix_range_holds_exactly_the_keys_that_start_with_it(prefix: str, other: str) -> None:
    try:
        first, end = prefix_range(prefix)
        keys = [(prefix + other).encode(), other.encode()]
    except UnicodeEncodeError:  # a lone surrogate is no key
        return
    for key in keys:
        assert (first <= key < end) == key.startswith(prefix.encode())


def test_the_empty_prefix_is_every_key() -> None:
    assert prefix_range("") == (b"\0", b"\0")
