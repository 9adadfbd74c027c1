"""One task from its submission to its end, as a list of instructions."""

from typing import Any

import pytest

from federation.domain.events import SendAssignment
from intertie.drive.effects import Erase, Fail, Record, Reply, Reserve, Write
from intertie.errors import Reason
from intertie.metering.grant import grant_sha256, parse_grant
from intertie.model.link import CancelRun, RunClosed
from intertie.model.states import FailureClass, Outcome, RunState, TaskState, WaitReason
from intertie.model.task import CheckpointRef
from intertie.model.token import Token


def test_a_submission_is_written_logged_reserved_and_then_answered(room: Any, pick: Any) -> None:
    room.create()  # the first of a project writes the project down as well
    effects = room.create()
    assert [type(effect) for effect in effects] == [Write, Record, Reserve, Reply]
    reserved = pick.one(effects, Reserve)
    assert (reserved.space, reserved.name) == ("request", "demo/request-2")
    assert reserved.result == str(pick.one(effects, Reply).value.name)


def test_a_task_is_assigned_under_a_new_epoch_with_a_grant_that_cites_it(
    room: Any, pick: Any
) -> None:
    room.attach()
    task = room.submit()
    (sent,) = room.place()
    after = room.task(task)
    assert after.state is TaskState.ASSIGNED
    assert (after.region, after.epoch.n, after.attempts) == ("eu", 1, 1)
    grant = parse_grant(sent.grant)
    assert (grant.task, grant.epoch, grant.region) == (task.id, "1-1", "eu")
    assert grant.price_version == "p1"
    assert set(grant.maximum) == {"cpu.held_core_ms", "mem.held_mib_ms"}
    assert after.run.grant_sha256 == grant_sha256(sent.grant)
    assert room.rows["grant", after.run.grant_sha256] == sent.grant


def test_the_assignment_is_written_before_it_is_sent(room: Any) -> None:
    room.attach()
    room.submit()
    room.place()
    order = [type(effect) for effect in room.said]
    sent = order.index(SendAssignment)
    assert order[:sent].count(Write) >= 3  # the region, the task twice, and its grant


def test_a_task_that_succeeds_leaves_memory_in_the_commit_that_ends_it(
    room: Any, pick: Any
) -> None:
    task = room.running()
    effects = room.end(task, exit_code=0)
    assert room.state(task) is TaskState.SUCCEEDED
    assert pick.one(effects, Erase).key == task.id
    assert task.id not in room.core.tasks
    assert pick.sends(effects, RunClosed) == [
        ("eu", RunClosed(task=str(task.name), token=Token(task.epoch, 1)))
    ]
    room.check()


def test_the_end_told_again_is_closed_again_and_changes_nothing(room: Any, pick: Any) -> None:
    task = room.running()
    room.end(task)
    effects = room.end(task)
    assert not pick.some(effects, Write)
    assert len(pick.sends(effects, RunClosed)) == 1


def test_an_update_told_twice_is_written_once(room: Any, pick: Any) -> None:
    task = room.running()
    assert not pick.some(room.update(task, RunState.RUNNING), Write)


@pytest.mark.parametrize(
    "failure", [FailureClass.USER, FailureClass.OOM_HOST, FailureClass.TIME_LIMIT]
)
def test_a_failure_that_would_repeat_is_not_retried(room: Any, failure: FailureClass) -> None:
    task = room.running()
    room.end(task, Outcome.FAILED, failure, exit_code=1)
    assert room.state(task) is TaskState.FAILED
    assert room.task(task).failure_class is failure


def test_a_failure_of_the_place_is_retried_until_the_attempts_are_used(
    room: Any, spec: Any
) -> None:
    task = room.running(spec(max_attempts=2))
    room.end(task, Outcome.FAILED, FailureClass.HARDWARE)
    assert room.state(task) is TaskState.PENDING
    room.place_again()
    assert room.state(task) is TaskState.ASSIGNED
    assert room.task(task).epoch.n == 2
    room.update(task, RunState.RUNNING)
    room.end(task, Outcome.FAILED, FailureClass.HARDWARE)
    assert room.state(task) is TaskState.FAILED


def test_a_time_limit_ends_the_task_as_failed_for_time(room: Any) -> None:
    task = room.running()
    room.end(task, Outcome.TIMED_OUT)
    assert room.state(task) is TaskState.FAILED
    assert room.task(task).failure_class is FailureClass.TIME_LIMIT


@pytest.mark.parametrize("outcome", [Outcome.EVICTED, Outcome.RECLAIMED, Outcome.PREEMPTED])
def test_what_an_owner_took_back_counts_as_no_attempt(
    room: Any, spec: Any, outcome: Outcome
) -> None:
    task = room.running(spec(max_attempts=1))
    room.end(task, outcome)
    assert room.state(task) is TaskState.PENDING
    assert room.task(task).attempts == 0


def test_a_task_that_is_sent_back_waits_longer_each_time(room: Any, spec: Any) -> None:
    task = room.running(spec(max_attempts=1))
    room.end(task, Outcome.EVICTED)
    wait = room.core.queue.wait_of(task.id)
    assert wait.reason is WaitReason.BACKOFF
    assert wait.next_ms > room.clock.now().utc_ms
    assert room.task(task).backoff == 1


def test_a_checkpoint_of_an_older_token_never_replaces_a_newer_one(room: Any) -> None:
    task = room.running()
    newer = CheckpointRef(
        step=7, manifest="a" * 64, size=1, token=Token(task.epoch, 2), committed_ms=1
    )
    older = CheckpointRef(
        step=9, manifest="b" * 64, size=1, token=Token(task.epoch, 1), committed_ms=2
    )
    room.update(task, RunState.RUNNING, token=Token(task.epoch, 2), checkpoint=newer)
    room.update(task, RunState.RUNNING, token=Token(task.epoch, 2), checkpoint=older)
    assert room.task(task).checkpoint == newer


def test_a_new_run_is_given_the_committed_checkpoint_of_the_one_before(room: Any) -> None:
    task = room.running()
    saved = CheckpointRef(
        step=7, manifest="a" * 64, size=1, token=Token(task.epoch, 1), committed_ms=1
    )
    room.update(task, RunState.RUNNING, checkpoint=saved)
    room.end(task, Outcome.EVICTED, checkpoint=saved)
    (sent,) = room.place_again()
    assert sent.task.checkpoint == saved


def test_an_array_shares_one_spec_and_counts_its_members(room: Any, spec: Any, pick: Any) -> None:
    effects = room.create(spec(array=5))
    tasks = [w.value for w in pick.some(effects, Write) if w.kind == "task"]
    assert [task.index for task in tasks] == [0, 1, 2, 3, 4]
    assert {task.group for task in tasks} == {tasks[0].id}
    assert all(task.spec is None and task.spec_ref for task in tasks)
    assert len([w for w in pick.some(effects, Write) if w.kind == "spec"]) == 1
    room.restart()
    room.check()
    room.attach()
    assert len(room.place()) == 5


def test_a_project_at_its_limit_of_open_tasks_is_refused_until_one_ends(
    make_room: Any, pick: Any
) -> None:
    room = make_room(max_open=1)
    task = room.running()
    refused = pick.one(room.create(), Fail)
    assert refused.error.reason is Reason.QUOTA_EXCEEDED
    assert isinstance(room.submit(project="other").id, str)
    room.end(task)
    assert pick.some(room.create(), Reply)


def test_fail_if_unmatched_refuses_what_no_region_could_ever_run(
    room: Any, node_class: Any, pick: Any
) -> None:
    room.attach(classes=(node_class(max_cpu=500, free_cpu=500),))
    refused = pick.one(room.create(fail_if_unmatched=True), Fail)
    assert refused.error.reason is Reason.NO_MATCHING_REGION
    assert "capability" in refused.error.message


def test_only_the_newest_runs_of_a_task_are_remembered(room: Any, spec: Any) -> None:
    task = room.running(spec(max_attempts=1))
    for _ in range(40):
        room.end(task, Outcome.EVICTED)
        room.place_again()
        room.update(task, RunState.RUNNING)
    runs = room.task(task).runs
    assert len(runs) == 32
    assert runs[-1].n == room.task(task).epoch.n


def test_cancelling_a_superseded_run_names_a_newer_one(room: Any, pick: Any) -> None:
    task = room.running()
    old = Token(task.epoch, 1)
    room.end(task, Outcome.EVICTED)
    effects = room.update(task, RunState.RUNNING, token=old)
    ((_, stop),) = pick.sends(effects, CancelRun)
    assert stop.superseded
    assert stop.epoch == old.epoch


def test_a_region_that_finds_it_may_not_run_a_task_is_never_asked_again(room: Any) -> None:
    task = room.running()
    room.end(task, Outcome.REJECTED, message="US is not in DE")
    after = room.task(task)
    assert (after.state, after.excluded, after.attempts) == (TaskState.PENDING, ("eu",), 0)
    assert room.place_again() == []
