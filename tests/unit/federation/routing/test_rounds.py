"""What routing promises of rounds: preference, price, memory, credit, and decisions made again."""

from dataclasses import replace
from typing import Any

import pytest

from federation.domain import answers
from federation.domain.events import AskPlan, SendAssignment
from federation.domain.offers import CREDITS
from federation.domain.routing.decisions import DECISION, differences
from federation.domain.routing.known.history import History, Record, beta_quantile
from federation.domain.routing.known.latency import KnownLatencies, Measured
from federation.domain.routing.known.prices import Prices
from federation.domain.routing.supposing import WhatIf
from intertie.billing.prices import PriceList
from intertie.drive.effects import Fail, Reply, Write
from intertie.model.link import OfferRequest
from intertie.model.money import Money
from intertie.model.pool import LendingTerms
from intertie.model.spec import (
    Accelerators,
    Budget,
    Estimate,
    Kind,
    Latency,
    Objective,
    Placement,
    Residency,
    Resources,
)
from intertie.model.states import FailureClass, Outcome, RunState, TaskState, WaitReason
from intertie.model.task import Plan, Run
from intertie.model.token import Epoch, Token

EDGE_FIRST = Placement(prefer=("edge",), spill_after=20_000)


def asked_of(room: Any, pick: Any, seconds: float) -> list[tuple[str, OfferRequest]]:
    found: list[tuple[str, OfferRequest]] = pick.sends(room.wait(seconds), OfferRequest)
    return found


def prices(version: str, euros: int) -> PriceList:
    return PriceList(version, "EUR", 2, {"cpu.held_core_ms": Money("EUR", euros)})


def plan(room: Any, pick: Any, spec: Any, **more: Any) -> Plan:
    effects = room.give(AskPlan(ticket=99, spec=spec, **more))
    for region, request in pick.sends(effects, OfferRequest):
        effects = room.offer(request, region)
    found = pick.one(effects, Reply).value
    assert isinstance(found, Plan)
    return found


def test_an_edge_that_has_room_is_taken_before_a_larger_centre(
    room: Any, spec: Any, pick: Any
) -> None:
    room.attach("edge")
    room.attach("core", classes=())
    room.attach("core")
    task = room.submit(spec(placement=EDGE_FIRST))
    asked = asked_of(room, pick, 0.001)
    assert [region for region, _ in asked] == ["edge"]
    room.offer(asked[0][1], "edge")
    assert room.task(task).region == "edge"


def test_a_task_spills_to_the_centre_when_the_edge_gives_nothing_for_long_enough(
    room: Any, spec: Any, pick: Any
) -> None:
    room.attach("edge")
    room.attach("core")
    task = room.submit(spec(placement=EDGE_FIRST))
    began = room.clock.now().boot_ns
    while True:
        room.summarise("edge")
        room.summarise("core")
        asked = asked_of(room, pick, 0.2)
        waited_s = (room.clock.now().boot_ns - began) / 1e9
        if any(region == "core" for region, _ in asked):
            break
        assert waited_s < 25, "it never spills"
        for region, request in asked:
            room.offer(request, region, units=1, units_now=0, expected_wait_ms=60_000)
    assert waited_s >= 20
    for region, request in asked:
        units = 1 if region == "core" else 0
        room.offer(request, region, units=units, units_now=units)
    assert room.task(task).region == "core"


def test_price_breaks_a_tie_and_never_outweighs_time(room: Any, pick: Any) -> None:
    room.attach("dear")
    room.attach("cheap")
    room.core.router.prices = Prices(prices("p1", 1), {"dear": prices("p2", 5)})
    task = room.submit()
    for region, request in asked_of(room, pick, 0.001):
        room.offer(request, region)
    assert room.task(task).region == "cheap"
    other = room.submit()
    for region, request in asked_of(room, pick, 0.001):
        wait_ms = 600_000 if region == "cheap" else 0
        now = 0 if region == "cheap" else 1
        room.offer(request, region, units_now=now, expected_wait_ms=wait_ms)
    assert room.task(other).region == "dear"


def test_a_task_that_wants_it_cheap_goes_where_it_is_cheap(room: Any, spec: Any, pick: Any) -> None:
    room.attach("dear", classes=())
    room.attach("dear")
    room.attach("west", jurisdiction="CN/CN-GZ/guian")
    room.core.router.prices = Prices(prices("p1", 5), {"west": prices("p2", 1)})
    for _ in range(5):
        task = room.submit(spec(objective=Objective.COST))
        ((region, request),) = asked_of(room, pick, 0.001)
        room.offer(request, region)
        assert room.task(task).region == "west"
    sent = pick.some(room.said, SendAssignment)
    assert b'"price_version":"p2"' in sent[-1].grant.replace(b" ", b"")


def test_a_budget_is_a_filter_with_the_quote_in_it(room: Any, spec: Any, pick: Any) -> None:
    room.attach()
    room.core.router.prices = Prices(prices("p1", 3))
    asked = spec(budget=Budget(total=Money("EUR", 5)), estimate=Estimate(duration=2 * 3_600_000))
    (verdict,) = plan(room, pick, asked).verdicts
    assert verdict.reason is WaitReason.BUDGET
    assert verdict.per_hour == Money("EUR", 3)
    other = spec(budget=Budget(total=Money("CNY", 500)), estimate=Estimate(duration=1_000))
    assert not plan(room, pick, other).verdicts[0].feasible


def test_an_unmeasured_pair_fails_a_bound_and_a_near_one_holds(
    room: Any, spec: Any, pick: Any
) -> None:
    room.attach()
    wanted = spec(latency=Latency(origin="us", max_rtt=50))
    (verdict,) = plan(room, pick, wanted).verdicts
    assert verdict.reason is WaitReason.LATENCY
    room.core.router.latencies = KnownLatencies({("us", "eu"): Measured(20.0)}, {}, 1)
    (verdict,) = plan(room, pick, wanted).verdicts
    assert verdict.feasible
    assert verdict.rtt_p95_ms == 20.0


def test_a_region_that_lends_to_others_is_not_asked(room: Any, spec: Any, pick: Any) -> None:
    room.attach(lending=LendingTerms(projects=("theirs",), left_cpu=8_000, left_memory=1 << 36))
    room.submit(spec())
    assert not asked_of(room, pick, 1)
    room.summarise(lending=LendingTerms(projects=("demo",), left_cpu=8_000, left_memory=1 << 36))
    assert asked_of(room, pick, 1)


def test_a_refusal_is_remembered_for_a_while_and_forgotten(room: Any, pick: Any) -> None:
    room.attach()
    room.submit()
    ((region, request),) = asked_of(room, pick, 0.001)
    room.offer(request, region, units=0, units_now=0, refusal="full")
    task = next(iter(room.core.tasks.values()))
    demand = room.core.router.classes.of(task.spec, (), task.project)
    memory = room.core.router.rejections
    assert memory.factors(demand, room.clock.now().boot_ns)[region] < 0.2
    assert not memory.factors(demand, room.clock.now().boot_ns + 100 * 10**9)


def test_a_region_that_owes_too_many_offers_is_asked_no_more(
    room: Any, spec: Any, pick: Any
) -> None:
    room.attach()
    for number in range(CREDITS + 5):
        room.submit(spec(resources=Resources(cpu=100 + number)))
    assert len(asked_of(room, pick, 0.001)) == CREDITS


def test_a_decision_is_kept_and_comes_out_the_same_again(room: Any, pick: Any) -> None:
    for region in ("eu", "us", "cn"):
        room.attach(region)
    task = room.submit()
    for region, request in asked_of(room, pick, 0.001):
        room.offer(request, region)
    run = room.task(task).run
    (row,) = [w for w in pick.some(room.said, Write) if w.kind == DECISION]
    assert (row.key, row.shard) == (run.decision, 1)
    decision = row.value
    assert len(decision.drawn) == 2
    assert len(decision.candidates) == 3
    assert differences(decision) == ()
    told = answers.explain_decision(room.core, room.task(task), decision)
    assert (told.chosen, told.differences) == (run.region, ())
    room.summarise(run.region)
    told = answers.explain_decision(room.core, room.task(task), decision)
    assert any(run.region in text for text in told.since_then)


@pytest.mark.parametrize("change", ["seed", "weights", "lots"])
def test_a_decision_that_was_tampered_with_comes_out_different(
    room: Any, pick: Any, change: str
) -> None:
    for region in ("eu", "us", "cn"):
        room.attach(region)
    room.submit()
    for region, request in asked_of(room, pick, 0.001):
        wait_ms = 0 if region == "us" else 60_000
        room.offer(request, region, units_now=0, expected_wait_ms=wait_ms + 1_000)
    (row,) = [w for w in pick.some(room.said, Write) if w.kind == DECISION]
    decision = row.value
    match change:
        case "seed":
            changed = [replace(decision, seed=seed) for seed in range(20)]
        case "weights":
            without = [
                replace(c, weight=c.weight * (c.region not in decision.drawn))
                for c in decision.candidates
            ]
            changed = [replace(decision, candidates=tuple(without))]
        case _:
            changed = [replace(decision, lots=decision.lots[::-1])]
    assert any(differences(one) for one in changed)


def test_regions_that_fail_are_trusted_less_and_users_mistakes_do_not_count(room: Any) -> None:
    def seen(history: History, outcome: Outcome, failure: FailureClass | None) -> float:
        run = Run(
            n=1,
            token=Token(Epoch(1, 1), 1),
            region="eu",
            state=RunState.ENDED,
            outcome=outcome,
            failure_class=failure,
            started_ms=1_000,
            ended_ms=61_000,
        )
        for _ in range(5):
            history.ended(run, kind=Kind.TRAINING, name="n", model="", now_ms=61_000)
        return history.success("eu", Kind.TRAINING, 61_000)[0]

    good = seen(History(), Outcome.SUCCEEDED, None)
    bad = seen(History(), Outcome.FAILED, FailureClass.HARDWARE)
    users = seen(History(), Outcome.FAILED, FailureClass.USER)
    assert bad < users == beta_quantile(1, 1) < good


def test_half_of_what_was_seen_is_forgotten_in_seven_days() -> None:
    record = Record(key="keeps/eu/generic", at_ms=0, good=8.0, bad=4.0)
    aged = record.at(7 * 24 * 3_600_000)
    assert (aged.good, aged.bad) == (4.0, 2.0)


def test_what_runs_taught_outlives_a_restart(room: Any, spec: Any) -> None:
    task = room.running(spec(name="resnet"))
    now_ms = room.clock.now().utc_ms
    room.end(task, started_ms=now_ms - 60_000, ended_ms=now_ms)
    assert room.state(task) is TaskState.SUCCEEDED
    room.wait(11)
    room.restart()
    demand = room.core.router.classes.of(spec(name="resnet"))
    assert demand.work.source == "history"
    assert 54_000 < demand.work.ms < 66_000


def test_a_plan_supposes_that_devices_are_taken_back(
    room: Any, spec: Any, pick: Any, node_class: Any
) -> None:
    gpus = node_class(model="A100", max_devices=8, free_blocks={4: 1}, device_memory=80 << 30)
    room.attach(classes=(gpus,))
    wanted = spec(resources=Resources(accelerators=Accelerators(count=4)))
    assert plan(room, pick, wanted).chosen == "eu"
    supposed = plan(room, pick, wanted, what_if=WhatIf(reclaims=(("eu", 3),)))
    assert not supposed.chosen
    assert "has 1: ask for `count: 1`, or wait" in supposed.remedy
    down = plan(room, pick, wanted, what_if=WhatIf(regions_down=frozenset({"eu"})))
    assert not down.verdicts[0].feasible
    unknown = room.give(
        AskPlan(ticket=1, spec=wanted, what_if=WhatIf(regions_down=frozenset({"mars"})))
    )
    assert "mars" in str(pick.one(unknown, Fail).error)


def test_what_is_assumed_is_named_in_a_plan(room: Any, spec: Any, pick: Any) -> None:
    room.attach()
    (verdict,) = plan(room, pick, spec()).verdicts
    assert "duration 10 min" in verdict.assumed
    assert any(factor.name == "success" and factor.assumed for factor in verdict.weights)
    told = spec(estimate=Estimate(duration=60_000), residency=Residency(within=("DE",)))
    (verdict,) = plan(room, pick, told).verdicts
    assert not any("duration" in text for text in verdict.assumed)
