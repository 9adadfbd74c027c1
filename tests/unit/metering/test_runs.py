"""The end of a run against its usage: complete means gap-free, and no run is longer than it was."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.metering import records
from intertie.metering.audit.auditor import Auditor
from intertie.metering.audit.runs import Runs
from intertie.metering.faults import Fault
from intertie.metering.intervals import RunTime
from intertie.model.states import Outcome

NOON = 1_796_036_400_000
MINUTE = 60_000


def end(world: Any, ran_ms: int, *, complete: bool = True, **changes: Any) -> records.Body:
    end_ms = changes.pop("end_ms", NOON + ran_ms)
    return records.run_end(
        world.key(**changes),
        records.Span(NOON, end_ms, ran_ms),
        outcome=Outcome.SUCCEEDED,
        time=RunTime(ran_ms, 0, 0),
        cause="task",
        complete=complete,
    )


def audited(world: Any, **options: Any) -> list[tuple[Fault, int | None, str]]:
    grants = options.pop("grants", {world.grant.sha256: world.grant})
    auditor = Auditor("r1", grants=grants)
    for seq, leaf in enumerate(world.leaves):
        auditor.feed(seq, leaf)
    auditor.finish()
    found = auditor.finish()  # a second look finds nothing twice
    return [(finding.fault, finding.seq, finding.detail) for finding in found.listed]


def test_a_complete_run_over_two_placements_passes(world: Any) -> None:
    world.append(*(world.usage(n) for n in (1, 2)))
    moved = {"run": "1-1.1", "node": "n8"}
    later = NOON + 10 * MINUTE
    world.append(world.usage(1, start=later, **moved))
    world.append(world.usage(1, start=later, meter="cpu.used_core_ms", **moved))
    world.append(end(world, 3 * MINUTE, run="1-1.1", end_ms=later + MINUTE))
    assert audited(world) == []


def test_a_complete_run_must_not_lack_an_interval(world: Any) -> None:
    world.append(world.usage(1), world.usage(3), end(world, 2 * MINUTE))
    ((fault, seq, what),) = audited(world)
    assert (fault, seq) == (Fault.SEQ_GAP, 2)
    assert "interval 2 of placement 1-1.0 is missing" in what


def test_a_complete_run_must_have_usage_for_all_its_time(world: Any) -> None:
    world.append(world.usage(1), end(world, MINUTE + 2_001))
    ((fault, seq, what),) = audited(world)
    assert (fault, seq) == (Fault.SEQ_GAP, 1)
    assert "only 60000 ms have usage" in what


def test_a_run_that_says_it_is_incomplete_may_lack_usage(world: Any) -> None:
    world.append(world.usage(1), world.usage(3), end(world, 5 * MINUTE, complete=False))
    assert audited(world) == []


def test_usage_longer_than_its_run_is_a_clock_anomaly(world: Any) -> None:
    world.append(world.usage(1), world.usage(2), end(world, 2 * MINUTE - 2_001, complete=False))
    found = audited(world)
    assert [(fault, seq) for fault, seq, _ in found] == [(Fault.CLOCK_ANOMALY, 2)]


def test_usage_long_after_the_end_of_its_run_is_a_clock_anomaly(world: Any) -> None:
    world.append(world.usage(1), world.usage(2, start=NOON + 12 * MINUTE))
    world.append(end(world, 2 * MINUTE))
    found = audited(world)
    assert [(fault, seq) for fault, seq, _ in found] == [(Fault.CLOCK_ANOMALY, 2)]


def test_a_run_ends_once_whatever_its_placement(world: Any) -> None:
    world.append(world.usage(1), end(world, MINUTE))
    world.append(end(world, MINUTE, run="1-1.1"))
    ((fault, seq, what),) = audited(world)
    assert (fault, seq) == (Fault.DUPLICATE_RID, 2)
    assert "ended at seq 1" in what


def test_a_run_that_begins_after_its_grant_was_over_has_none(world: Any) -> None:
    over = replace(world.grant, not_after_ms=NOON - 10 * MINUTE)
    known = {over.sha256: over}
    world.append(*(world.usage(n, grant_sha256=over.sha256) for n in (1, 2)))
    assert audited(world, grants=known) == []
    over = replace(world.grant, not_after_ms=NOON - 10 * MINUTE - 1)
    other = replace(over, task="t-02")
    known[other.sha256] = other
    world.append(*(world.usage(n, task="t-02", grant_sha256=other.sha256) for n in (1, 2)))
    found = audited(world, grants=known)
    assert [(fault, seq) for fault, seq, _ in found] == [(Fault.NO_GRANT, 2)]


def test_a_run_that_began_in_time_may_go_on_after_its_grant(world: Any) -> None:
    soon = replace(world.grant, not_after_ms=NOON + MINUTE)
    world.append(*(world.usage(n, grant_sha256=soon.sha256) for n in (1, 2, 30)))
    assert audited(world, grants={soon.sha256: soon}) == []


def test_nothing_is_said_of_runs_whose_beginning_was_read_earlier(world: Any) -> None:
    world.append(world.usage(1), world.usage(3), end(world, 2 * MINUTE))
    auditor = Auditor("r1", grants={world.grant.sha256: world.grant})
    for seq in (1, 2):
        auditor.feed(seq, world.leaves[seq])
    assert auditor.finish().total == 0


@given(st.permutations(range(1, 12)), st.sets(st.integers(1, 11), max_size=2))
def test_a_gap_is_found_in_whatever_order_intervals_come(
    make_world: Any, order: list[int], missing: set[int]
) -> None:
    world, runs = make_world(), Runs()
    present = [n for n in order if n not in missing]
    for n in present:
        runs.usage(n, dict(world.usage(n)))
    runs.ended(99, dict(end(world, len(present) * MINUTE)))
    gap = any(n < max(present) for n in missing)
    assert [fault for fault, _, _ in runs.judge() if fault is Fault.SEQ_GAP] == [
        Fault.SEQ_GAP
    ] * gap


@pytest.mark.parametrize("interval", [0, 1])
def test_an_interval_counts_once_for_all_its_meters(world: Any, interval: int) -> None:
    for meter in ("cpu.held_core_ms", "mem.held_mib_ms", "cpu.used_core_ms"):
        world.append(world.usage(interval, start=NOON, meter=meter))
    world.append(end(world, MINUTE * interval))
    assert audited(world) == []
