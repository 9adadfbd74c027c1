"""Records: built, sealed, read back; every field is judged."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.metering import canonical, records, schema
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.intervals import (
    INTERVAL_MS,
    RunTime,
    month_of,
    split_intervals,
    split_quantity,
    split_run_time,
)
from intertie.metering.rids import parse_rid
from intertie.model.meters import METERS
from intertie.model.states import FailureClass, Outcome

HOUR = 3_600_000
SEAL: dict[str, Any] = {"seq": 0, "recorded_ms": 1, "salt": "0" * 32}


@pytest.fixture
def bodies(world: Any) -> dict[str, records.Body]:
    """One body of each kind."""
    leaf = records.seal(world.usage(), seq=0, recorded_ms=1, salt="0" * 32)
    span = records.Span(0, 1000, 1000)
    made = [
        world.usage(),
        records.run_end(
            world.key(),
            span,
            outcome=Outcome.FAILED,
            time=RunTime(600, 400, 0),
            cause="task",
            complete=True,
            failure_class=FailureClass.OOM_HOST,
            checkpoint="step-7",
        ),
        records.placement(
            world.key(), start_ms=0, jurisdiction="CN/CN-JS", policy_sha256="ab" * 32, verdict="yes"
        ),
        records.adjustment(leaf, n=1, quantity=-7, reason="clock stepped"),
        records.void(leaf, n=1, reason="metered twice"),
        records.period_close("r1", payer="acme", month="2026-11", sums={}, record_count=0),
        records.key_rotation("r1", 1, old_vkey="a", new_vkey="b"),
        records.heartbeat("r1", 1),
    ]
    return {body["kind"]: body for body in made}


def test_every_kind_can_be_built_sealed_and_read(bodies: dict[str, records.Body]) -> None:
    assert tuple(bodies) == schema.KINDS
    for kind, body in bodies.items():
        leaf = records.seal(body, **SEAL)
        record = records.parse_record(leaf)
        assert parse_rid(str(record["rid"])).kind == kind
        assert records.unsealed(record) == body
        assert records.body_digest(record) == records.body_digest(body)


def test_the_digest_leaves_out_what_sequencing_adds(bodies: dict[str, records.Body]) -> None:
    end = bodies["run_end"]
    sealed = end | SEAL | {"first_seq": 3, "last_seq": 9}
    assert records.body_digest(sealed) == records.body_digest(end)
    other = end | {"cause": "region"}
    assert records.body_digest(other) != records.body_digest(end)


def test_a_missing_or_extra_field_is_named(bodies: dict[str, records.Body]) -> None:
    for kind, body in bodies.items():
        record = body | SEAL
        for name in schema.REQUIRED[kind] - {"kind", "type"}:
            with pytest.raises(MeteringError, match=f"^{name}: missing"):
                schema.check({key: value for key, value in record.items() if key != name})
        with pytest.raises(MeteringError, match=f"^extra: not a field of kind {kind}"):
            schema.check(record | {"extra": 1})


WRONG: list[tuple[str, str, Any]] = [
    ("usage", "type", "fed.usage/v1"),
    ("usage", "kind", "usages"),
    ("usage", "kind", 7),
    ("usage", "region", "a/b"),
    ("usage", "salt", "0" * 31),
    ("usage", "salt", "A" * 32),
    ("usage", "salt", "0" * 32 + "\n"),
    ("usage", "seq", -1),
    ("usage", "seq", True),
    ("usage", "seq", "0"),
    ("usage", "rank", False),
    ("usage", "quantity", -1),
    ("usage", "quantity", [1]),
    ("usage", "meter", "cpu.core_ms"),
    ("usage", "task", "a/b"),
    ("usage", "task", 7),
    ("usage", "project", ""),
    ("usage", "run", "1.0"),
    ("usage", "run", "1-01.0"),
    ("usage", "node", ""),
    ("usage", "node", "n" * 513),
    ("usage", "grant_sha256", "xyz"),
    ("usage", "rid", 7),
    ("usage", "rid", "t-01/1-1.0/0/1/mem.held_mib_ms"),
    ("usage", "rid", "t-02/1-1.0/0/1/cpu.held_core_ms"),
    ("usage", "rid", "t-01/1-1.0/0/01/cpu.held_core_ms"),
    ("usage", "rid", "t-01/1-1.0/0//cpu.held_core_ms"),
    ("usage", "rid", "t-01/1-1.0/0/+1/cpu.held_core_ms"),
    ("usage", "rid", "t-01/1-1.0/0/\u0661/cpu.held_core_ms"),
    ("run_end", "outcome", "DONE"),
    ("run_end", "failure_class", "BAD"),
    ("run_end", "cause", "weather"),
    ("run_end", "complete", 1),
    ("run_end", "useful_ms", 601),
    ("run_end", "reclaimed_ms", 401),
    ("run_end", "first_seq", 0),
    ("run_end", "rid", "t-01/1-1.0/0/placement"),
    ("placement", "policy_sha256", "x"),
    ("adjustment", "adjusts", 7),
    ("adjustment", "adjusts", {"seq": 0}),
    ("adjustment", "adjusts", {"seq": True, "leaf_hash": "ab" * 32}),
    ("adjustment", "adjusts", {"seq": 0, "leaf_hash": 7}),
    ("adjustment", "adjusts", {"seq": 0, "leaf_hash": "AB" * 32}),
    ("adjustment", "rid", "t-01/1-1.0/0/1/cpu.held_core_ms/void/1"),
    ("adjustment", "rid", "t-02/1-1.0/0/1/cpu.held_core_ms/adj/1"),
    ("adjustment", "rid", "t-01/1-1.0/0/x/cpu.held_core_ms/adj/1"),
    ("adjustment", "rid", "t-01/1-1.0/0/1/cpu.held_core_ms/adj/x"),
    ("adjustment", "quantity", True),
    ("adjustment", "boot_ms", -1),
    ("void", "rid", "t-01/1-1.0/0/1/cpu.held_core_ms/adj/1"),
    ("period_close", "month", "2026-13"),
    ("period_close", "rid", "acme/2026-12"),
    ("period_close", "sums", ["1"]),
    ("period_close", "sums", "1"),
    ("key_rotation", "rid", "heartbeat/1"),
    ("heartbeat", "rid", "heartbeat/0"),
    ("heartbeat", "rid", "heartbeat/01"),
    ("heartbeat", "rid", "heartbeat"),
]


@pytest.mark.parametrize(("kind", "name", "value"), WRONG)
def test_a_wrong_value_is_refused(
    bodies: dict[str, records.Body], kind: str, name: str, value: object
) -> None:
    with pytest.raises(MeteringError) as caught:
        schema.check(bodies[kind] | SEAL | {name: value})
    assert caught.value.fault is Fault.NON_CANONICAL


def test_period_sums_are_decimal_strings_of_known_meters(bodies: dict[str, records.Body]) -> None:
    body = bodies["period_close"] | SEAL
    big = {"meters": ["cpu.held_core_ms"], "sums": [str(2**60)]}
    schema.check(body | big)
    for wrong in (
        {"meters": ["cpu.held_core_ms"], "sums": [7]},
        {"meters": ["cpu.held_core_ms"], "sums": ["07"]},
        {"meters": ["cpu"], "sums": ["7"]},
    ):
        with pytest.raises(MeteringError, match="decimal string"):
            schema.check(body | wrong)


def test_sums_beyond_2_53_can_be_closed() -> None:
    body = records.period_close(
        "r1", payer="acme", month="2026-11", sums={"cpu.held_core_ms": 2**70}, record_count=9
    )
    assert body["sums"] == [str(2**70)]


def test_builders_refuse_what_could_not_be_sealed(world: Any) -> None:
    with pytest.raises(MeteringError, match=r"^meter"):
        world.usage(meter="cpu.core_ms")
    with pytest.raises(MeteringError, match=r"^quantity"):
        world.usage(quantity=-1)
    with pytest.raises(MeteringError, match=r"^project"):
        world.usage(project="a/b")


def test_native_work_pays_itself(world: Any) -> None:
    assert world.key(payer="r1").native
    assert not world.key().native
    assert "grant_sha256" not in world.usage(payer="r1", grant_sha256="")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t/1-1.0/0/1/cpu.held_core_ms\n",
        "t/1-1.0/0/1",
        "t/1-1/0/1/cpu.held_core_ms",
        "t/1-1.0/00/1/cpu.held_core_ms",
        "t/1-1.0/\u0660/1/cpu.held_core_ms",
        "heartbeat/0",
        "acme/2026-1",
        "x" * 600,
    ],
)
def test_other_rids_are_refused(text: str) -> None:
    with pytest.raises(MeteringError, match=r"^rid"):
        parse_rid(text)


def test_rids_are_taken_apart() -> None:
    rid = parse_rid("3f-0190/2-7.1/3/12/cpu.held_core_ms/adj/2")
    assert (rid.kind, rid.task, rid.run, rid.rank, rid.interval) == (
        "adjustment",
        "3f-0190",
        "2-7.1",
        3,
        12,
    )
    assert (rid.meter, rid.n) == ("cpu.held_core_ms", 2)
    assert rid.base == "3f-0190/2-7.1/3/12/cpu.held_core_ms"
    assert parse_rid("acme/2026-11").month == "2026-11"


@given(st.integers(0, 10**13), st.integers(0, 4 * HOUR), st.integers(0, 2**50))
def test_intervals_cover_the_span_and_shares_add_up(start: int, length: int, quantity: int) -> None:
    cuts = split_intervals(start, start + length)
    if length == 0:
        assert cuts == []
        assert split_quantity(0, cuts) == []
        return
    assert cuts[0][0] == start
    assert cuts[-1][1] == start + length
    assert all(a[1] == b[0] for a, b in pairwise(cuts))
    assert all(0 < e - s <= INTERVAL_MS and s // HOUR == (e - 1) // HOUR for s, e in cuts)
    shares = split_quantity(quantity, cuts)
    assert sum(shares) == quantity
    assert min(shares) >= 0


@given(st.integers(0, 10**9), st.lists(st.integers(0, 200_000), min_size=2, max_size=5))
def test_the_grid_does_not_depend_on_how_often_a_run_is_sampled(
    start: int, steps: list[int]
) -> None:
    whole = split_intervals(start, start + sum(steps))
    edges = {edge for cut in whole for edge in cut}
    at = start
    for step in steps:
        parts = split_intervals(at, at + step)
        assert {edge for cut in parts for edge in cut} - {at, at + step} <= edges
        at += step


@pytest.mark.parametrize(
    ("outcome", "cause", "expected"),
    [
        (Outcome.SUCCEEDED, "task", RunTime(100, 0, 0)),
        (Outcome.CANCELLED, "submitter", RunTime(100, 0, 0)),
        (Outcome.CANCELLED, "federation", RunTime(70, 30, 0)),
        (Outcome.FAILED, "task", RunTime(70, 30, 0)),
        (Outcome.LOST, "region", RunTime(70, 30, 0)),
        (Outcome.RECLAIMED, "owner", RunTime(70, 30, 30)),
        (Outcome.EVICTED, "region", RunTime(70, 30, 30)),
        (Outcome.LOST, "owner", RunTime(70, 30, 30)),
        (Outcome.PREEMPTED, "federation", RunTime(70, 30, 0)),
    ],
)
def test_lost_and_reclaimed_time_follow_the_rule(
    outcome: Outcome, cause: str, expected: RunTime
) -> None:
    assert split_run_time(100, 30, outcome, cause) == expected


@pytest.mark.parametrize(
    ("utc_ms", "month"),
    [
        (0, "1970-01"),
        (-1, "1969-12"),
        (951_782_399_999, "2000-02"),
        (951_868_800_000, "2000-03"),
        (1_796_083_199_999, "2026-11"),
        (1_796_083_200_000, "2026-12"),
        (1_798_761_599_999, "2026-12"),
        (1_798_761_600_000, "2027-01"),
    ],
)
def test_months_change_at_utc_midnight(utc_ms: int, month: str) -> None:
    assert month_of(utc_ms) == month


def test_the_meters_stand_as_the_contract_has_them() -> None:
    for name, meter in METERS.items():
        assert meter.name == name
        assert ".held_" not in name or (meter.billable and meter.held)
        assert ".used_" not in name or not (meter.billable or meter.held)


def test_leaves_are_what_json_says(world: Any) -> None:
    leaf = records.seal(world.usage(), **SEAL)
    assert json.loads(leaf) == records.parse_record(leaf)
    with pytest.raises(MeteringError):
        records.parse_record(leaf + b"\n")
    with pytest.raises(MeteringError, match="type"):
        records.parse_record(canonical.encode({"type": "other"}))


def test_only_usage_is_corrected(
    bodies: dict[str, records.Body], make_world: Callable[[], Any]
) -> None:
    leaf = records.seal(bodies["heartbeat"], **SEAL)
    with pytest.raises(AssertionError):
        records.adjustment(leaf, n=1, quantity=1, reason="x")
    world = make_world()
    usage = records.seal(world.usage(quantity=9), **SEAL)
    assert records.void(usage, n=1, reason="x")["quantity"] == -9
