"""Rounds of offers: who is asked, what is handed out, what is let go, what is remembered."""

from typing import Any

import pytest

from federation.domain.events import SendAssignment
from intertie.model.link import OfferRelease, OfferRequest
from intertie.model.spec import Residency, Resources
from intertie.model.states import Outcome, TaskState, WaitReason


def test_tasks_that_ask_for_the_same_share_one_round(room: Any, pick: Any) -> None:
    room.attach()
    for _ in range(5):
        room.submit()
    ((_, asked),) = pick.sends(room.wait(0.001), OfferRequest)
    assert asked.count == 5
    assert len(pick.some(room.offer(asked), SendAssignment)) == 5


def test_tasks_are_handed_out_in_the_order_of_their_arrival(room: Any, pick: Any) -> None:
    room.attach()
    tasks = [room.submit() for _ in range(3)]
    ((_, asked),) = pick.sends(room.wait(0.001), OfferRequest)
    sent = pick.some(room.offer(asked, units=2, units_now=2), SendAssignment)
    assert [s.task.id for s in sent] == [task.id for task in tasks[:2]]
    assert room.state(tasks[2]) is TaskState.PENDING


def test_two_regions_are_asked_and_the_one_with_more_room_is_taken_first(
    room: Any, pick: Any
) -> None:
    room.attach("eu")
    room.attach("us")
    tasks = [room.submit() for _ in range(3)]
    asked = pick.sends(room.wait(0.001), OfferRequest)
    assert {region for region, _ in asked} == {"eu", "us"}
    request = asked[0][1]
    assert not room.offer(request, "us", units=1, units_now=1)
    effects = room.offer(request, "eu", units=2, units_now=2)
    regions = [s.task.region for s in pick.some(effects, SendAssignment)]
    assert regions == ["eu", "eu", "us"]
    assert all(room.state(task) is TaskState.ASSIGNED for task in tasks)


def test_what_is_not_taken_of_an_offer_is_let_go(room: Any, pick: Any) -> None:
    room.attach()
    room.submit()
    ((_, asked),) = pick.sends(room.wait(0.001), OfferRequest)
    effects = room.offer(asked, units=4, units_now=4)
    assert pick.sends(effects, OfferRelease) == [("eu", OfferRelease(id=asked.id))]


def test_an_offer_that_comes_too_late_is_let_go(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    ((_, asked),) = pick.sends(room.wait(0.001), OfferRequest)
    room.wait(1.05)
    effects = room.offer(asked)
    assert pick.sends(effects, OfferRelease)
    assert room.state(task) is TaskState.PENDING


def test_an_offer_of_an_earlier_life_of_a_region_is_not_taken(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    ((_, asked),) = pick.sends(room.wait(0.001), OfferRequest)
    room.offer(asked, incarnation="eu-0")
    assert room.state(task) is TaskState.PENDING


def test_a_region_whose_link_breaks_is_not_waited_for(room: Any, pick: Any) -> None:
    room.attach("eu")
    room.attach("us")
    task = room.submit()
    asked = pick.sends(room.wait(0.001), OfferRequest)
    room.offer(asked[0][1], "us")
    assert room.state(task) is TaskState.PENDING
    room.lose("eu")
    assert room.task(task).region == "us"


def test_a_region_without_room_is_asked_again_later_and_less_often(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    for _ in range(200):
        for _, asked in pick.sends(room.wait(0.1), OfferRequest):
            room.offer(asked, units=0, units_now=0, refusal="full")
    assert room.core.queue.wait_of(task.id).reason in {WaitReason.NO_CAPACITY, WaitReason.STALE}
    assert len(pick.sends(room.said, OfferRequest)) < 30


@pytest.mark.parametrize("reason", ["RESIDENCY_VIOLATION", "NOT_LENT"])
def test_a_region_that_refuses_for_good_is_never_asked_again_for_that_task(
    room: Any, pick: Any, reason: str
) -> None:
    room.attach()
    task = room.submit()
    room.place()
    room.reject(task, reason)
    assert room.task(task).excluded == ("eu",)
    room.said.clear()
    assert not room.place_again()
    assert not pick.sends(room.said, OfferRequest)
    assert room.core.queue.wait_of(task.id).reason is WaitReason.NO_MATCHING_REGION


def test_a_refusal_for_now_counts_as_no_attempt_and_is_tried_again(room: Any) -> None:
    room.attach()
    task = room.submit()
    room.place()
    room.reject(task, "QUOTA_EXCEEDED")
    after = room.task(task)
    assert (after.attempts, after.backoff, after.excluded) == (0, 1, ())
    assert after.runs[-1].outcome is Outcome.REJECTED
    assert room.place_again()


def test_a_region_that_always_refuses_is_not_asked_in_a_tight_circle(room: Any, pick: Any) -> None:
    room.attach()
    task = room.submit()
    for _ in range(600):
        if room.place():
            room.reject(task, "GRANT_INVALID")
        room.summarise()
        room.wait(0.1)
    assert len(pick.some(room.said, SendAssignment)) < 15


def test_a_region_outside_of_the_residency_is_never_asked(room: Any, spec: Any, pick: Any) -> None:
    room.attach("us", jurisdiction="US/US-VA/iad1")
    task = room.submit(spec(residency=Residency(within=("DE",))))
    assert not pick.sends(room.wait(30), OfferRequest)
    assert room.core.queue.wait_of(task.id).reason is WaitReason.RESIDENCY
    room.attach("eu")
    assert room.place("eu")


def test_a_task_that_no_region_could_run_waits_and_says_what_is_missing(
    room: Any, spec: Any
) -> None:
    room.attach()
    task = room.submit(spec(resources=Resources(cpu=64_000)))
    room.wait(1)
    wait = room.core.queue.wait_of(task.id)
    assert wait.reason is WaitReason.NO_MATCHING_REGION
    assert "needs 64 cpu" in wait.detail


def test_no_region_at_all_is_a_reason_of_its_own(room: Any) -> None:
    task = room.submit()
    room.wait(1)
    wait = room.core.queue.wait_of(task.id)
    assert (wait.reason, wait.detail) == (WaitReason.NO_MATCHING_REGION, "no region has joined")


def test_a_task_that_waits_is_placed_as_soon_as_a_region_joins(room: Any) -> None:
    task = room.submit()
    room.wait(300)
    room.attach()
    assert room.place()
    assert room.state(task) is TaskState.ASSIGNED
