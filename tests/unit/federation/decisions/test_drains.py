"""Emptying a region: what moves, what is waited for, and that nothing unfinished is called done."""

from typing import Any

import pytest

from federation.domain.drains import CancelDrain, CreateDrain, Drain, DrainState
from federation.domain.states import ChangeRegion
from intertie.drive.effects import Fail, Reply
from intertie.errors import Reason
from intertie.model.link import CancelRun
from intertie.model.states import OnDisconnect, Outcome, RegionState, RunState, TaskState


def begin(room: Any, id_: str = "d1", **more: Any) -> list[object]:
    event = CreateDrain(ticket=1, region="eu", id=id_, reason="new floor", actor="root", **more)
    effects: list[object] = room.give(event)
    return effects


def drain_of(room: Any, id_: str = "d1") -> Drain:
    found = room.core.states.drains.by_key[f"eu/{id_}"]
    assert isinstance(found, Drain)
    return found


def state_of(room: Any) -> RegionState:
    state = room.core.records["eu"].state
    assert isinstance(state, RegionState)
    return state


def decide(room: Any, to: RegionState) -> list[object]:
    event = ChangeRegion(ticket=1, region="eu", to=to, reason="why", actor="root")
    effects: list[object] = room.give(event)
    return effects


def evictions(pick: Any, effects: list[object]) -> list[CancelRun]:
    return [stop for _, stop in pick.sends(effects, CancelRun) if stop.evict]


def test_an_empty_region_is_drained_at_once(room: Any, pick: Any) -> None:
    room.attach()
    assert pick.one(begin(room), Reply).value.state is DrainState.DONE
    assert state_of(room) is RegionState.DRAINING


def test_guests_that_may_move_go_and_run_elsewhere(room: Any, spec: Any, pick: Any) -> None:
    task = room.running(spec(on_disconnect=OnDisconnect.MOVE))
    effects = begin(room)
    drain = pick.one(effects, Reply).value
    assert (drain.state, drain.guests) == (DrainState.RUNNING, 1)
    [stop] = evictions(pick, effects)
    assert stop.task == str(task.name)
    room.attach("us", jurisdiction="US/US-VA/iad1")
    room.end(task, Outcome.EVICTED)
    assert room.state(task) is TaskState.PENDING
    room.wait(1)
    assert drain_of(room).state is DrainState.DONE
    assert not room.place_again("eu")
    assert room.place_again("us")
    assert room.task(task).attempts == 1, "an eviction is no attempt of the task"


def test_what_may_not_be_interrupted_is_waited_for(room: Any, pick: Any) -> None:
    task = room.running()
    assert not evictions(pick, begin(room))
    assert not evictions(pick, room.wait(3_600))
    assert room.core.states.drains.waited_for(drain_of(room)) == 1
    assert drain_of(room).state is DrainState.RUNNING
    room.end(task, Outcome.SUCCEEDED, exit_code=0)
    room.wait(1)
    assert drain_of(room).state is DrainState.DONE


def test_what_has_not_begun_moves_whatever_it_bears(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    room.place()
    room.accept(task)
    room.update(task, RunState.QUEUED)
    assert len(evictions(pick, begin(room))) == 1


def test_past_the_deadline_everything_moves(room: Any, pick: Any) -> None:
    room.running()
    assert not evictions(pick, begin(room, wait_ms=60_000))
    assert not evictions(pick, room.wait(59))
    assert len(evictions(pick, room.wait(2))) == 1


def test_an_order_that_was_lost_is_given_again(room: Any, spec: Any, pick: Any) -> None:
    room.running(spec(on_disconnect=OnDisconnect.MOVE))
    begin(room)
    assert 2 <= len(evictions(pick, room.wait(25))) <= 3


def test_a_region_out_of_touch_is_never_drained(room: Any, spec: Any) -> None:
    task = room.running(spec())
    begin(room, wait_ms=1_000)
    room.lose()
    room.wait(3_600)
    assert room.state(task) is TaskState.UNKNOWN
    assert drain_of(room).state is DrainState.RUNNING


def test_a_drain_outlives_the_process(room: Any, spec: Any, pick: Any) -> None:
    task = room.running(spec(on_disconnect=OnDisconnect.MOVE))
    begin(room)
    room.restart()
    room.attach()
    assert evictions(pick, room.wait(1))
    room.end(task, Outcome.EVICTED)
    room.wait(1)
    assert drain_of(room).state is DrainState.DONE


def test_a_region_leaves_when_it_is_empty_and_may_join_again(room: Any, pick: Any) -> None:
    task = room.running()
    begin(room, leave=True)
    assert state_of(room) is RegionState.DRAINING
    room.end(task, Outcome.SUCCEEDED, exit_code=0)
    room.wait(1)
    assert state_of(room) is RegionState.LEFT
    assert pick.one(room.hello("eu"), Fail).error.reason is Reason.PERMISSION_DENIED


def test_a_drain_that_is_cancelled_half_way_leaves_the_region_cordoned(
    room: Any, spec: Any, pick: Any
) -> None:
    moving = room.running(spec(on_disconnect=OnDisconnect.MOVE))
    staying = room.running()
    begin(room)
    room.end(moving, Outcome.EVICTED)
    ended = CancelDrain(ticket=2, region="eu", id="d1", reason="not today", actor="root")
    assert pick.one(room.give(ended), Reply).value.state is DrainState.CANCELLED
    assert state_of(room) is RegionState.CORDONED
    assert room.state(staying) is TaskState.RUNNING
    assert not evictions(pick, room.wait(60))
    assert pick.one(room.give(ended), Reply).value.state is DrainState.CANCELLED


@pytest.mark.parametrize("to", [RegionState.ACTIVE, RegionState.CORDONED, RegionState.REMOVED])
def test_another_decision_overtakes_a_drain(room: Any, to: RegionState) -> None:
    room.running()
    begin(room)
    decide(room, to)
    assert drain_of(room).state is DrainState.CANCELLED


def test_the_same_request_meets_its_drain_and_another_is_refused(room: Any, pick: Any) -> None:
    room.running()
    first = pick.one(begin(room), Reply).value
    assert pick.one(begin(room), Reply).value == first
    problem = pick.one(begin(room, "d2"), Fail).error
    assert problem.reason is Reason.ALREADY_EXISTS
    assert problem.metadata["resource"] == "regions/eu/drains/d1"


def test_a_task_that_is_being_cancelled_keeps_its_order(room: Any, spec: Any, pick: Any) -> None:
    task = room.running(spec(on_disconnect=OnDisconnect.MOVE))
    room.cancel(task)
    assert not evictions(pick, begin(room))
    room.end(task, Outcome.CANCELLED)
    room.wait(1)
    assert drain_of(room).state is DrainState.DONE
