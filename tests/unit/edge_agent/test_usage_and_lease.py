"""Samples that add up, and leases that count from when they were asked for."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.domain.events import BeatSent, Extend, Launch, Measure, Measured, RegionDown, RunKey
from edge_agent.domain.lease import Lease, Reserve
from intertie.errors import IntertieError, Reason
from intertie.metering.intervals import INTERVAL_MS
from intertie.model.agentlink import AckUsage, UsageSample

MS = 1_000_000
RESERVE = Reserve(kill_ms=2_000, delta_ms=1_000)


def key_of(order: Any) -> RunKey:
    return RunKey(order.task, order.token)


def measured(desk: Any, order: Any, cpu_ms: int = 100) -> None:
    now = desk.clock.now()
    desk.tell(Measured(key=key_of(order), at_ns=now.boot_ns, cpu_ms=cpu_ms, memory_peak=1 << 20))


def run_for(desk: Any, order: Any, seconds: float) -> None:
    """Let a run go on; measurements are answered at once."""
    end_ns = desk.clock.now().boot_ns + round(seconds * 1e9)
    cpu_ms = 0
    while desk.clock.now().boot_ns < end_ns:
        due = min(desk.core.deadline or end_ns, end_ns)
        desk.clock.advance_ns(max(0, due - desk.clock.now().boot_ns))
        for effect in desk.tick(0):
            if isinstance(effect, Measure):
                cpu_ms += 1_000
                measured(desk, order, cpu_ms)


def test_a_long_run_is_cut_at_the_minutes_of_utc(desk: Any) -> None:
    desk.clock.advance(42.5)
    order = desk.start()
    process = desk.runs(order)
    run_for(desk, order, 150)
    desk.exits(process, cpu_ms=5_000)
    samples = desk.samples(order)
    assert [s.end_ms % INTERVAL_MS for s in samples[:-1]] == [0, 0, 0]
    assert [s.final for s in samples] == [False, False, False, True]
    assert sum(s.boot_ms for s in samples) == desk.end(order).boot_ms == 150_000
    assert sum(s.cpu_used_ms for s in samples) == 5_000
    assert all(a.end_ms == b.start_ms for a, b in pairwise(samples))


@given(
    starts_in_ms=st.integers(0, 120_000),
    steps=st.lists(
        st.tuples(
            st.sampled_from(["run", "step", "away", "back", "restart", "ack"]),
            st.integers(1, 400_000),
        ),
        max_size=12,
    ),
    last_ms=st.integers(0, 130_000),
)
def test_samples_add_up_whatever_happens_meanwhile(
    make_desk: Any, starts_in_ms: int, steps: list[tuple[str, int]], last_ms: int
) -> None:
    desk = make_desk()
    desk.clock.advance(starts_in_ms / 1000)
    order = desk.start()
    process = desk.runs(order)
    begun_ns = desk.clock.now().boot_ns
    for what, amount in steps:
        _happen(desk, order, process, what, amount)
    run_for(desk, order, last_ms / 1000)
    if not desk.core.telling.link:
        desk.attach()
    ran_ms = (desk.clock.now().boot_ns - begun_ns) // MS
    desk.exits(process, cpu_ms=10**9)
    for _ in range(200):
        if any(u.boot_ms for u in desk.updates(order) if u.state.value == "ENDED") or not ran_ms:
            break
        desk.ack_all(order)
    samples = desk.samples(order)
    assert sum(s.boot_ms for s in samples) == ran_ms
    assert [s.final for s in samples] == [False] * (len(samples) - 1) + [True]
    assert all(0 <= s.boot_ms == s.end_ms - s.start_ms <= INTERVAL_MS for s in samples)
    assert all(a.end_ms == b.start_ms for a, b in pairwise(samples))
    assert desk.end(order).boot_ms == ran_ms


def _happen(desk: Any, order: Any, process: Any, what: str, amount: int) -> None:
    match what:
        case "run":
            run_for(desk, order, amount / 1000)
        case "step":
            desk.clock.step_utc(amount - 200_000)
        case "away" if desk.core.telling.link:
            desk.tell(RegionDown(link=desk.link))
        case "back" if not desk.core.telling.link:
            desk.attach()
        case "restart":
            desk.restart()
            desk.keeper(process)
        case "ack":
            desk.ack_all(order)


def test_samples_are_sent_in_windows_and_go_on_with_acknowledgements(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    desk.clock.advance(100 * 60)
    measured(desk, order)
    sent = [m for m in desk.said if isinstance(m, UsageSample)]
    assert [s.interval for s in sent] == list(range(1, 65))
    more = desk.hear(AckUsage(task=order.task, token=order.token, interval=10))
    assert [m.interval for m in more] == list(range(65, 75))


def test_durable_samples_leave_the_rows(desk: Any) -> None:
    order = desk.start()
    desk.runs(order)
    desk.clock.advance(200)
    measured(desk, order)
    kept = [key for kind, key in desk.rows if kind == "sample"]
    assert len(kept) == 3
    desk.hear(AckUsage(task=order.task, token=order.token, interval=2))
    assert len([key for kind, key in desk.rows if kind == "sample"]) == 1


# --- leases ------------------------------------------------------------------------------------


def test_a_lease_counts_from_when_its_beat_was_sent() -> None:
    lease = Lease(RESERVE)
    lease.sent(1, 10_000 * MS)
    assert lease.granted(1, 6_000)
    assert lease.stop_at_ns == 13_000 * MS
    assert lease.holds(12_999 * MS)
    assert not lease.holds(13_000 * MS)


def test_a_lease_keeps_back_what_the_region_counts_with() -> None:
    lease = Lease(RESERVE)
    lease.agree(RESERVE.agreed(3_000, 500))
    lease.sent(1, 10_000 * MS)
    assert lease.granted(1, 6_000)
    assert lease.stop_at_ns == 12_000 * MS


def test_a_region_that_does_not_say_what_it_counts_with_changes_nothing() -> None:
    assert RESERVE.agreed(0, 0) == RESERVE


def test_a_node_that_kills_slower_than_its_region_counts_on_refuses_by_name() -> None:
    with pytest.raises(IntertieError, match=r"timing\.kill") as refused:
        RESERVE.agreed(1_999, 1_000)
    assert refused.value.reason is Reason.CONFIG_INVALID


def test_a_lease_of_nothing_extends_nothing() -> None:
    lease = Lease(RESERVE)
    lease.sent(1, 10_000 * MS)
    assert lease.granted(1, 6_000)
    lease.sent(2, 11_000 * MS)
    assert not lease.granted(2, 0)
    assert lease.stop_at_ns == 13_000 * MS


def test_a_shorter_lease_takes_nothing_back_that_was_granted() -> None:
    lease = Lease(RESERVE)
    lease.sent(1, 10_000 * MS)
    lease.granted(1, 6_000)
    lease.sent(2, 10_500 * MS)
    assert not lease.granted(2, 4_000)
    assert lease.stop_at_ns == 13_000 * MS


@pytest.mark.parametrize("seq", [2, 7])
def test_an_answer_to_no_beat_or_twice_grants_nothing(seq: int) -> None:
    lease = Lease(RESERVE)
    lease.sent(1, 10_000 * MS)
    assert not lease.granted(seq, 6_000)
    assert lease.granted(1, 6_000)
    assert not lease.granted(1, 60_000)


def test_a_start_counts_from_the_last_beat_that_was_answered() -> None:
    lease = Lease(RESERVE)
    lease.sent(1, 10_000 * MS)
    assert not lease.started_with(60_000), "no beat was answered yet"
    lease.granted(1, 6_000)
    lease.sent(2, 12_000 * MS)
    assert lease.started_with(8_000)
    assert lease.stop_at_ns == 15_000 * MS


def test_many_unanswered_beats_are_not_kept_for_ever() -> None:
    lease = Lease(RESERVE)
    for seq in range(1, 1_000):
        lease.sent(seq, seq * MS)
    assert not lease.granted(1, 6_000)
    assert lease.granted(999, 6_000)


def test_move_runs_wait_for_a_lease_and_live_by_it(desk: Any) -> None:
    order = desk.start(is_move=True, lease_ms=6_000)
    assert not any(isinstance(e, Launch) for e in desk.outward)
    sent_ns = desk.clock.now().boot_ns
    desk.tell(BeatSent(seq=1, sent_ns=sent_ns))
    desk.clock.advance(0.4)
    effects = desk.lease(1, 6_000)
    launch = next(e for e in effects if isinstance(e, Launch))
    assert launch.deadline_ns == sent_ns + 3_000 * MS
    desk.runs(order)
    desk.clock.advance(1)
    desk.tell(BeatSent(seq=2, sent_ns=desk.clock.now().boot_ns))
    assert desk.lease(2, 6_000) == [Extend(desk.clock.now().boot_ns + 3_000 * MS)]


def test_stay_runs_need_no_lease_and_move_nobodys_deadline(desk: Any) -> None:
    order = desk.start()
    assert desk.outward == [Launch(key_of(order), order, 0, None)]
    desk.tell(BeatSent(seq=1, sent_ns=desk.clock.now().boot_ns))
    assert desk.lease(1, 6_000) == []
