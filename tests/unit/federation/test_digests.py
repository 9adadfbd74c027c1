"""Digests repair whatever was lost on a link, in both directions."""

from typing import Any

from federation.domain.events import ReadGrant, SendAssignment
from intertie.drive.effects import Write
from intertie.model.link import CancelRun, DigestEntry, DigestRequest, RunClosed, RunDigest
from intertie.model.names import TaskName
from intertie.model.states import Outcome, RunState, TaskState
from intertie.model.token import Epoch, Token


def entry_of(task: Any, state: RunState, sub: int = 1) -> DigestEntry:
    return DigestEntry(task=str(task.name), token=Token(task.epoch, sub), state=state, revision=1)


def test_a_digest_is_asked_for_when_a_region_attaches_and_then_regularly(
    room: Any, pick: Any
) -> None:
    assert len(pick.sends(room.attach(), DigestRequest)) == 1
    assert len(pick.sends(room.wait(61), DigestRequest)) == 1


def test_an_assignment_that_was_lost_is_sent_again_unchanged(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    (sent,) = room.place()
    room.lose()
    effects = room.digest(room.attach())
    (again,) = pick.some(effects, SendAssignment)
    assert again.grant == sent.grant
    assert room.task(task).epoch.n == 1


def test_an_assignment_that_is_sent_again_after_new_prices_cites_the_grant_it_had(
    room: Any, pick: Any
) -> None:
    room.attach()
    task = room.submit()
    (sent,) = room.place()
    room.prices = "p2"
    room.restart()
    effects = room.digest(room.attach())
    (again,) = pick.some(effects, SendAssignment)
    assert again.grant == sent.grant
    assert room.task(task).run.grant_sha256 == sent.task.run.grant_sha256
    assert len([key for kind, key in room.rows if kind == "grant"]) == 1


def test_a_grant_that_is_read_when_its_run_is_over_goes_nowhere(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    room.place()
    asked = ReadGrant(
        task=task.id, epoch=room.task(task).epoch, shard=1, sha256=room.task(task).run.grant_sha256
    )
    room.reject(task, "NO_CAPACITY")
    assert not room.give(room.read_grant(asked))
    room.place_again()
    assert not room.give(room.read_grant(asked)), "a grant of an earlier epoch"


def test_a_run_that_its_region_has_forgotten_is_not_given_to_another(room: Any) -> None:
    task = room.running()
    room.lose()
    room.digest(room.attach())
    assert room.state(task) is TaskState.UNKNOWN


def test_an_update_that_was_lost_is_asked_for_by_sending_the_assignment_again(
    room: Any, pick: Any
) -> None:
    room.attach()
    task = room.submit()
    room.place()
    room.lose()
    effects = room.digest(room.attach(), [entry_of(room.task(task), RunState.RUNNING)])
    assert len(pick.some(effects, SendAssignment)) == 1


def test_a_cancel_that_was_lost_is_repeated(room: Any, pick: Any) -> None:
    task = room.running()
    room.cancel(task)
    room.lose()
    effects = room.digest(room.attach(), [entry_of(task, RunState.RUNNING)])
    ((_, stop),) = pick.sends(effects, CancelRun)
    assert not stop.superseded


def test_a_cancel_of_a_run_that_was_never_accepted_is_repeated_until_the_region_says_so(
    room: Any, pick: Any
) -> None:
    room.attach()
    task = room.submit()
    room.place()
    room.cancel(task)
    room.lose()
    effects = room.digest(room.attach())
    assert len(pick.sends(effects, CancelRun)) == 1
    room.reject(task, "CANCELLED")
    assert room.state(task) is TaskState.CANCELLED


def test_a_live_run_of_a_task_that_is_over_is_stopped(room: Any, pick: Any) -> None:
    task = room.running()
    room.end(task)
    effects = room.digest(room.attach(), [entry_of(task, RunState.RUNNING)])
    ((_, stop),) = pick.sends(effects, CancelRun)
    assert stop.superseded


def test_an_ended_run_of_a_task_that_is_over_is_closed(room: Any, pick: Any) -> None:
    task = room.running()
    room.end(task)
    effects = room.digest(room.attach(), [entry_of(task, RunState.ENDED)])
    assert len(pick.sends(effects, RunClosed)) == 1
    assert not pick.some(effects, Write)


def test_a_run_of_a_task_that_never_was_is_stopped(room: Any, pick: Any) -> None:
    stranger = TaskName("demo", "01-00000000-0000-7000-8000-000000000000")
    entry = DigestEntry(
        task=str(stranger), token=Token(Epoch(1, 1), 1), state=RunState.RUNNING, revision=1
    )
    effects = room.digest(room.attach(), [entry])
    assert len(pick.sends(effects, CancelRun)) == 1


def test_parts_of_a_digest_count_together_and_only_when_the_last_has_come(
    room: Any, pick: Any
) -> None:
    first, second = room.running(), room.running()
    ((_, asked),) = pick.sends(room.attach(), DigestRequest)
    part = RunDigest(id=asked.id, entries=(entry_of(first, RunState.RUNNING),), last=False)
    assert not pick.some(room.hear(part), Write)
    last = RunDigest(id=asked.id, entries=(entry_of(second, RunState.RUNNING),), last=True)
    assert not pick.some(room.hear(last), Write)
    assert room.state(first) is TaskState.RUNNING


def test_a_digest_that_was_not_asked_for_is_passed_over(room: Any, pick: Any) -> None:
    task = room.running()
    effects = room.hear(RunDigest(id=999, entries=(), last=True))
    assert not effects
    assert room.state(task) is TaskState.RUNNING


def test_an_older_run_of_a_task_that_is_at_the_region_again_is_stopped(
    room: Any, pick: Any
) -> None:
    task = room.running()
    old = DigestEntry(
        task=str(task.name), token=Token(task.epoch, 1), state=RunState.RUNNING, revision=1
    )
    room.end(task, Outcome.EVICTED)
    room.place_again()
    assert room.task(task).epoch.n == 2
    effects = room.digest(room.attach(), [old])
    ((_, stop),) = pick.sends(effects, CancelRun)
    assert (stop.epoch, stop.superseded) == (task.epoch, True)
    assert len(pick.some(effects, SendAssignment)) == 1
