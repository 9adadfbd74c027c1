"""What the owner lends, and how it is taken back: guests go in time, native runs never."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.drive.effects import Fail, Reply, Tick
from intertie.errors import Reason
from intertie.model.agentlink import StartRun, StopRun
from intertie.model.lending import Hours, Lending, ProjectCap, Quantity, ReclaimState
from intertie.model.link import AssignAck, Offer, OfferRequest
from intertie.model.pool import NodeCapability, Shape, Summary
from intertie.model.spec import Accelerators, Residency, Resources, RunSpec, TaskSpec
from intertie.model.states import Outcome, RunState
from regional.domain.events import CreateNative, CreateReclaim, ReturnReclaim, SetLending
from regional.domain.lending import rules
from regional.domain.lending.rules import Guest

GIB = 1 << 30
NODE = NodeCapability(cpu=8_000, memory=32 * GIB, disk=64 * GIB, architecture="x86_64")
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
MONDAY = 4 * DAY
"""1970-01-05 was a Monday."""


def task(devices: int = 1, **changes: Any) -> TaskSpec:
    resources = Resources(cpu=100, memory=GIB, disk=GIB, accelerators=Accelerators(count=devices))
    run = RunSpec(command=("x",), timeout=changes.pop("timeout", 0))
    return TaskSpec(run=run, resources=resources, **changes)


@pytest.fixture
def pool(region: Any, ask: Any) -> Any:
    """A region with one node of four devices that has been up for a while."""
    region.attach_upward(lease_ms=10_000_000)
    region.attach("n1", capability=replace(NODE, devices=ask.devices(4)))
    region.pass_ms(120_000)
    region.do(Tick())
    return region


def lend(pool: Any, *, revision: int = -1, **policy: Any) -> list[object]:
    number = next(IDS)
    event = SetLending(
        ticket=number,
        policy=Lending(**policy),
        revision=revision,
        request_id=f"r{number}",
        request_digest="d",
    )
    return list(pool.do(event))


def reclaim(pool: Any, devices: int, *, deadline_ms: int = 30_000, for_ms: int = 0) -> Any:
    number = next(IDS)
    event = CreateReclaim(
        ticket=number,
        name=f"reclaims/{number}",
        quantity=Quantity(devices=devices),
        deadline_ms=deadline_ms,
        for_ms=for_ms,
        reason="our own training",
        request_id=f"r{number}",
        request_digest="d",
    )
    return pool.do(event)


IDS = iter(range(1_000, 1_000_000))


def answer(out: list[object]) -> Any:
    (reply,) = [e for e in out if isinstance(e, Reply)]
    return reply.value


def guests(pool: Any, ask: Any, count: int, **changes: Any) -> list[StartRun]:
    started = []
    for _ in range(count):
        _, out = pool.assign(task(**changes))
        started += ask.sent(out, StartRun)
    return started


def test_no_more_than_the_share_is_lent_and_native_runs_take_the_rest(pool: Any, ask: Any) -> None:
    lend(pool, share=500)
    assert len(guests(pool, ask, 3)) == 2
    native = CreateNative(
        ticket=1,
        task="projects/eu/tasks/00-0197c3a0-0000-7000-8000-00000000ffff",
        spec=task(2),
        principal="op",
        request_id="n1",
        request_digest="d",
    )
    assert len(ask.sent(pool.do(native), StartRun)) == 1


def test_an_offer_is_for_no_more_than_what_is_lent(pool: Any, ask: Any) -> None:
    lend(pool, floor=Quantity(devices=3))
    request = OfferRequest(id="o1", shapes=(rules_shape(task()),), count=4, hold_ms=0)
    (offer,) = ask.sent(pool.said(request), Offer)
    assert offer.units == 1


def rules_shape(spec: TaskSpec) -> Shape:
    needs = spec.resources
    return Shape(
        cpu=needs.cpu, memory=needs.memory, disk=needs.disk, devices=needs.accelerators.count
    )


def test_the_federation_is_told_what_is_lent_and_what_is_left(pool: Any, ask: Any) -> None:
    (before,) = ask.sent(summary(pool), Summary)
    assert before.lending is None
    lend(pool, floor=Quantity(devices=1), kinds=("training",), share=1_000)
    (after,) = ask.sent(summary(pool), Summary)
    assert after.lending is not None
    assert (after.lending.open, after.lending.kinds) == (True, ("training",))
    assert after.lending.left_devices == 3


def summary(pool: Any) -> list[object]:
    pool.pass_ms(60_000)
    return list(pool.do(Tick()))


def test_a_project_holds_no_more_than_its_cap(pool: Any, ask: Any) -> None:
    lend(
        pool,
        caps=(ProjectCap(project="vision", most=Quantity(cpu=8_000, memory=32 * GIB, devices=1)),),
    )
    assert len(guests(pool, ask, 3)) == 1


@pytest.mark.parametrize(
    ("policy", "spec", "why"),
    [
        ({"lends": False}, task(), "does not lend now"),
        ({"projects": ("chem",)}, task(), "does not lend to vision"),
        ({"kinds": ("training",)}, task(), "lends to training, not to generic"),
        (
            {"data_classes": ("public",)},
            task(residency=Residency(data_class="patients")),
            "no data of class patients",
        ),
        ({"longest_run": HOUR}, task(timeout=2 * HOUR), "for 3600 s at most"),
        ({"longest_run": HOUR}, task(), "for 3600 s at most"),
    ],
)
def test_what_is_not_lent_to_is_refused_with_the_reason(
    pool: Any, ask: Any, policy: dict[str, Any], spec: TaskSpec, why: str
) -> None:
    lend(pool, **policy)
    _, out = pool.assign(spec)
    (ack,) = ask.sent(out, AssignAck)
    assert (ack.accepted, ack.reason) == (False, "NOT_LENT")
    assert why in ack.message


def test_only_models_that_are_lent_are_given_to_guests(region: Any, ask: Any) -> None:
    region.attach_upward(lease_ms=10_000_000)
    devices = ask.devices(2)
    mixed = (replace(devices[0], model="H100"), replace(devices[1], model="L4"))
    region.attach("n1", capability=replace(NODE, devices=mixed))
    lend(region, models=("L4",))
    started = guests(region, ask, 2)
    assert [start.devices for start in started] == [(1,)]


def test_a_reclaim_gives_notice_to_whom_it_costs_least_and_is_done_when_they_are_gone(
    pool: Any, ask: Any
) -> None:
    started = guests(pool, ask, 4)
    for order in started:
        pool.runs_on("n1", order)
        pool.pass_ms(10_000)
    out = reclaim(pool, 2)
    stops = ask.sent(out, StopRun)
    assert {stop.task for stop in stops} == {started[3].task, started[2].task}
    assert all(stop.outcome is Outcome.RECLAIMED for stop in stops)
    kill_ms = pool.core.timing.kill_ms
    assert all(stop.notice_ms == 30_000 - kill_ms for stop in stops)
    made = answer(out)
    assert (made.state, made.guests_left) == (ReclaimState.RECLAIMING, 2)
    for order in (started[2], started[3]):
        pool.ends("n1", order, exit_code=None, signal=15)
    (stored,) = pool.core.lender.reclaims.values()
    assert (stored.state, stored.guests_left) == (ReclaimState.RECLAIMED, 0)
    assert pool.run(started[3].task).outcome is Outcome.RECLAIMED


def test_what_was_reclaimed_is_not_lent_again_until_it_is_given_back(pool: Any, ask: Any) -> None:
    made = answer(reclaim(pool, 3))
    assert made.state is ReclaimState.RECLAIMED
    assert len(guests(pool, ask, 2)) == 1
    back = ReturnReclaim(ticket=5, name=made.name, request_id="b", request_digest="d")
    out = pool.do(back)
    assert answer(out).state is ReclaimState.RETURNED
    assert len(ask.sent(out, StartRun)) == 1


def test_no_more_is_reclaimed_than_the_pool_has(pool: Any) -> None:
    (failed,) = [e for e in reclaim(pool, 5) if isinstance(e, Fail)]
    assert failed.error.fields[0].field == "quantity"
    assert "4 devices" in failed.error.fields[0].description
    assert pool.core.lender.reclaims == {}


def test_a_reclaim_with_an_end_gives_itself_back(pool: Any, ask: Any) -> None:
    reclaim(pool, 4, for_ms=HOUR)
    assert guests(pool, ask, 1) == []
    pool.pass_ms(HOUR)
    assert len(ask.sent(pool.do(Tick()), StartRun)) == 1


def test_guests_go_when_the_hours_end_and_come_back_when_they_begin(pool: Any, ask: Any) -> None:
    now_ms = pool.core.now.utc_ms
    minute = now_ms % DAY // MINUTE
    lend(pool, hours=(Hours(start_minute=minute, end_minute=(minute + 30) % 1_440),))
    (order,) = guests(pool, ask, 1)
    pool.runs_on("n1", order)
    pool.pass_ms(31 * MINUTE)
    (stop,) = ask.sent(pool.do(Tick()), StopRun)
    assert stop.outcome is Outcome.RECLAIMED


def test_a_policy_that_somebody_else_changed_meanwhile_is_not_replaced(pool: Any) -> None:
    assert answer(lend(pool, revision=0, share=900)).revision == 1
    (failed,) = [e for e in lend(pool, revision=0, share=100) if isinstance(e, Fail)]
    assert failed.error.reason is Reason.ETAG_MISMATCH
    assert pool.core.lender.policy.share == 900


def test_policy_and_reclaims_outlive_the_process(pool: Any, ask: Any) -> None:
    lend(pool, share=750)
    reclaim(pool, 1)
    pool.restart()
    assert pool.core.lender.policy.share == 750
    assert [r.quantity.devices for r in pool.core.lender.reclaims.values()] == [1]


def test_a_region_that_has_just_begun_asks_nobody_to_go_before_it_knows_its_pool(
    pool: Any, ask: Any
) -> None:
    pool.attach("n2", capability=replace(NODE, devices=ask.devices(4)))
    lend(pool, floor=Quantity(devices=4))
    started = guests(pool, ask, 4)
    placed = {order.task: pool.run(order.task).node for order in started}
    assert set(placed.values()) == {"n1"}
    pool.restart()
    pool.attach_upward(lease_ms=10_000_000)
    capability = replace(NODE, devices=ask.devices(4))
    out = pool.attach("n1", capability=capability, runs=started)
    out += pool.do(Tick())
    assert ask.sent(out, StopRun) == []
    pool.attach("n2", capability=capability)
    pool.pass_ms(120_000)
    assert ask.sent(pool.do(Tick()), StopRun) == []
    assert all(pool.run(order.task).state is not RunState.STOPPING for order in started)


# --- pure rules ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        (MONDAY + 21 * HOUR, False),
        (MONDAY + 22 * HOUR, True),
        (MONDAY + DAY + 5 * HOUR, True),
        (MONDAY + DAY + 6 * HOUR, False),
        (MONDAY + DAY + 23 * HOUR, False),
    ],
)
def test_hours_that_end_on_the_next_day_belong_to_the_day_they_begin(
    at: int, is_open: bool
) -> None:
    night = Hours(days=(0,), start_minute=22 * 60, end_minute=6 * 60)
    assert rules.is_open((night,), at) is is_open


spans = st.builds(
    Hours,
    days=st.lists(st.integers(0, 6), min_size=1, unique=True).map(lambda d: tuple(sorted(d))),
    start_minute=st.integers(0, 1_439),
    end_minute=st.integers(0, 1_440),
)


@given(st.lists(spans, max_size=3), st.integers(0, 60 * DAY))
def test_the_next_change_is_the_first_minute_that_differs(hours: list[Hours], at: int) -> None:
    now = rules.is_open(hours, at)
    change = rules.next_change_ms(hours, at)
    first = (at // MINUTE + 1) * MINUTE
    slow = next(
        (
            minute
            for minute in range(first, first + 8 * DAY, MINUTE)
            if rules.is_open(hours, minute) is not now
        ),
        None,
    )
    assert change == slow


quantities = st.builds(
    Quantity, cpu=st.integers(0, 100), memory=st.integers(0, 100), devices=st.integers(0, 8)
)
crowds = st.lists(st.tuples(quantities, st.integers(0, 1_000)), max_size=12)


@given(crowds, quantities)
def test_those_who_stay_fit_and_nobody_goes_without_need(
    crowd: list[tuple[Quantity, int]], amount: Quantity
) -> None:
    people = [Guest(f"g{i}", "p", q, ms) for i, (q, ms) in enumerate(crowd)]
    gone = set(rules.victims(people, amount))
    held = Quantity()
    for guest in people:
        if guest.key not in gone:
            held = held.plus(guest.holds)
    assert amount.covers(held)
    total = Quantity()
    for guest in people:
        total = total.plus(guest.holds)
    assert bool(gone) is not amount.covers(total)
