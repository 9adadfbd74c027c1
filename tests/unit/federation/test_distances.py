"""What the router is told of round trips: measured, else estimated, else nothing."""

from dataclasses import replace

import pytest

from federation.domain.routing.known.latency import Estimated, KnownLatencies, Measured
from federation.server.region.checks import check_hello, check_message
from federation.server.region.distances import Distances
from intertie.errors import IntertieError, Reason
from intertie.model.link import RegionHello, RoundTrip, RttReport
from intertie.pki.identity import Identity
from intertie.pki.spiffe import Role
from intertie.testing.clock import FakeClock

KEEP_MS = 120_000
HELLO = RegionHello(
    region="eu",
    incarnation="i",
    jurisdiction="DE",
    software="t",
    protocol_min=1,
    protocol_max=1,
)

PEER = Identity(
    spiffe_id=None,
    role=Role.SCHEDULER,
    project=None,
    region="eu",
    name="scheduler",
    serial="1",
    not_before_ms=0,
    not_after_ms=1,
)


def trip(region: str, p50_us: int = 100_000, p95_us: int = 187_250, **more: int) -> RoundTrip:
    return RoundTrip(region=region, p50_us=p50_us, p95_us=p95_us, samples=20, **more)


def report(*trips: RoundTrip) -> RttReport:
    return RttReport(round_trips=trips)


def made(clock: FakeClock, **declared: float) -> Distances:
    pairs = {("eu", region): Estimated(p95_ms) for region, p95_ms in declared.items()}
    return Distances(clock, KnownLatencies(pairs, {}), KEEP_MS)


def test_what_the_origin_measured_counts_before_all_else() -> None:
    clock = FakeClock()
    known = made(clock, cn=5.0)
    assert known.p95("eu", "cn") == Estimated(5.0)
    known.heard("cn", report(trip("eu", p95_us=1_000)))
    assert known.p95("eu", "cn") == Estimated(5.0)
    known.heard("eu", report(trip("cn", age_ms=40)))
    assert known.p95("eu", "cn") == Measured(187.25, 40)


def test_what_the_other_side_measured_is_only_an_estimate() -> None:
    known = made(FakeClock())
    known.heard("cn", report(trip("eu")))
    assert known.p95("eu", "cn") == Estimated(187.25)
    assert known.p95("cn", "eu") == Measured(187.25)
    assert known.p95("eu", "us") is None


def test_what_was_not_measured_of_late_is_unmeasured_and_the_revision_tells() -> None:
    clock = FakeClock()
    known = made(clock)
    known.heard("eu", report(trip("cn"), trip("us", age_ms=KEEP_MS + 1)))
    assert known.p95("eu", "us") is None
    revision = known.revision
    clock.advance(KEEP_MS / 1000 + 1)
    assert known.revision > revision
    assert known.p95("eu", "cn") is None
    assert ("eu", "cn", None) in known.pairs(["cn", "eu"])


def test_a_report_with_the_same_percentiles_leaves_the_revision() -> None:
    known = made(FakeClock())
    known.heard("eu", report(trip("cn")))
    revision = known.revision
    known.heard("eu", report(trip("cn", p50_us=90_000)))
    assert known.revision == revision
    known.heard("eu", report(trip("cn", p95_us=187_251)))
    assert known.revision == revision + 1


@pytest.mark.parametrize(
    "trips",
    [
        (trip("cn", p50_us=-1),),
        (trip("cn", p50_us=2, p95_us=1),),
        (trip("cn", p95_us=60_000_001),),
        (trip("cn", lost=-1),),
        (trip("cn", age_ms=-1),),
        (trip("C N"),),
        (trip("cn"), trip("cn")),
        tuple(trip(f"r{n}") for n in range(1_001)),
    ],
)
def test_a_report_that_cannot_be_true_breaks_the_link(trips: tuple[RoundTrip, ...]) -> None:
    with pytest.raises(IntertieError, match="rtt_report") as caught:
        check_message(report(*trips), HELLO)
    assert caught.value.reason is Reason.INVALID_FIELD


@pytest.mark.parametrize("address", ["here", "host:", ":9", "host:0", "host:65536", "a b:9"])
def test_a_beacon_that_is_no_address_is_refused(address: str) -> None:
    assert check_hello(replace(HELLO, beacon="[::1]:7"), PEER, "intertie.example") == 1
    with pytest.raises(IntertieError, match=r"hello\.beacon"):
        check_hello(replace(HELLO, beacon=address), PEER, "intertie.example")
