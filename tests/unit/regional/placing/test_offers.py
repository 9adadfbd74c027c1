"""What a region offers, holds, and refuses."""

from itertools import pairwise
from typing import Any

from intertie.drive.effects import Tick
from intertie.model.link import Offer, OfferRelease, OfferRequest
from intertie.model.pool import Shape, Summary
from regional.domain.settings import Site

GIB = 1 << 30
UNIT = Shape(cpu=1_000, memory=GIB, disk=GIB)


def _request(
    id_: str, count: int, *, hold_ms: int = 2_000, shape: Shape = UNIT, **more: Any
) -> OfferRequest:
    return OfferRequest(id=id_, shapes=(shape,), count=count, hold_ms=hold_ms, **more)


def _offer(region: Any, ask: Any, request: Any) -> Offer:
    (offer,) = ask.sent(region.said(request), Offer)
    assert isinstance(offer, Offer)
    return offer


def test_an_offer_counts_what_starts_now_and_what_may_wait(linked: Any, ask: Any) -> None:
    offer = _offer(linked, ask, _request("o1", 20))
    assert offer.units_now == 4
    assert offer.units == 12
    assert offer.variant == 0
    assert offer.hold_ms == 2_000


def test_what_is_held_for_one_offer_is_not_offered_again(linked: Any, ask: Any) -> None:
    assert _offer(linked, ask, _request("o1", 3)).units_now == 3
    assert _offer(linked, ask, _request("o2", 3)).units_now == 1


def test_a_plan_asks_without_holding(linked: Any, ask: Any) -> None:
    assert _offer(linked, ask, _request("p1", 4, hold_ms=0)).hold_ms == 0
    assert _offer(linked, ask, _request("o2", 4)).units_now == 4


def test_a_hold_ends_by_itself(linked: Any, ask: Any) -> None:
    _offer(linked, ask, _request("o1", 4, hold_ms=500))
    linked.pass_ms(501)
    assert _offer(linked, ask, _request("o2", 4)).units_now == 4


def test_a_released_hold_is_offered_again(linked: Any, ask: Any) -> None:
    _offer(linked, ask, _request("o1", 4))
    linked.said(OfferRelease(id="o1"))
    assert _offer(linked, ask, _request("o2", 4)).units_now == 4


def test_an_assignment_uses_its_hold(linked: Any, ask: Any, spec: Any) -> None:
    _offer(linked, ask, _request("o1", 4))
    linked.assign(spec, offer="o1")
    assert _offer(linked, ask, _request("o2", 4)).units_now == 0
    for _ in range(3):
        linked.assign(spec, offer="o1")
    assert linked.core.running == 4


def test_a_shape_that_no_node_could_ever_run_is_refused(linked: Any, ask: Any) -> None:
    offer = _offer(linked, ask, _request("o1", 1, shape=Shape(cpu=64_000, memory=1, disk=1)))
    assert (offer.units, offer.variant) == (0, -1)
    assert "no node" in offer.refusal


def test_the_first_variant_that_some_node_can_run_is_offered(linked: Any, ask: Any) -> None:
    gpu = Shape(cpu=1_000, memory=GIB, disk=GIB, devices=1)
    request = OfferRequest(id="o1", shapes=(gpu, UNIT), count=1, hold_ms=0)
    assert _offer(linked, ask, request).variant == 1


def test_residency_is_checked_before_an_offer_is_made(linked: Any, ask: Any) -> None:
    offer = _offer(linked, ask, _request("o1", 1, within=("FR",)))
    assert offer.units == 0
    assert offer.refusal.startswith("residency")


def test_nothing_starts_now_while_others_wait(linked: Any, ask: Any, spec: Any) -> None:
    for _ in range(5):
        linked.assign(spec)
    offer = _offer(linked, ask, _request("o1", 4))
    assert offer.units_now == 0
    assert offer.expected_wait_ms > 0


def test_summaries_of_two_regions_drift_apart(make_region: Any, ask: Any) -> None:
    instants: dict[str, list[int]] = {}
    for name in ("eu", "us"):
        region = make_region()
        region.restart(site=Site(region=name, jurisdiction="DE", incarnation="r1"))
        region.attach_upward()
        seen = instants.setdefault(name, [])
        for _ in range(400):
            region.pass_ms(100)
            seen += [region.now_ns for _ in ask.sent(region.do(Tick()), Summary)]
    gaps = {
        name: {(after - before) // 1_000_000 for before, after in pairwise(seen)}
        for name, seen in instants.items()
    }
    assert instants["eu"] != instants["us"]
    assert all(1_500 <= gap <= 2_100 for found in gaps.values() for gap in found)
