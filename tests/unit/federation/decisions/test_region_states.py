"""What is decided about regions: admitted, cordoned, removed, and what late words are worth."""

from typing import Any

import pytest

from federation.domain.states import AdmitRegion, ChangeRegion, HangUp
from intertie.drive.effects import Fail, Reply
from intertie.errors import Reason
from intertie.model.link import OfferRequest
from intertie.model.states import RegionState, RunState, TaskState


def admit(room: Any, region: str = "eu", jurisdiction: str = "DE/DE-HE/fra1") -> list[object]:
    event = AdmitRegion(ticket=1, region=region, jurisdiction=jurisdiction, actor="root")
    effects: list[object] = room.give(event)
    return effects


def change(room: Any, to: RegionState, region: str = "eu") -> list[object]:
    event = ChangeRegion(ticket=1, region=region, to=to, reason="maintenance", actor="root")
    effects: list[object] = room.give(event)
    return effects


def test_a_region_that_was_admitted_attaches_where_it_was_admitted(room: Any, pick: Any) -> None:
    record = pick.one(admit(room), Reply).value
    assert (record.state, record.jurisdiction) == (RegionState.ACTIVE, "DE/DE-HE/fra1")
    assert pick.one(room.hello("eu", "FR/FR-IDF/par1"), Fail).error.reason is (
        Reason.PERMISSION_DENIED
    )
    assert pick.some(room.hello("eu"), Reply)


def test_a_cordoned_region_keeps_its_runs_and_gets_no_new_ones(room: Any, pick: Any) -> None:
    task = room.running()
    record = pick.one(change(room, RegionState.CORDONED), Reply).value
    assert (record.state_reason, record.state_actor) == ("maintenance", "root")
    waiting = room.submit()
    room.wait(5)
    room.summarise()
    assert not room.place()
    assert "needs an active region, has cordoned" in room.wait_of(waiting).detail
    room.update(task, RunState.RUNNING)
    assert room.state(task) is TaskState.RUNNING
    change(room, RegionState.ACTIVE)
    assert room.place_again()


@pytest.mark.parametrize("to", [RegionState.CORDONED, RegionState.REMOVED])
def test_an_offer_that_comes_after_the_decision_is_not_taken(
    room: Any, pick: Any, to: RegionState
) -> None:
    room.attach()
    task = room.submit()
    room.wait(0.001)
    [(_, asked)] = pick.sends(room.said, OfferRequest)
    change(room, to)
    room.offer(asked)
    room.wait(5)
    assert room.state(task) is TaskState.PENDING


def test_a_cordon_outlives_the_process_and_a_new_link(room: Any) -> None:
    room.attach()
    change(room, RegionState.CORDONED)
    room.restart()
    room.attach()
    room.submit()
    assert not room.place()


def test_a_removed_region_loses_its_link_and_stays_removed(room: Any, pick: Any) -> None:
    room.attach()
    effects = change(room, RegionState.REMOVED)
    assert pick.one(effects, HangUp).region == "eu"
    for refused in (room.hello("eu"), admit(room), change(room, RegionState.ACTIVE)):
        assert pick.some(refused, Fail)
    room.restart()
    assert pick.one(room.hello("eu"), Fail).error.reason is Reason.PERMISSION_DENIED


def test_a_heartbeat_in_flight_does_not_revive_a_removed_region(room: Any, pick: Any) -> None:
    room.attach()
    change(room, RegionState.REMOVED)
    room.submit()
    assert room.renew() == []
    assert room.summarise() == []
    assert not pick.sends(room.wait(5), OfferRequest)
    assert room.core.records["eu"].state is RegionState.REMOVED


def test_what_cannot_follow_is_refused_and_says_what_can(room: Any, pick: Any) -> None:
    assert pick.one(change(room, RegionState.CORDONED), Fail).error.reason is Reason.NOT_FOUND
    admit(room)
    problem = pick.one(change(room, RegionState.LEFT), Fail).error
    assert problem.reason is Reason.WRONG_STATE
    assert "CORDONED, DRAINING, REMOVED" in problem.remedy


@pytest.mark.parametrize("to", [RegionState.CORDONED, RegionState.ACTIVE])
def test_the_same_decision_twice_is_no_harm(room: Any, pick: Any, to: RegionState) -> None:
    admit(room)
    change(room, to)
    assert pick.one(change(room, to), Reply).value.state is to
