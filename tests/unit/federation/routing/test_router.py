"""Filter, weigh, draw: every region keeps its verdict, and draws follow the weights."""

from collections import Counter
from typing import Any

import pytest

from federation.domain import answers
from federation.domain.events import AskPlan
from federation.domain.routing.draw import draw
from intertie.drive.effects import Reply
from intertie.model.link import OfferRequest
from intertie.model.spec import Accelerators, Placement, Residency, Resources, Variant, When
from intertie.model.states import OnDisconnect, TaskState, WaitReason
from intertie.model.task import Plan, Verdict


def plan(room: Any, pick: Any, spec: Any) -> Plan:
    effects = room.give(AskPlan(ticket=99, spec=spec))
    for region, request in pick.sends(effects, OfferRequest):
        assert request.hold_ms == 0, "a plan holds nothing"
        effects = room.offer(request, region)
    found = pick.one(effects, Reply).value
    assert isinstance(found, Plan)
    return found


def failed(verdict: Verdict) -> set[str]:
    return {check.name for check in verdict.checks if not check.holds}


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"resources": Resources(cpu=9_000)}, "capability"),
        ({"resources": Resources(memory=32 << 30)}, "capability"),
        ({"resources": Resources(disk=200 << 30)}, "capability"),
        ({"resources": Resources(architecture=("aarch64",))}, "capability"),
        ({"resources": Resources(accelerators=Accelerators(count=1))}, "capability"),
        ({"requires": ("interconnect>=nvlink",)}, "capability"),
        ({"placement": Placement(only=("us",))}, "placement"),
        ({"placement": Placement(never=("eu",))}, "placement"),
        ({"residency": Residency(within=("US",))}, "residency"),
        ({"residency": Residency(not_within=("DE/DE-HE",))}, "residency"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_each_filter_refuses_by_its_own_name(
    room: Any, spec: Any, pick: Any, change: dict[str, Any], check: str
) -> None:
    room.attach()
    (verdict,) = plan(room, pick, spec(**change)).verdicts
    assert failed(verdict) == {check}
    assert not verdict.feasible


def test_a_plan_names_the_region_and_when_it_would_start(room: Any, spec: Any, pick: Any) -> None:
    room.attach("eu")
    room.attach("us", jurisdiction="US/US-VA/iad1")
    found = plan(room, pick, spec(residency=Residency(within=("DE",))))
    assert found.chosen == "eu"
    assert {v.region: v.feasible for v in found.verdicts} == {"eu": True, "us": False}
    assert found.verdicts[0].expected_wait_ms == 0


def test_a_plan_that_fails_says_which_change_would_make_it_run(
    room: Any, spec: Any, pick: Any
) -> None:
    room.attach()
    found = plan(room, pick, spec(resources=Resources(cpu=9_000)))
    assert found.chosen == ""
    assert found.remedy.startswith("eu is nearest. capability: needs 9 cpu")


def test_a_plan_does_not_wait_for_a_region_that_does_not_answer(
    room: Any, spec: Any, pick: Any
) -> None:
    room.attach()
    room.give(AskPlan(ticket=99, spec=spec()))
    found = pick.one(room.wait(1.1), Reply).value
    assert found.verdicts[0].assumed


def test_a_plan_in_an_empty_federation_says_so(room: Any, spec: Any, pick: Any) -> None:
    assert plan(room, pick, spec()).remedy == "No region has joined the federation."


def test_a_stale_summary_makes_a_region_unreachable(room: Any, spec: Any, pick: Any) -> None:
    room.attach()
    room.clock.advance(11)
    assert failed(plan(room, pick, spec()).verdicts[0]) == {"reachable"}


def test_the_first_variant_that_some_node_fits_is_chosen(
    room: Any, spec: Any, pick: Any, node_class: Any
) -> None:
    cpu_only = node_class()
    room.attach(classes=(cpu_only,))
    gpu = Resources(accelerators=Accelerators(count=1))
    variants = (
        Variant(when=When(vendor=("nvidia",)), command=("gpu",), resources=gpu),
        Variant(when=When(), command=("cpu",)),
    )
    chosen = spec()
    run = type(chosen.run)(variants=variants)
    (verdict,) = plan(room, pick, spec(run=run)).verdicts
    assert verdict.feasible
    assert verdict.variant == -1 or verdict.variant == 1


def test_draws_follow_the_weights_and_never_repeat_a_region() -> None:
    drawn = [tuple(draw([8.0, 1.0, 1.0], seed, 2)) for seed in range(1_000)]
    assert all(len(set(pair)) == 2 for pair in drawn)
    first = Counter(pair[0] for pair in drawn)
    assert 740 < first[0] < 860


def test_a_region_without_weight_is_never_drawn() -> None:
    assert draw([0.0, 0.0], 1, 2) == []
    assert {tuple(draw([0.0, 1.0], seed, 2)) for seed in range(50)} == {(1,)}


def test_explain_tells_why_a_task_waits_and_what_each_region_says(room: Any, spec: Any) -> None:
    room.attach()
    task = room.submit(spec(resources=Resources(cpu=9_000)))
    room.wait(1)
    told = answers.explain(room.core, room.task(task), room.clock.now())
    assert told.state is TaskState.PENDING
    assert told.wait is not None
    assert told.wait.reason is WaitReason.NO_MATCHING_REGION
    assert [v.region for v in told.verdicts] == ["eu"]
    assert told.remedy


def test_a_task_of_unknown_state_says_what_happens_next_and_when(room: Any, spec: Any) -> None:
    stays, moves = room.running(), room.running(spec(on_disconnect=OnDisconnect.MOVE))
    room.renew()
    room.lose()
    room.wait(5)
    now = room.clock.now()
    stay = answers.wait_of(room.core, room.task(stays), now)
    move = answers.wait_of(room.core, room.task(moves), now)
    assert stay is not None
    assert move is not None
    assert (stay.reason, stay.next_ms) == (WaitReason.STALE, 0)
    assert now.utc_ms < move.next_ms < now.utc_ms + 21_100


def test_a_task_that_its_region_has_queued_says_so(room: Any) -> None:
    room.attach()
    task = room.submit()
    room.place()
    wait = answers.wait_of(room.core, room.task(task), room.clock.now())
    assert wait is not None
    assert wait.reason is WaitReason.QUEUED_IN_REGION


def test_a_running_task_waits_for_nothing(room: Any) -> None:
    task = room.running()
    assert answers.wait_of(room.core, task, room.clock.now()) is None
