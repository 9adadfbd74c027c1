"""The next batch is decided while a commit runs: its effects wait, and it shares the fate."""

from typing import Any

from intertie.drive.effects import Fail, Replayed
from intertie.errors import IntertieError, Reason
from intertie.testing.cores.bank import ACCOUNT, Account

FIRST = Replayed("m1 of 5")


def test_a_batch_that_is_decided_behind_another_is_released_after_it(
    crank: Any, answers: Any
) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.move(2, 6)
    crank.begin()
    assert crank.drive.view.get(ACCOUNT, "bob") is None
    assert answers(crank.drive.committed().effects) == {1: 5}
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 5, 1)
    assert answers(crank.drive.committed().effects) == {2: 11}


def test_log_numbers_go_on_from_the_batch_whose_commit_runs(crank: Any) -> None:
    crank.move(1, 5)
    first = crank.begin()
    crank.move(2, 6)
    second = crank.begin()
    ends = {commit.shard: commit.first_seq + len(commit.events) for commit in first}
    assert {commit.shard: commit.first_seq for commit in second} == ends
    numbers = [(e.shard, e.seq) for _ in range(2) for e in crank.drive.committed().logged]
    assert len(numbers) == len(set(numbers)) == 4


def test_a_retry_behind_the_running_commit_is_answered_after_it(crank: Any, answers: Any) -> None:
    crank.move(1, 5, "m1")
    crank.begin()
    crank.move(2, 5, "m1")
    crank.move(3, 6, "m1")
    assert not crank.begin()
    assert answers(crank.drive.committed().effects) == {1: 5}
    told = answers(crank.drive.committed().effects)
    assert told[2] == FIRST
    assert isinstance(told[3], IntertieError)
    assert told[3].reason is Reason.REQUEST_ID_REUSED


def test_a_failed_commit_takes_the_batch_behind_it_along(crank: Any) -> None:
    crank.move(1, 5)
    crank.begin()
    crank.move(2, 6)
    crank.begin()
    crank.move(3, 7)
    lost = crank.drive.failed()
    assert [fail.ticket for fail in lost if isinstance(fail, Fail)] == [1, 2]
    crank.load()
    assert crank.drive.backlog == 1
    crank.turn()
    assert crank.drive.view.get(ACCOUNT, "bob") == Account("bob", 7, 1)
