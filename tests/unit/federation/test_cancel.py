"""Cancelling in every state."""

from typing import Any

from intertie.drive.effects import Erase, Fail, Reply, Reserve, Write
from intertie.errors import Reason
from intertie.model.link import CancelRun
from intertie.model.states import Outcome, RunState, TaskState


def test_a_waiting_task_is_cancelled_at_once(room: Any, pick: Any) -> None:
    task = room.submit()
    effects = room.cancel(task)
    assert pick.one(effects, Reply).value.state is TaskState.CANCELLED
    assert not pick.sends(effects, CancelRun)
    assert pick.one(effects, Erase).key == task.id
    assert pick.one(effects, Reserve).name.startswith("demo/")
    room.check()


def test_a_task_in_backoff_is_cancelled_at_once_and_never_placed(room: Any, spec: Any) -> None:
    task = room.running(spec())
    room.end(task, Outcome.EVICTED)
    room.cancel(task)
    assert room.state(task) is TaskState.CANCELLED
    assert not room.place_again()


def test_a_running_task_is_cancelling_until_its_region_confirms(room: Any, pick: Any) -> None:
    task = room.running()
    effects = room.cancel(task)
    assert pick.one(effects, Reply).value.state is TaskState.CANCELLING
    ((to, stop),) = pick.sends(effects, CancelRun)
    assert (to, stop.reason, stop.superseded) == ("eu", "enough", False)
    room.end(task, Outcome.CANCELLED)
    assert room.state(task) is TaskState.CANCELLED


def test_a_task_that_ends_well_before_its_cancel_arrives_has_succeeded(room: Any) -> None:
    task = room.running()
    room.cancel(task)
    room.end(task, Outcome.SUCCEEDED, exit_code=0)
    assert room.state(task) is TaskState.SUCCEEDED


def test_a_cancelling_task_whose_run_fails_is_cancelled_not_retried(room: Any) -> None:
    task = room.running()
    room.cancel(task)
    room.end(task, Outcome.EVICTED)
    assert room.state(task) is TaskState.CANCELLED


def test_cancelling_twice_changes_nothing(room: Any, pick: Any) -> None:
    task = room.running()
    room.cancel(task)
    effects = room.cancel(task)
    assert pick.one(effects, Reply).value.state is TaskState.CANCELLING
    assert not pick.some(effects, Write)


def test_a_task_of_unknown_state_stays_cancelling_until_its_region_is_back(
    room: Any, pick: Any
) -> None:
    task = room.running()
    room.lose()
    room.wait(5)
    room.cancel(task)
    room.wait(1_000)
    assert room.state(task) is TaskState.CANCELLING
    room.attach()
    room.end(task, Outcome.CANCELLED)
    assert room.state(task) is TaskState.CANCELLED


def test_a_cancelling_task_says_whom_it_waits_for(room: Any) -> None:
    task = room.running()
    room.cancel(task)
    assert "eu has it as RUNNING" in room.wait_of(task).detail
    room.update(task, RunState.STOPPING, message="n1 is out of touch")
    assert room.wait_of(task).detail == "n1 is out of touch"
    room.lose()
    assert "hears of the cancellation when it is back" in room.wait_of(task).detail


def test_a_late_update_of_a_cancelling_task_repeats_the_cancel(room: Any, pick: Any) -> None:
    task = room.running()
    room.cancel(task)
    effects = room.update(task, RunState.STOPPING)
    assert room.state(task) is TaskState.CANCELLING
    assert len(pick.sends(effects, CancelRun)) == 1


def test_a_task_that_is_over_is_not_found_by_the_core(room: Any, pick: Any) -> None:
    task = room.running()
    room.end(task)
    assert pick.one(room.cancel(task), Fail).error.reason is Reason.NOT_FOUND


def test_a_task_of_another_project_is_not_found(room: Any, pick: Any) -> None:
    task = room.submit()
    refused = pick.one(room.cancel(task, project="other"), Fail)
    assert refused.error.reason is Reason.NOT_FOUND


def test_an_etag_that_is_not_the_present_one_cancels_nothing(room: Any, pick: Any) -> None:
    task = room.running()
    refused = pick.one(room.cancel(task, etag=str(task.version - 1)), Fail)
    assert refused.error.reason is Reason.ETAG_MISMATCH
    assert room.state(task) is TaskState.RUNNING
    assert pick.some(room.cancel(task, etag=str(task.version)), Reply)
