"""A commit that failed, or whose outcome nobody knows: the core is gone, and everyone is told."""

from typing import Any

import pytest

from intertie.drive.effects import Fail, Tick
from intertie.errors import Reason
from intertie.testing.cores.bank import ACCOUNT, Account, Promise


def told(fails: Any) -> list[int]:
    assert all(isinstance(fail, Fail) for fail in fails)
    assert all(fail.error.reason is Reason.STORE_UNAVAILABLE for fail in fails)
    return [fail.ticket for fail in fails]


def test_a_failed_commit_discards_the_core_and_keeps_the_view(crank: Any) -> None:
    crank.move(1, 5)
    crank.turn()
    crank.move(2, 6)
    crank.begin()
    assert told(crank.drive.failed()) == [2]
    assert crank.drive.core is None
    assert crank.drive.deadline is None
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)


def test_nothing_of_a_failed_batch_is_released_later(crank: Any, answers: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.drive.failed()
    crank.load()
    crank.move(2, 7)
    released = crank.turn()
    assert answers(released.effects) == {2: 7}
    assert [(entry.key, entry.value.amount) for entry in released.logged] == [
        ("ann", -7),
        ("bob", 7),
    ]


def test_a_batch_may_fail_before_it_is_decided(crank: Any) -> None:
    crank.move(1, 5, "m1")
    crank.drive.take()
    assert told(crank.drive.failed()) == [1]
    assert crank.drive.core is None


def test_callers_who_are_owed_an_answer_are_told_when_their_core_dies(
    crank: Any, answers: Any
) -> None:
    crank.drive.push(Promise(1, crank.now.boot_ns + 50))
    crank.turn()
    crank.drive.push(Promise(2, crank.now.boot_ns))
    crank.turn()
    crank.drive.push(Tick())
    assert answers(crank.turn().effects) == {2: 0}
    crank.move(3, 5)
    crank.begin()
    assert told(crank.drive.failed()) == [1, 3]


def test_callers_are_told_of_a_failure_once(crank: Any) -> None:
    crank.drive.push(Promise(1, crank.now.boot_ns + 50))
    crank.turn()
    for ticket in (2, 3):
        crank.move(ticket, 5)
        crank.begin()
        assert told(crank.drive.failed()) == ([1, 2] if ticket == 2 else [3])
        crank.load()


def test_events_without_a_waiter_are_lost_with_their_batch(crank: Any) -> None:
    crank.drive.push(Tick())
    crank.move(0, 5)
    crank.begin()
    assert not told(crank.drive.failed())
    assert crank.drive.backlog == 0


def test_events_that_waited_are_handled_by_the_next_core(crank: Any, answers: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.move(2, 6)
    crank.drive.failed()
    assert crank.drive.take() is None
    crank.load()
    assert answers(crank.turn().effects) == {2: 6}


def test_without_a_core_callers_are_refused_and_messages_kept(crank: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.drive.failed()
    crank.move(2, 5)
    crank.drive.push(Tick())
    crank.move(3, 5, "m3")
    crank.move(0, 5)
    assert told(crank.drive.refuse_queued()) == [2, 3]
    assert crank.drive.backlog == 2
    crank.load()
    crank.turn()
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)


def test_a_tick_that_died_with_its_batch_can_be_queued_again(crank: Any) -> None:
    crank.drive.push(Promise(1, crank.now.boot_ns))
    crank.turn()
    crank.drive.tick(crank.now)
    crank.begin()
    crank.drive.failed()
    crank.load()
    crank.drive.push(Promise(2, crank.now.boot_ns))
    crank.turn()
    crank.drive.tick(crank.now)
    assert crank.drive.backlog == 1


def test_numbers_go_on_from_the_heads_that_were_acquired_again(crank: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.drive.failed()
    crank.load(last_seq=12, epoch=9)
    crank.move(2, 5)
    assert {(c.epoch, c.first_seq) for c in crank.begin()} == {(9, 13)}


def test_a_new_core_is_made_from_rows_and_the_time_of_loading(crank: Any) -> None:
    crank.clock.advance(5)
    crank.load()
    assert crank.drive.core.made_at == crank.now
    assert not crank.drive.core.accounts


def test_a_ticket_that_is_no_number_is_a_fault_of_ours(crank: Any) -> None:
    class Odd:
        ticket = "seven"

    crank.drive.push(Odd())
    with pytest.raises(AssertionError):
        crank.drive.take()
