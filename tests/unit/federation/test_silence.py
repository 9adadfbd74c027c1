"""What silence means: who is moved, when, and what a restarted grantor must wait for."""

from typing import Any

import pytest

from intertie.drive.effects import Write
from intertie.model.link import CancelRun, DigestEntry, LeaseGrant
from intertie.model.states import OnDisconnect, Outcome, RunState, TaskState
from intertie.model.token import Token

LEASE_OVER_S = 21.1
"""20 s, the drift of two clocks, and delta."""
MOVE = OnDisconnect.MOVE


def test_a_renewal_is_answered_with_its_own_number(room: Any, pick: Any) -> None:
    room.attach()
    assert pick.sends(room.renew(seq=9), LeaseGrant) == [("eu", LeaseGrant(seq=9, lease_ms=20_000))]


def test_a_silent_region_is_shown_as_unknown_and_nothing_is_restarted(room: Any) -> None:
    task = room.running()
    room.lose()
    room.wait(3.9)
    assert room.state(task) is TaskState.RUNNING
    room.wait(0.2)
    assert room.state(task) is TaskState.UNKNOWN
    assert len(room.task(task).runs) == 1


def test_a_task_that_stays_is_never_moved_by_silence(room: Any, spec: Any) -> None:
    task = room.running(spec(on_disconnect=OnDisconnect.STAY))
    room.attach("us")
    room.lose("eu")
    room.wait(86_400)
    assert room.state(task) is TaskState.UNKNOWN
    assert room.task(task).region == "eu"


def test_a_task_that_moves_waits_for_the_lease_when_its_window_is_shorter(
    room: Any, spec: Any
) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=5_000))
    room.renew()
    room.lose()
    room.wait(LEASE_OVER_S - 0.1)
    assert room.state(task) is TaskState.UNKNOWN
    room.wait(0.2)
    assert room.state(task) is TaskState.PENDING
    assert room.task(task).runs[-1].outcome is Outcome.LOST


def test_a_task_that_moves_waits_for_its_window_when_the_lease_is_shorter(
    room: Any, spec: Any
) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=100_000))
    room.renew()
    room.lose()
    room.wait(99)
    assert room.state(task) is TaskState.UNKNOWN
    room.wait(2)
    assert room.state(task) is TaskState.PENDING


def test_the_window_counts_from_when_the_region_was_last_heard(room: Any, spec: Any) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=25_000))
    room.renew()
    room.wait(3)
    room.lose()
    room.wait(21.9)
    assert room.state(task) is TaskState.UNKNOWN
    room.wait(0.2)
    assert room.state(task) is TaskState.PENDING


def test_a_restarted_grantor_waits_the_longest_lease_before_it_moves_anything(
    room: Any, spec: Any
) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=5_000))
    room.lose()
    room.wait(3)
    room.restart()
    room.wait(LEASE_OVER_S - 0.1)
    assert room.state(task) is TaskState.UNKNOWN
    room.wait(0.2)
    assert room.state(task) is TaskState.PENDING


def test_a_region_that_comes_back_in_time_keeps_its_run(room: Any, spec: Any) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=5_000))
    room.lose()
    room.wait(10)
    effects = room.attach()
    entry = DigestEntry(
        task=str(task.name), token=Token(task.epoch, 1), state=RunState.RUNNING, revision=1
    )
    room.digest(effects, [entry])
    assert room.state(task) is TaskState.RUNNING
    assert len(room.task(task).runs) == 1
    room.wait(200)
    assert room.state(task) is TaskState.RUNNING


def test_a_run_that_was_replaced_is_superseded_when_its_region_is_back(
    room: Any, spec: Any, pick: Any
) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=5_000))
    old = Token(task.epoch, 1)
    room.attach("us")
    room.lose("eu")
    room.wait(40)
    room.summarise("us")
    assert room.place("us")
    assert room.task(task).region == "us"
    room.attach("eu")
    effects = room.update(task, RunState.RUNNING, "eu", token=old)
    ((to, stop),) = pick.sends(effects, CancelRun)
    assert (to, stop.superseded, stop.epoch) == ("eu", True, old.epoch)
    assert room.task(task).region == "us"


def test_a_break_that_heals_before_the_replacement_starts_nothing(room: Any, spec: Any) -> None:
    task = room.running(spec(on_disconnect=MOVE, move_after=5_000))
    room.lose()
    room.wait(20)
    room.attach()
    room.update(task, RunState.RUNNING)
    room.wait(100)
    assert room.task(task).epoch.n == 1


def test_a_stream_that_ends_after_its_successor_began_changes_nothing(room: Any, pick: Any) -> None:
    task = room.running()
    old = room._links["eu"]
    room.attach()
    new, room._links["eu"] = room._links["eu"], old
    room.lose()
    room._links["eu"] = new
    room.wait(10)
    assert room.state(task) is TaskState.RUNNING


def test_words_that_come_by_an_earlier_stream_are_not_heard(room: Any, pick: Any) -> None:
    task = room.running()
    old = room._links["eu"]
    room.attach()
    room._links["eu"] = old
    assert not pick.some(room.end(task), Write)


@pytest.mark.parametrize("state", ["ASSIGNED", "RUNNING", "CANCELLING"])
def test_each_state_that_holds_a_run_is_given_up_only_after_the_lease(
    room: Any, spec: Any, state: str
) -> None:
    room.attach()
    task = room.submit(spec(on_disconnect=MOVE, move_after=1_000))
    room.place()
    room.renew()
    if state != "ASSIGNED":
        room.update(task, RunState.RUNNING)
    if state == "CANCELLING":
        room.cancel(task)
    room.lose()
    room.wait(LEASE_OVER_S - 0.1)
    assert room.task(task).runs[-1].outcome is None
    room.wait(0.2)
    assert room.task(task).runs[-1].outcome is Outcome.LOST
