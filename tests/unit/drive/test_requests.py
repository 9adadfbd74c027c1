"""request_ids: the same payload is answered with what it made, another one is refused."""

from typing import Any

from intertie.drive.effects import Replayed, Request
from intertie.errors import IntertieError, Reason
from intertie.ports import Claim
from intertie.testing.cores.bank import ACCOUNT, SPACE, Account, Move, digest_of

FIRST = Replayed("m1 of 5")


def test_a_batch_looks_up_each_name_once(crank: Any) -> None:
    crank.move(1, 5, "m1")
    crank.move(2, 5, "m2")
    crank.move(3, 5, "m1")
    crank.move(4, 5)
    assert list(crank.drive.take()) == [(SPACE, "m1"), (SPACE, "m2")]


def test_a_retry_after_the_commit_is_answered_with_what_was_made(crank: Any, answers: Any) -> None:
    crank.move(1, 5, "m1")
    crank.turn()
    crank.move(2, 5, "m1")
    assert not crank.begin()
    assert answers(crank.finish().effects) == {2: FIRST}
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)


def test_a_retry_in_the_same_batch_is_answered_with_what_was_made(crank: Any, answers: Any) -> None:
    for ticket in (1, 2, 3):
        crank.move(ticket, 5, "m1")
    assert answers(crank.turn().effects) == {1: 5, 2: FIRST, 3: FIRST}
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)
    assert crank.drive.backlog == 0


def test_another_payload_under_the_same_name_is_refused(crank: Any, answers: Any) -> None:
    crank.move(1, 5, "m1")
    crank.move(2, 6, "m1")
    crank.turn()
    crank.move(3, 7, "m1")
    told = answers(crank.turn().effects)
    assert isinstance(told[3], IntertieError)
    assert told[3].reason is Reason.REQUEST_ID_REUSED
    assert told[3].metadata == {"request_id": "m1", "made": "m1 of 5"}


def test_another_payload_in_the_same_batch_is_refused(crank: Any, answers: Any) -> None:
    crank.move(1, 5, "m1")
    crank.move(2, 6, "m1")
    told = answers(crank.turn().effects)
    assert told[1] == 5
    assert isinstance(told[2], IntertieError)
    assert told[2].reason is Reason.REQUEST_ID_REUSED


def test_a_request_that_was_refused_leaves_its_name_free(crank: Any, answers: Any) -> None:
    crank.move(1, -5, "m1")
    crank.move(2, 5, "m1")
    told = answers(crank.turn().effects)
    assert isinstance(told[1], IntertieError)
    assert told[1].reason is Reason.INVALID_FIELD
    assert told[2] == 5


def test_the_claim_is_made_in_the_commit_of_its_effect(crank: Any) -> None:
    crank.move(1, 5, "m1")
    claims = [c for commit in crank.begin() for c in commit.changes if isinstance(c, Claim)]
    move = Move(1, "ann", "bob", 5, "m1")
    assert claims == [Claim(SPACE, "m1", digest_of(move), "m1 of 5", crank.now.utc_ms)]


def test_a_replay_of_a_failed_batch_is_a_first_time(crank: Any, answers: Any) -> None:
    crank.move(1, 5, "m1")
    crank.begin()
    crank.drive.failed()
    crank.load()
    crank.move(2, 5, "m1")
    assert answers(crank.turn().effects) == {2: 5}


def test_a_retry_is_not_fooled_by_the_same_name_of_another_space(crank: Any, answers: Any) -> None:
    crank.move(1, 5, "m1")
    crank.turn()
    event = Move(2, "ann", "bob", 5, "m1-elsewhere")
    crank.drive.push(event, Request("elsewhere", "m1", digest_of(event), 2))
    assert answers(crank.turn().effects) == {2: 10}


def test_a_storm_of_retries_of_one_name_costs_one_batch(crank: Any, answers: Any) -> None:
    for ticket in range(1, 1_001):
        crank.move(ticket, 5, "m1")
    told = answers(crank.turn().effects)
    assert crank.drive.backlog == 0
    assert [told[ticket] for ticket in (1, 2, 1_000)] == [5, FIRST, FIRST]
