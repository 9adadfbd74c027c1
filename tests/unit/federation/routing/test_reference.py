"""The router in columns, the router of single verdicts, and a dumb one agree on every region."""

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from federation.domain.fleet import MS, Fleet, Timing
from federation.domain.routing.known.latency import Estimated, KnownLatencies, Measured
from federation.domain.routing.known.prices import Prices
from federation.domain.routing.router import Router
from federation.domain.routing.table.slices import BIT
from intertie.billing.prices import PriceList
from intertie.model.link import RegionHello
from intertie.model.money import Money
from intertie.model.pool import NodeClass, Summary
from intertie.model.spec import (
    Accelerators,
    Budget,
    DataItem,
    Estimate,
    Latency,
    Placement,
    Residency,
    Resources,
    RunSpec,
    TaskSpec,
    Variant,
    When,
)
from intertie.model.states import RegionState
from intertie.ports import Now

NAMES = ("eu", "us", "cn", "edge")
PLACES = ("DE/DE-HE/fra1", "US/US-VA/iad1", "CN/CN-JS/suzhou-park", "CN/CN-GZ/guian")
AREAS = ("DE", "DE/DE-HE", "US", "CN", "CN/CN-JS", "CN/CN-JS/suzhou-park")
NOW = Now(10**13, "boot", 1_800_000_000_000)
GIB = 1 << 30

classes = st.builds(
    NodeClass,
    architecture=st.just("x86_64"),
    vendor=st.sampled_from(["nvidia", "huawei"]),
    model=st.sampled_from(["A100", "910B", ""]),
    nodes=st.integers(1, 4),
    max_cpu=st.sampled_from([2_000, 8_000]),
    max_memory=st.sampled_from([4 * GIB, 64 * GIB]),
    max_disk=st.sampled_from([1 * GIB, 100 * GIB]),
    max_devices=st.sampled_from([0, 2, 8]),
    device_memory=st.sampled_from([0, 40 * GIB, 80 * GIB]),
    free_cpu=st.integers(0, 32_000),
    free_memory=st.integers(0, 200 * GIB),
    free_blocks=st.dictionaries(st.sampled_from([1, 2, 4, 8]), st.integers(0, 3), max_size=3),
    software=st.sampled_from([{}, {"cuda": "12.4"}, {"cann": "8.0"}]),
)
places = st.permutations(PLACES)
resources = st.builds(
    Resources,
    cpu=st.sampled_from([500, 1_000, 4_000]),
    memory=st.sampled_from([GIB, 8 * GIB]),
    accelerators=st.builds(
        Accelerators,
        count=st.sampled_from([0, 1, 2, 4]),
        memory=st.sampled_from([0, 64 * GIB]),
        model=st.sampled_from([(), ("A100",)]),
    ),
)
variants = st.lists(
    st.builds(
        Variant,
        when=st.builds(
            When,
            vendor=st.sampled_from([(), ("huawei",)]),
            software=st.sampled_from([(), ("cuda>=12",), ("cann>=8",)]),
        ),
        command=st.just(("true",)),
        resources=st.none() | resources,
    ),
    max_size=2,
).map(tuple)
names = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)
specs = st.builds(
    TaskSpec,
    run=st.builds(RunSpec, command=st.just(("true",)), variants=variants),
    resources=resources,
    placement=st.builds(Placement, only=names, never=names),
    residency=st.builds(
        Residency,
        within=st.lists(st.sampled_from(AREAS), max_size=2).map(tuple),
        not_within=st.lists(st.sampled_from(("US", "CN/CN-GZ")), max_size=1).map(tuple),
    ),
    latency=st.none()
    | st.builds(
        Latency,
        origin=st.just("edge"),
        max_rtt=st.sampled_from([20, 100]),
        allow_estimated=st.booleans(),
    ),
    data=st.lists(
        st.builds(
            DataItem,
            name=st.just("d"),
            uri=st.sampled_from(["", "s3://b/d"]),
            size=st.sampled_from([0, 10 * GIB]),
            at=names,
        ),
        max_size=1,
    ).map(tuple),
    budget=st.none()
    | st.builds(
        Budget,
        total=st.none() | st.sampled_from([Money("EUR", 1), Money("EUR", 50), Money("CNY", 50)]),
        per_hour=st.just(Money("EUR", 2)),
    ),
    estimate=st.just(Estimate(duration=7_200_000)),
)
regions = st.tuples(
    st.sampled_from([True, True, True, False]),  # active
    st.sampled_from([True, True, True, False]),  # linked
    st.sampled_from([0, 29_000, 31_000]),  # age
    st.integers(0, 5),  # under way
    st.none() | st.lists(classes, max_size=3).map(tuple),
    st.sampled_from([True, True, False]),  # accepting
)
rtts = st.dictionaries(
    st.sampled_from(NAMES), st.tuples(st.sampled_from([5.0, 50.0, 500.0]), st.booleans())
)
prices = st.sampled_from(
    [
        PriceList("none", "EUR", 2, {}),
        PriceList("p1", "EUR", 2, {"cpu.held_core_ms": Money("EUR", 0, 50_000_000)}),
        PriceList("p2", "EUR", 2, {"accelerator.held_device_ms": Money("EUR", 1)}),
    ]
)


def hello(region: str, place: str) -> RegionHello:
    return RegionHello(
        region=region,
        incarnation="i",
        jurisdiction=place,
        software="0.1.0",
        protocol_min=1,
        protocol_max=1,
    )


def build(dumb: Any, drawn: Any, where: Any, known: Any, list_: PriceList) -> tuple[Any, Router]:
    """The same world for both."""
    timing = Timing(summary_max_age_ms=30_000)
    fleet = Fleet(NOW, timing)
    told = []
    for number, (region, place) in enumerate(zip(NAMES, where, strict=True)):
        active, linked, age_ms, inflight, has, accepting = drawn[number]
        summary = None
        if has is not None:
            summary = Summary(
                region=region,
                incarnation="i",
                revision=1,
                jurisdiction=place,
                classes=has,
                accepting=accepting,
                health=0.5,
            )
        member = fleet.attach(number + 1, hello(region, place), NOW)
        fleet.update(
            member,
            summary=summary,
            summary_ns=NOW.boot_ns - age_ms * MS,
            inflight=inflight,
            link=number + 1 if linked else 0,
            state=RegionState.ACTIVE if active else RegionState.CORDONED,
        )
        told.append(dumb.Region(region, place, active, linked, age_ms, inflight, summary))
    pairs = {("edge", r): Estimated(p) if e else Measured(p) for r, (p, e) in known.items()}
    router = Router(fleet, timing, random.Random(1))
    router.latencies = KnownLatencies(pairs, {"us": 1e9})
    router.prices = Prices(list_)
    rtt = {("edge", region): value for region, value in known.items()}
    return dumb.World(told, rtt, {"us": 1e9}, list_), router


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    spec=specs,
    drawn=st.lists(regions, min_size=4, max_size=4),
    where=places,
    known=rtts,
    excluded=names,
    list_=prices,
)
def test_columns_and_verdicts_agree_with_a_dumb_router(
    dumb: Any, spec: Any, drawn: Any, where: Any, known: Any, excluded: Any, list_: Any
) -> None:
    world, router = build(dumb, drawn, where, known, list_)
    demand = router.classes.of(spec, excluded)
    found = router.set_of(demand, NOW)
    verdicts = {v.region: v for v in router.verdicts(demand, NOW)}
    for row, region in enumerate(router.regions):
        told = next(r for r in world.regions if r.id == region)
        wanted = dumb.failing(world, spec, told, excluded)
        by_verdict = {c.name for c in verdicts[region].checks if not c.holds}
        by_column = {name for name, bit in BIT.items() if found.fails[row] & bit}
        assert by_verdict == wanted, region
        assert by_column == wanted, region
        assert verdicts[region].feasible == (not wanted)
        if not wanted:
            expected = dumb.weight(world, spec, told)
            assert abs(verdicts[region].weights[-1].value - expected) <= 1e-9 * max(1, expected)
            assert abs(float(found.weight[row]) - expected) <= 1e-9 * max(1, expected)
            assert verdicts[region].variant == int(found.variant[row])


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    specs_=st.lists(specs, min_size=1, max_size=3),
    drawn=st.lists(regions, min_size=4, max_size=4),
    changes=st.lists(st.tuples(st.integers(0, 3), regions, st.booleans()), max_size=6),
    known=rtts,
)
def test_a_set_that_follows_changes_is_the_set_made_anew(
    dumb: Any, specs_: Any, drawn: Any, changes: Any, known: Any
) -> None:
    _, router = build(dumb, drawn, PLACES, known, PriceList("none", "EUR", 2, {}))
    demands = [router.classes.of(spec) for spec in specs_]
    for number, (_, _, age_ms, inflight, has, accepting), only_load in changes:
        fleet = router._fleet
        member = fleet.members[NAMES[number]]
        if only_load or has is None or member.summary is None:
            fleet.update(member, inflight=inflight)
        else:
            summary = Summary(
                region=NAMES[number],
                incarnation="i",
                revision=2,
                jurisdiction=PLACES[number],
                classes=has,
                accepting=accepting,
            )
            summary_ns = NOW.boot_ns - age_ms * MS
            fleet.update(member, summary=summary, summary_ns=summary_ns, inflight=inflight)
        for demand in demands:
            followed = router.set_of(demand, NOW)
            again = Router(fleet, router._timing, random.Random(1))
            again.latencies = router.latencies
            for region in fleet.members:
                fleet.touch(region)
            anew = again.set_of(demand, NOW)
            by_region = dict(zip(again.regions, anew.weight.tolist(), strict=True))
            now_ = dict(zip(router.regions, followed.weight.tolist(), strict=True))
            assert now_ == by_region
