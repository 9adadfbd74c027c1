"""Verification: honest logs pass, and each reason is triggered at least once."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertie.errors import IntertieError
from intertie.metering import canonical, records
from intertie.metering.audit import findings
from intertie.metering.audit.auditor import Auditor
from intertie.metering.audit.held import HeldIntervals
from intertie.metering.cursor import Cursor
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import checkpoint
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange, leaf_hash
from intertie.metering.log.note import Signer
from intertie.metering.log.trust import Trust
from intertie.metering.verify import Freshness, Report, region_of, root_pass, verify_log

NOON = 1_796_036_400_000
HOUR = 3_600_000
DAY = 24 * HOUR


def verify(world: Any, **changes: Any) -> Report:
    options: dict[str, Any] = {
        "cursor": world.start,
        "grants": {world.grant.sha256: world.grant},
        "leaf_at": world.leaves.__getitem__,
    }
    leaves = changes.pop("leaves", world.leaves)
    signed = changes.pop("signed", None) or world.signed()
    trust = changes.pop("trust", world.trust)
    return verify_log(leaves, signed, trust, **(options | changes))


def faults(report: Report) -> list[tuple[Fault, int | None]]:
    return [(finding.fault, finding.seq) for finding in report.findings]


def test_an_honest_log_passes_and_moves_the_cursor(world: Any) -> None:
    world.append(*(world.usage(n) for n in range(1, 30)), records.heartbeat("r1", 1))
    world.append(records.adjustment(world.leaves[3], n=1, quantity=-7, reason="step"))
    world.append(records.void(world.leaves[4], n=1, reason="twice"))
    report = verify(world)
    assert report.findings == ()
    assert report.ok
    assert (report.records, report.unchecked_corrections) == (32, 0)
    assert report.cursor.size == 32
    assert report.opened is not None
    assert report.opened.checkpoint == world.state.head()


def test_a_log_is_read_on_from_a_cursor(world: Any) -> None:
    world.append(world.usage(1), world.usage(2), world.usage(3))
    first = verify(world).cursor
    again = Cursor.from_json(first.to_json())
    assert again == first
    world.append(world.usage(4), records.adjustment(world.leaves[0], n=1, quantity=-1, reason="x"))
    report = verify(world, cursor=again, leaves=world.leaves[3:])
    assert report.ok
    assert report.cursor.size == 5
    assert verify(world, cursor=report.cursor, leaves=[]).ok
    whole = root_pass(world.start, world.leaves, report.opened)  # type: ignore[arg-type] # is ok
    assert whole == report.cursor


def test_leaves_beyond_the_checkpoint_are_not_read(world: Any) -> None:
    world.append(world.usage(1))
    signed = world.signed()
    world.append(world.usage(2))
    report = verify(world, signed=signed)
    assert report.ok
    assert report.records == 1


def test_corrections_without_leaf_access_are_counted_as_unchecked(world: Any) -> None:
    world.append(world.usage(1))
    world.append(records.adjustment(world.leaves[0], n=1, quantity=-7, reason="step"))
    report = verify(world, leaf_at=None)
    assert report.ok
    assert report.unchecked_corrections == 1
    assert verify(world, leaf_at=lambda _: None).unchecked_corrections == 1


@settings(max_examples=60)
@given(st.data())
def test_no_flipped_byte_of_a_log_goes_unnoticed(
    make_world: Callable[[], Any], data: st.DataObject
) -> None:
    world = make_world()
    world.append(*(world.usage(n) for n in range(1, 6)))
    signed = world.signed()
    part = data.draw(st.sampled_from(["leaf", "signed"]))
    mask = data.draw(st.integers(1, 255))
    leaves = list(world.leaves)
    if part == "leaf":
        seq = data.draw(st.integers(0, 4))
        leaves[seq] = _flip(leaves[seq], data.draw(st.integers(0, len(leaves[seq]) - 1)), mask)
    else:
        signed = _flip(signed, data.draw(st.integers(0, len(signed) - 1)), mask)
    report = verify(world, leaves=leaves, signed=signed)
    assert not report.ok
    assert report.cursor == world.start


def _flip(data: bytes, at: int, mask: int) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


# --- the head ------------------------------------------------------------------------------------


def test_bad_note_when_the_checkpoint_is_no_note(world: Any) -> None:
    report = verify(world, signed=b"junk")
    assert faults(report) == [(Fault.BAD_NOTE, None)]
    assert report.opened is None


def test_unknown_origin_when_nobody_vouches_for_the_log(world: Any) -> None:
    assert faults(verify(world, trust=Trust())) == [(Fault.UNKNOWN_ORIGIN, None)]
    elsewhere = Cursor.start("fed.example/region/r2/metering")
    assert faults(verify(world, cursor=elsewhere)) == [(Fault.UNKNOWN_ORIGIN, None)]


def test_bad_log_sig_when_a_stranger_signed(world: Any) -> None:
    stranger = Signer.from_seed(world.log.key.name, b"\x09" * 32)
    report = verify(world, trust=replace(world.trust, logs=(stranger.key,)))
    assert faults(report) == [(Fault.BAD_LOG_SIG, None)]


def test_quorum_not_met_without_the_witness(world: Any) -> None:
    alone = checkpoint.sign(world.state.head(), world.log)
    assert faults(verify(world, signed=alone)) == [(Fault.QUORUM_NOT_MET, None)]


def test_stale_checkpoint_when_the_cosignature_is_old(world: Any) -> None:
    signed = world.signed(time_s=1_000)
    for now_ms, expected in [(1_060_000, []), (1_060_001, [(Fault.STALE_CHECKPOINT, None)])]:
        report = verify(world, signed=signed, freshness=Freshness(now_ms, 60_000))
        assert faults(report) == expected


def test_rollback_when_the_log_shrinks(world: Any) -> None:
    world.append(world.usage(1))
    old = world.signed()
    world.append(world.usage(2))
    ahead = verify(world).cursor
    assert faults(verify(world, cursor=ahead, signed=old)) == [(Fault.ROLLBACK, None)]


def test_fork_when_one_size_has_two_roots(world: Any, make_world: Callable[[], Any]) -> None:
    other = make_world()
    world.append(world.usage(1))
    other.append(other.usage(1, quantity=1))
    seen = verify(world).cursor
    assert faults(verify(other, cursor=seen, leaves=[])) == [(Fault.FORK, None)]


def test_a_region_that_shows_another_history_later_is_caught(
    world: Any, make_world: Callable[[], Any]
) -> None:
    other = make_world()
    world.append(world.usage(1))
    other.append(other.usage(1, quantity=1), other.usage(2))
    seen = verify(world).cursor
    report = verify(other, cursor=seen, leaves=other.leaves[1:])
    assert faults(report) == [(Fault.ROOT_MISMATCH, None)]
    assert report.cursor == seen


def test_root_mismatch_when_leaves_are_moved(world: Any) -> None:
    world.append(world.usage(1), world.usage(2))
    report = verify(world, leaves=world.leaves[::-1])
    assert faults(report) == [(Fault.ROOT_MISMATCH, None), (Fault.SEQ_GAP, 0), (Fault.SEQ_GAP, 1)]


def test_seq_gap_when_leaves_are_missing(world: Any) -> None:
    world.append(world.usage(1), world.usage(2))
    report = verify(world, leaves=world.leaves[:1])
    assert faults(report) == [(Fault.SEQ_GAP, None)]
    assert report.cursor == world.start
    assert report.opened is not None
    with pytest.raises(MeteringError, match="up to seq 1"):
        root_pass(world.start, world.leaves[:1], report.opened)


# --- the records ---------------------------------------------------------------------------------


def test_seq_gap_in_a_record(world: Any) -> None:
    world.forge(world.usage(1), seq=5)
    assert faults(verify(world)) == [(Fault.SEQ_GAP, 0)]


def test_non_canonical_when_a_leaf_is_no_record(world: Any) -> None:
    world.append_raw(b'{"a": 1}', canonical.encode({"type": "fed.usage/v1"}))
    world.forge(world.usage(1), region="r2")
    found = faults(verify(world, grants=None))
    assert found == [(Fault.NON_CANONICAL, 0), (Fault.NON_CANONICAL, 1), (Fault.NON_CANONICAL, 2)]


def test_duplicate_rid_when_a_rid_stands_twice(world: Any) -> None:
    world.append(world.usage(1), world.usage(2, meter="cpu.used_core_ms"))
    world.forge(world.usage(2, meter="cpu.used_core_ms", quantity=1))
    report = verify(world)
    assert faults(report) == [(Fault.DUPLICATE_RID, 2)]
    assert "seq 1" in report.findings[0].detail


def test_no_grant_when_none_fits_the_usage(world: Any) -> None:
    other = replace(world.grant, supplement=1)
    world.append(
        world.usage(1),
        world.usage(2, grant_sha256=""),
        world.usage(3, grant_sha256="cd" * 32),
        world.usage(1, task="t-02"),
        world.usage(4, run="1-2.0"),
        world.usage(6, payer="evil"),
        world.usage(5, grant_sha256=other.sha256),
    )
    known = {grant.sha256: grant for grant in (world.grant, other)}
    assert faults(verify(world, grants=known)) == [(Fault.NO_GRANT, seq) for seq in range(1, 6)]
    only_one = faults(verify(world))
    assert only_one == [(Fault.NO_GRANT, seq) for seq in range(1, 7)]
    assert faults(verify(world, grants=None)) == [(Fault.NO_GRANT, 1)], "whether one is cited"


def test_native_and_informing_usage_needs_no_grant(world: Any) -> None:
    world.append(
        world.usage(1, payer="r1", grant_sha256=""),
        world.usage(2, meter="cpu.used_core_ms", grant_sha256=""),
    )
    assert verify(world).ok


def test_over_grant_when_more_is_billed_than_granted(world: Any) -> None:
    cap = replace(world.grant, maximum={"cpu.held_core_ms": 500_000})
    for n in (1, 2, 3):
        world.append(world.usage(n, grant_sha256=cap.sha256))
    report = verify(world, grants={cap.sha256: cap})
    assert faults(report) == [(Fault.OVER_GRANT, 2)]
    assert "allows 500000, billed 720000" in report.findings[0].detail
    world.append(records.adjustment(world.leaves[1], n=1, quantity=-220_000, reason="step"))
    assert verify(world, grants={cap.sha256: cap}).ok, "what was corrected is not billed"


def test_over_grant_when_a_correction_alone_passes_the_cap(world: Any) -> None:
    cap = replace(world.grant, maximum={"cpu.held_core_ms": 500_000})
    world.append(world.usage(1, grant_sha256=cap.sha256))
    world.append(records.adjustment(world.leaves[0], n=1, quantity=300_000, reason="x"))
    report = verify(world, grants={cap.sha256: cap})
    assert faults(report) == [(Fault.OVER_GRANT, 1)]
    assert "allows 500000, billed 540000" in report.findings[0].detail


def test_over_grant_when_only_the_correction_is_read(world: Any) -> None:
    cap = replace(world.grant, maximum={"cpu.held_core_ms": 500_000})
    world.append(world.usage(1, grant_sha256=cap.sha256))
    known = {cap.sha256: cap}
    seen = verify(world, grants=known).cursor
    world.append(records.adjustment(world.leaves[0], n=1, quantity=500_001, reason="x"))
    report = verify(world, grants=known, cursor=seen, leaves=world.leaves[1:])
    assert faults(report) == [(Fault.OVER_GRANT, 1)]
    assert faults(verify(world, grants={}, cursor=seen, leaves=world.leaves[1:])) == [
        (Fault.NO_GRANT, 1)
    ]


def test_taking_back_usage_that_was_read_earlier_is_no_fault(world: Any) -> None:
    world.append(world.usage(1))
    seen = verify(world).cursor
    world.append(records.void(world.leaves[0], n=1, reason="x"))
    assert verify(world, cursor=seen, leaves=world.leaves[1:]).ok


def test_corrections_of_native_and_informing_usage_need_no_grant(world: Any) -> None:
    world.append(
        world.usage(1, payer="r1", grant_sha256=""),
        world.usage(2, meter="cpu.used_core_ms", grant_sha256=""),
    )
    for seq in (0, 1):
        world.append(records.void(world.leaves[seq], n=1, reason="x"))
    assert verify(world).ok


def test_a_meter_that_was_not_granted_is_over_grant(world: Any) -> None:
    world.append(world.usage(1, meter="cu.held_ms", quantity=1))
    assert faults(verify(world)) == [(Fault.OVER_GRANT, 0)]


def test_more_than_wall_time_allows_is_over_grant(world: Any) -> None:
    rated = replace(world.grant, rate={"cpu.held_core_ms": 4})
    world.append(
        world.usage(1, quantity=240_000, grant_sha256=rated.sha256),
        world.usage(2, quantity=240_001, grant_sha256=rated.sha256),
    )
    assert faults(verify(world, grants={rated.sha256: rated})) == [(Fault.OVER_GRANT, 1)]


def test_overlap_when_something_is_held_twice(world: Any) -> None:
    world.append(
        world.usage(1),
        world.usage(2, start=NOON + 59_999, end=NOON + 60_001),
        world.usage(3, rank=1, start=NOON, end=NOON + 60_000),
        world.usage(4, run="1-1.1", start=NOON, end=NOON + 1),
        world.usage(5, start=NOON, end=NOON + 9, meter="cpu.used_core_ms"),
        world.usage(6, start=NOON, end=NOON + 9, meter="net.egress_bytes"),
    )
    assert faults(verify(world)) == [(Fault.OVERLAP, 1), (Fault.OVERLAP, 3)]


def test_bad_adjustment_when_a_correction_corrects_nothing(world: Any) -> None:
    world.append(
        world.usage(1, quantity=10), world.usage(2, quantity=10), records.heartbeat("r1", 1)
    )
    world.append_raw(b"junk")
    good = records.adjustment(world.leaves[0], n=1, quantity=-8, reason="x")
    target = good["adjusts"]
    junk = leaf_hash(world.leaves[3]).hex()
    beat = leaf_hash(world.leaves[2]).hex()
    other = leaf_hash(world.leaves[1]).hex()
    world.forge(good)
    for changes in [
        {"adjusts": target | {"seq": 99}},
        {"adjusts": target | {"leaf_hash": "ab" * 32}},
        {"adjusts": {"seq": 3, "leaf_hash": junk}},
        {"adjusts": {"seq": 2, "leaf_hash": beat}},
        {"adjusts": {"seq": 1, "leaf_hash": other}},
        {"payer": "evil"},
        {"quantity": -3},
    ]:
        n = len(world.leaves)
        world.forge(good | {"rid": f"{world.usage(1)['rid']}/adj/{n}"} | changes)
    half = records.void(world.leaves[1], n=1, reason="x") | {"quantity": -9}
    world.forge(half)
    report = verify(world)
    bad = [(Fault.BAD_ADJUSTMENT, seq) for seq in range(5, 13)]
    assert faults(report) == [(Fault.NON_CANONICAL, 3), *bad]
    details = [finding.detail for finding in report.findings[1:]]
    assert "not earlier" in details[0]
    assert "no record" in details[2]
    assert "no usage" in details[3]
    assert "expected a rid of" in details[4]
    assert details[5].startswith("payer")
    assert "leaves -1 of the 10" in details[6]
    assert "leaves 1 of the 10" in details[7]


@pytest.mark.parametrize(
    "changes",
    [
        {"boot": 63_000},
        {"boot": 57_000},
        {"start": NOON + 60_000, "end": NOON + 60_000, "boot": 0},
        {"start": NOON + 60_000, "end": NOON, "boot": 0},
        {"start": NOON + HOUR - 1, "end": NOON + HOUR + 1},
        {"start": NOON + HOUR + 600_001, "end": NOON + HOUR + 600_002},
    ],
)
def test_clock_anomaly_when_instants_contradict_each_other(
    world: Any, changes: dict[str, int]
) -> None:
    world.append(world.usage(1, quantity=1, **changes))
    assert faults(verify(world)) == [(Fault.CLOCK_ANOMALY, 0)]


def test_recording_time_may_not_run_back(world: Any) -> None:
    world.append(records.heartbeat("r1", 1), at=NOON)
    world.append(records.heartbeat("r1", 2), at=NOON - 600_000)
    assert verify(world).ok
    world.append(records.heartbeat("r1", 3), at=NOON - 1_200_001)
    assert faults(verify(world)) == [(Fault.CLOCK_ANOMALY, 2)]


def test_an_interval_may_end_exactly_at_the_hour(world: Any) -> None:
    world.append(
        world.usage(1, start=NOON + HOUR - 60_000, end=NOON + HOUR),
        world.usage(2, start=NOON + HOUR, end=NOON + HOUR + 60_000),
    )
    assert verify(world).ok


def test_late_when_usage_is_recorded_days_after(world: Any) -> None:
    world.append(world.usage(1), at=NOON + 8 * DAY)
    assert faults(verify(world)) == [(Fault.LATE, 0)]
    assert verify(world, late_ms=9 * DAY).ok


def test_usage_for_a_closed_month_is_late(world: Any) -> None:
    close = records.period_close("r1", payer="acme", month="2026-11", sums={}, record_count=0)
    world.append(world.usage(1), close)
    world.append(world.usage(2), world.usage(3, payer="r1", grant_sha256=""))
    assert faults(verify(world)) == [(Fault.LATE, 2)]


def test_findings_are_bounded_but_counted(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "MAX_FINDINGS", 3)
    world.append_raw(*(b"junk %d" % n for n in range(5)))
    report = verify(world)
    assert (len(report.findings), report.total) == (3, 5)


def test_every_reason_has_a_test_of_its_name() -> None:
    names = " ".join(name for name in globals() if name.startswith("test_"))
    apart = {Fault.BAD_PROOF}  # of proofs and receipts, not of a log
    assert [fault for fault in Fault if fault.value not in names and fault not in apart] == []


# --- parts ---------------------------------------------------------------------------------------


def test_an_auditor_can_stay_between_pulls(world: Any) -> None:
    auditor = Auditor("r1", grants={world.grant.sha256: world.grant})
    world.append(world.usage(1))
    auditor.feed(0, world.leaves[0])
    assert auditor.finish().total == 0
    world.forge(world.usage(1))
    auditor.feed(1, world.leaves[1])
    found = [finding.fault for finding in auditor.finish().listed]
    assert found == [Fault.OVERLAP, Fault.DUPLICATE_RID]


def test_origins_name_their_region() -> None:
    assert region_of("fed.example/region/r1/metering") == "r1"
    assert region_of("fed.example/region/r1/metering\n") is None
    assert region_of("example.com/log") is None


def test_a_log_with_a_free_origin_is_checked_without_a_region(world: Any) -> None:
    log = Signer.from_seed("example.com/log", b"\x01" * 32)
    world.append(world.usage(1))
    head = Checkpoint("example.com/log", 1, world.state.head().root)
    signed = checkpoint.cosign(checkpoint.sign(head, log), world.witness, 1)
    trust = replace(world.trust, logs=(log.key,))
    assert verify(world, signed=signed, trust=trust, cursor=Cursor.start("example.com/log")).ok


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=40))
def test_held_intervals_agree_with_a_naive_count(spans: list[tuple[int, int]]) -> None:
    held, taken = HeldIntervals(), set[int]()
    for start, length in spans:
        units = set(range(start, start + length))
        clash = held.add("key", start, start + length)
        assert (clash is not None) == bool(units & taken)
        if clash is None:
            taken |= units
        else:
            assert set(range(*clash)) & units
    assert held.add("other key", 0, 100) is None


@pytest.mark.parametrize(
    "change",
    [
        {"size": 1},
        {"size": "2"},
        {"size": True},
        {"origin": 7},
        {"origin": "elsewhere"},
        {"hashes": ["zz"]},
        {"hashes": 7},
        {"hashes": ["ab" * 32]},
        {"checkpoint": ""},
        {"checkpoint": 7},
        {"checkpoint": "junk"},
    ],
)
def test_a_cursor_must_agree_with_its_checkpoint(world: Any, change: dict[str, Any]) -> None:
    world.append(world.usage(1), world.usage(2))
    state = json.loads(verify(world).cursor.to_json())
    with pytest.raises(IntertieError, match="cursor"):
        Cursor.from_json(json.dumps(state | change))
    with pytest.raises(IntertieError):
        Cursor.from_json("junk")


def test_a_cursor_at_the_start_round_trips(world: Any) -> None:
    start = world.start
    assert Cursor.from_json(start.to_json()) == start == Cursor(start.origin, CompactRange())
