"""Verdicts by a policy: the fast evaluator against the dumb one, and the cases that people read."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.model.spec import DataItem, Residency, TransferBasis
from intertie.residency import NONE, Policy, Stop, TransferRule, Zone, decide, may_leave, want
from intertie.residency.days import day_of
from intertie.residency.paths import allowed
from intertie.testing.residency import dumb_ruling, random_cases, random_path

CASES = 20_000
POLICY = Policy(
    zones=(Zone("EU", ("DE", "FR")), Zone("park", ("CN/CN-JS/park",))),
    data_classes=(("personal", ""),),
    rules=(
        TransferRule(name="eu", data_classes=("personal",), source=("EU",), to=("EU",)),
        TransferRule(
            name="scc",
            data_classes=("personal",),
            source=("EU",),
            to=("*",),
            outside=("park",),
            bases=("scc",),
            expires="2027-01-01",
        ),
    ),
)
DAY = "2026-12-01"


def test_the_fast_and_the_dumb_evaluator_agree_on_generated_cases() -> None:
    allowed_count = 0
    for policy, wanted, path, on in random_cases(random.Random(7), CASES):
        fast = decide(policy, wanted, path, on)
        assert (fast.allowed, fast.rule) == dumb_ruling(policy, wanted, path, on), (
            policy.to_fields(),
            wanted,
            path,
            on,
        )
        allowed_count += fast.allowed
    assert CASES // 20 < allowed_count < CASES * 19 // 20, "both verdicts occur often"


@given(st.integers(0, 2**32))
def test_without_a_policy_bounds_mean_what_they_meant_as_paths(seed: int) -> None:
    rng = random.Random(seed)
    path = random_path(rng)
    within, banned = (random_path(rng),), (random_path(rng),)
    asked = want(Residency(within=within, not_within=banned))
    assert decide(NONE, asked, path) == allowed(path, within, banned)


def test_a_zone_is_its_members_and_what_lies_below_them() -> None:
    asked = want(Residency(within=("EU",)))
    ruling = decide(POLICY, asked, "DE/DE-HE/fra1")
    assert (ruling.allowed, ruling.rule) == (True, "within EU")
    assert not decide(POLICY, asked, "US").allowed


@pytest.mark.parametrize("field", ["within", "not_within"])
def test_a_zone_that_the_policy_lacks_is_refused_by_name(field: str) -> None:
    gone = ("gone-zone",)
    residency = Residency(within=gone) if field == "within" else Residency(not_within=gone)
    asked = want(residency)
    ruling = decide(POLICY, asked, "DE")
    assert not ruling.allowed
    assert "no zone 'gone-zone'" in ruling.reason


def test_a_place_that_is_not_known_is_no_place_for_a_restricted_task() -> None:
    assert decide(POLICY, want(Residency(within=("EU",))), "").rule == "jurisdiction"
    assert decide(POLICY, want(Residency()), "").allowed


def test_no_rule_is_a_refusal() -> None:
    asked = want(Residency(data_class="personal"), (DataItem(name="d", at=("US",)),))
    assert decide(POLICY, asked, "DE").rule == "no transfer rule"


def test_a_basis_must_be_claimed_with_its_reference_and_must_not_be_over() -> None:
    def ruled(basis: TransferBasis, on: str = DAY) -> str:
        asked = want(
            Residency(data_class="personal", transfer_basis=basis),
            (DataItem(name="d", at=("DE",)),),
        )
        ruling = decide(POLICY, asked, "US", on)
        return "" if ruling.allowed else ruling.reason

    assert "needs transfer_basis.basis scc" in ruled(TransferBasis())
    assert "needs transfer_basis.reference" in ruled(TransferBasis(basis="scc"))
    good = TransferBasis(basis="scc", reference="contract 7", expires="2026-12-01")
    assert not ruled(good)
    assert "expired on 2026-12-01" in ruled(good, "2026-12-02")
    assert "expired on 2027-01-01" in ruled(TransferBasis(basis="scc", reference="c"), "2027-01-02")


def test_a_place_known_only_roughly_may_be_in_what_is_excepted() -> None:
    basis = TransferBasis(basis="scc", reference="contract 7")
    asked = want(
        Residency(data_class="personal", transfer_basis=basis), (DataItem(name="d", at=("DE",)),)
    )
    assert decide(POLICY, asked, "CN/CN-SH", DAY).allowed
    assert not decide(POLICY, asked, "CN/CN-JS", DAY).allowed
    assert not decide(POLICY, asked, "CN/CN-JS/park/hall", DAY).allowed


def test_one_copy_that_may_come_is_enough() -> None:
    asked = want(Residency(data_class="personal"), (DataItem(name="d", at=("US", "FR")),))
    assert decide(POLICY, asked, "DE").rule == "transfer eu"


def test_a_copy_at_a_region_that_is_not_known_lets_nothing_with_a_class_come() -> None:
    items = (DataItem(name="d", at=("fra-1",)),)
    classed = Residency(data_class="personal")
    assert not decide(POLICY, want(classed, items), "DE").allowed
    assert decide(POLICY, want(classed, items, {"fra-1": "FR"}), "DE").allowed


def test_bytes_leave_only_for_stops_that_are_declared_and_within() -> None:
    asked = want(Residency(within=("EU",)))
    good = [Stop("relay", "FR"), Stop("reader", "DE/DE-HE")]
    assert may_leave(POLICY, asked, "DE", good, DAY).allowed
    undeclared = may_leave(POLICY, asked, "DE", [good[0], Stop("reader", "")], DAY)
    assert (undeclared.allowed, undeclared.rule) == (False, "undeclared reader")
    abroad = may_leave(POLICY, asked, "DE", [Stop("relay", "US"), good[1]], DAY)
    assert (abroad.allowed, abroad.rule) == (False, "within EU")
    assert may_leave(POLICY, want(Residency()), "DE", [Stop("reader", "")], DAY).allowed


def test_results_are_of_the_class_of_their_inputs() -> None:
    items = (DataItem(name="d", at=("DE",), data_class="personal"),)
    asked = want(Residency(), items)
    assert may_leave(POLICY, asked, "DE", [Stop("reader", "FR")], DAY).allowed
    assert not may_leave(POLICY, asked, "DE", [Stop("reader", "US")], DAY).allowed


@pytest.mark.parametrize(
    ("utc_ms", "day"),
    [
        (0, "1970-01-01"),
        (951_782_400_000, "2000-02-29"),
        (1_767_225_599_999, "2025-12-31"),
        (1_767_225_600_000, "2026-01-01"),
        (4_107_542_400_000, "2100-03-01"),
    ],
)
def test_the_day_of_an_instant_is_the_utc_day(utc_ms: int, day: str) -> None:
    assert day_of(utc_ms) == day
