"""Round trips that regions report, over a real replica: listed, held against bounds, refused."""

from typing import Any

import pytest

from federation.app import Application
from intertie.api.federation.v1 import region_service_pb2 as regions_pb
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.region_service_pb2_grpc import RegionServiceStub
from intertie.model.link import Beacons, RoundTrip, RttReport
from intertie.model.spec import Latency
from intertie.testing.waiting import eventually
from intertie.wire.tasks import spec_to_pb

WITHIN_S = 10.0


def report(region: str, p95_us: int) -> RttReport:
    return RttReport(round_trips=(RoundTrip(region=region, p50_us=1, p95_us=p95_us, samples=9),))


@pytest.fixture
def listed(place: Any, replica: Application) -> Any:
    stub = RegionServiceStub(place.channel(replica.address))

    async def ask() -> dict[tuple[str, str], int | None]:
        answer = await stub.ListRtts(regions_pb.ListRttsRequest())
        return {(r.origin, r.region): r.p95_us if r.measured else None for r in answer.rtts}

    return ask


async def test_what_a_region_measured_is_listed_and_held_against_a_bound(
    place: Any, replica: Application, eu: Any, tasks: Any, spec: Any, listed: Any
) -> None:
    us = place.region(replica.address, "us", jurisdiction="US/US-VA/iad1")
    await us.attach()
    assert await listed() == dict.fromkeys([("eu", "eu"), ("eu", "us"), ("us", "eu"), ("us", "us")])
    asked = spec_to_pb(spec(latency=Latency(max_rtt=50, origin="us")))

    async def verdict() -> tuple[str, bool]:
        plan = await tasks.PlanTask(pb.PlanTaskRequest(spec=asked, parent="projects/demo"))
        (found,) = [r for r in plan.verdicts if r.region == "eu"]
        (check,) = [c for c in found.checks if c.name == "latency"]
        return check.have, check.holds

    assert await verdict() == ("unmeasured", False)
    await us.send(report("eu", 40_000))

    async def holds() -> bool:
        return await verdict() == ("40.0 ms", True)

    await eventually(holds, WITHIN_S, what="a bound that holds")
    assert (await listed())["us", "eu"] == 40_000
    await us.send(report("eu", 60_000))

    async def is_too_far() -> bool:
        return await verdict() == ("60.0 ms", False)

    await eventually(is_too_far, WITHIN_S, what="a bound that does not hold")


async def test_a_region_that_speaks_of_beacons_hears_where_they_are(
    place: Any, replica: Application
) -> None:
    us = place.region(replica.address, "us", features=("beacons",))
    await us.attach()
    await eventually(lambda: us.heard_of(Beacons), WITHIN_S, what="the beacons")
    assert us.heard_of(Beacons)[0] == Beacons(beacons=())
