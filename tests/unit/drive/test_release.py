"""Commit before release: what leaves a drive, when, and in which order (invariant I13)."""

from typing import Any

import pytest

from intertie.drive.drive import Drive, Loaded
from intertie.drive.effects import Erase, Record, Reply, Reserve, Write
from intertie.ports import Delete, Now, Put, ShardHead
from intertie.store.codec import encode
from intertie.testing.clock import FakeClock
from intertie.testing.cores.bank import (
    ACCOUNT,
    CLOSED,
    SHARDS,
    Account,
    Close,
    Moved,
    Notice,
    Promise,
    shard_of,
)


class Scripted:
    """A core whose events are the effects that follow from them."""

    deadline: int | None = None

    def handle(self, event: object, now: Now) -> list[object]:
        assert isinstance(event, list)
        return event


@pytest.fixture
def scripted() -> Drive:
    drive = Drive(lambda rows, now: Scripted(), lambda value: repr(value).encode())
    drive.load([ShardHead(0, 7, 40), ShardHead(1, 3, 0)], [], FakeClock().now())
    return drive


def decide(drive: Drive) -> Any:
    drive.take()
    return drive.decide({}, FakeClock().now())


def test_outward_effects_leave_in_the_order_of_their_events(crank: Any) -> None:
    crank.move(1, 5)
    crank.move(2, 6)
    crank.move(3, 7)
    assert list(crank.turn().effects) == [
        Notice("", 5),
        Reply(1, 5),
        Notice("", 6),
        Reply(2, 11),
        Notice("", 7),
        Reply(3, 18),
    ]


def test_nothing_is_seen_or_counted_before_the_commit_is_durable(crank: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    assert crank.drive.view.count(ACCOUNT) == 0
    crank.finish()
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)


def test_the_core_runs_ahead_of_what_readers_see(crank: Any) -> None:
    crank.move(1, 5)
    crank.turn()
    crank.move(2, 5)
    crank.begin()
    assert crank.drive.core.accounts["bob"].balance == 10
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)


def test_a_snapshot_of_the_view_survives_later_commits(crank: Any) -> None:
    crank.move(1, 5)
    crank.turn()
    values = crank.drive.view.values(ACCOUNT)
    crank.drive.push(Close(2, "bob"))
    crank.turn()
    assert {account.name for account in values} == {"ann", "bob"}
    assert crank.drive.view.get(ACCOUNT, "bob") is None


def test_an_event_pushed_during_a_commit_waits_for_the_next_batch(crank: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.move(2, 6)
    assert [e for e in crank.finish().effects if isinstance(e, Reply)] == [Reply(1, 5)]
    assert crank.drive.backlog == 1
    assert [e for e in crank.turn().effects if isinstance(e, Reply)] == [Reply(2, 11)]


def test_the_last_change_of_a_row_wins_and_is_the_only_one_written(crank: Any, puts: Any) -> None:
    for ticket in range(1, 6):
        crank.move(ticket, 1)
    written = {put.key: put.body for put in puts(crank.begin())}
    assert written == {
        "ann": encode(Account("ann", -5, 5)),
        "bob": encode(Account("bob", 5, 5)),
    }
    assert len(puts(crank.commits)) == 2


@pytest.mark.parametrize(
    ("effects", "left"),
    [
        ([Write(0, "row", "a", 1), Erase(0, "row", "a")], None),
        ([Erase(0, "row", "a"), Write(0, "row", "a", 2)], 2),
        ([Write(1, "row", "a", 1), Erase(1, "row", "a"), Write(0, "row", "a", 3)], 3),
        ([Erase(1, "row", "a"), Write(0, "row", "a", 4)], 4),
    ],
)
def test_the_view_follows_the_order_of_changes_across_shards(
    scripted: Drive, effects: list[object], left: int | None
) -> None:
    scripted.push(effects)
    decide(scripted)
    scripted.committed()
    assert scripted.view.get("row", "a") == left


def test_a_row_that_is_erased_and_written_again_is_put(scripted: Drive) -> None:
    scripted.push([Erase(0, "row", "a"), Write(0, "row", "a", 2, "s", "o"), Erase(0, "row", "b")])
    (commit,) = decide(scripted)
    assert list(commit.changes) == [Put("row", "a", b"2", "s", "o"), Delete("row", "b")]


def test_each_shard_numbers_its_entries_from_its_own_head(scripted: Drive) -> None:
    scripted.push([Record(0, "a", "", 1), Record(1, "b", "", 2), Record(0, "c", "", 3)])
    first, second = decide(scripted)
    assert (first.shard, first.epoch, first.first_seq, len(first.events)) == (0, 7, 41, 2)
    assert (second.shard, second.epoch, second.first_seq, len(second.events)) == (1, 3, 1, 1)
    logged = scripted.committed().logged
    assert [(entry.shard, entry.seq) for entry in logged] == [(0, 41), (1, 1), (0, 42)]


def test_log_numbers_stay_dense_over_many_batches_and_shards(small: Any) -> None:
    names = [f"account-{n}" for n in range(12)]
    seen: dict[int, list[int]] = {shard: [] for shard in range(SHARDS)}
    for n in range(120):
        small.move(n + 1, 1, source=names[n % 12], target=names[n * 7 % 11])
    while small.drive.backlog:
        for commit in small.begin():
            assert commit.first_seq == len(seen[commit.shard]) + 1
        for entry in small.finish().logged:
            assert isinstance(entry.value, Moved)
            assert entry.shard == shard_of(entry.value.account)
            seen[entry.shard].append(entry.seq)
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in seen.values())
    assert sum(len(numbers) for numbers in seen.values()) == 240


def test_a_commit_without_entries_does_not_move_the_numbers(scripted: Drive) -> None:
    scripted.push([Write(0, "row", "a", 1)])
    decide(scripted)
    scripted.committed()
    scripted.push([Record(0, "a", "", 1)])
    (commit,) = decide(scripted)
    assert commit.first_seq == 41


def test_a_batch_that_changes_nothing_needs_no_commit(scripted: Drive) -> None:
    scripted.push([Reply(1, "read")])
    assert not decide(scripted)
    assert list(scripted.committed().effects) == [Reply(1, "read")]


def test_unseen_kinds_are_written_but_never_held(crank: Any, puts: Any) -> None:
    crank.move(1, 5)
    crank.turn()
    crank.drive.push(Close(2, "bob"))
    assert [put.kind for put in puts(crank.begin())] == [CLOSED]
    crank.finish()
    assert crank.drive.view.count(CLOSED) == 0
    assert crank.drive.view.get(ACCOUNT, "bob") is None


def test_unseen_kinds_reach_the_core_at_loading_but_not_the_view(crank: Any) -> None:
    seen: list[Loaded] = []

    def make(rows: Any, now: Now) -> Scripted:
        seen.extend(rows)
        return Scripted()

    drive = Drive(make, encode, unseen=frozenset({CLOSED}))
    rows = [
        Loaded(ACCOUNT, "ann", Account("ann", 1, 1)),
        Loaded(CLOSED, "bob", Account("bob", 2, 1)),
    ]
    drive.load([ShardHead(0, 1, 0)], rows, crank.now)
    assert seen == rows
    assert drive.view.get(ACCOUNT, "ann") == Account("ann", 1, 1)
    assert drive.view.count(CLOSED) == 0


def test_batches_hold_at_most_what_was_configured(small: Any) -> None:
    for ticket in range(1, 8):
        small.move(ticket, 1)
    backlogs = []
    while small.drive.backlog:
        small.turn()
        backlogs.append(small.drive.backlog)
    assert backlogs == [4, 1, 0]


def test_an_unowned_shard_is_a_fault_of_ours(scripted: Drive) -> None:
    scripted.push([Write(5, "row", "a", 1)])
    with pytest.raises(AssertionError, match="shard 5 is not owned"):
        decide(scripted)


def test_a_name_reserved_twice_in_a_batch_is_a_fault_of_ours(scripted: Drive) -> None:
    scripted.push([Reserve(0, "s", "n", "d", "one")])
    scripted.push([Reserve(1, "s", "n", "d", "two")])
    with pytest.raises(AssertionError, match="s/n is reserved twice"):
        decide(scripted)


def test_names_of_different_spaces_do_not_meet(scripted: Drive) -> None:
    scripted.push([Reserve(0, "a/b", "c", "d", "one"), Reserve(0, "a", "b/c", "d", "two")])
    (commit,) = decide(scripted)
    assert len(commit.changes) == 2


def test_turning_the_crank_out_of_order_is_refused(crank: Any) -> None:
    drive = crank.drive
    for wrong in (
        drive.committed,
        drive.failed,
        lambda: drive.decide({}, crank.now),
    ):
        with pytest.raises(AssertionError):
            wrong()
    crank.move(1, 5)
    drive.take()
    with pytest.raises(AssertionError, match="committed without decide"):
        drive.committed()
    with pytest.raises(AssertionError, match="take during a batch"):
        drive.take()
    with pytest.raises(AssertionError, match="load during a batch"):
        crank.load()


def test_a_tick_is_queued_once_when_the_deadline_is_reached(crank: Any, answers: Any) -> None:
    drive = crank.drive
    drive.tick(crank.now)
    assert drive.backlog == 0
    drive.push(Promise(1, crank.now.boot_ns + 50))
    crank.turn()
    assert drive.deadline == crank.now.boot_ns + 50
    drive.tick(crank.clock.advance_ns(49))
    assert drive.backlog == 0
    drive.tick(crank.clock.advance_ns(1))
    drive.tick(crank.clock.advance_ns(1))
    assert drive.backlog == 1
    assert answers(crank.turn().effects) == {1: 0}
    assert drive.deadline is None


def test_a_tick_stands_behind_the_events_that_came_before_it(small: Any, answers: Any) -> None:
    small.drive.push(Promise(99, small.now.boot_ns))
    small.turn()
    for ticket in range(1, 5):
        small.move(ticket, 1)
    small.drive.tick(small.now)
    small.move(5, 1)
    assert 99 not in answers(small.turn().effects)
    small.drive.tick(small.now)
    assert small.drive.backlog == 3
    assert 99 in answers(small.turn().effects)
    small.drive.push(Promise(100, small.now.boot_ns))
    small.turn()
    small.drive.tick(small.now)
    assert answers(small.turn().effects) == {100: 0}
