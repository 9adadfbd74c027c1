"""What a node may claim: no more time, no more use, no other hour than can be believed here."""

from itertools import pairwise
from typing import Any

import pytest

from intertie.metering.audit.runs import SKEW_MS
from intertie.model.agentlink import StartRun, UsageSample
from intertie.model.pool import NodeCapability
from intertie.model.spec import TaskSpec
from regional.domain.runs.usage import MAX_INSTANT_MS, MAX_SAMPLE_MS, MAX_SKEW_MS

PASSED_MS = 10_000
UNKILLED = {"unkillable": "1", "lost": "1"}


def billed(region: Any, meter: str) -> list[int]:
    return [r["quantity"] for r in region.records("usage") if r["meter"] == meter]


def spans(region: Any, meter: str = "cpu.held_core_ms") -> list[tuple[int, int]]:
    return sorted(
        (r["start_ms"], r["end_ms"]) for r in region.records("usage") if r["meter"] == meter
    )


@pytest.fixture
def running(linked: Any, ask: Any, spec: TaskSpec) -> tuple[Any, str, StartRun]:
    """A run that has run for `PASSED_MS`."""
    task, out = linked.assign(spec)
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.pass_ms(PASSED_MS)
    return linked, task, order


def _sample(region: Any, order: StartRun, **changes: Any) -> UsageSample:
    fields: dict[str, Any] = {
        "task": order.task,
        "token": order.token,
        "interval": 1,
        "start_ms": region.now.utc_ms - 1_000,
        "end_ms": region.now.utc_ms,
        "boot_ms": 1_000,
        "cpu_used_ms": 500,
        "memory_peak": 1 << 20,
        "final": True,
        **changes,
    }
    return UsageSample(**fields)


def test_a_node_is_paid_for_no_more_time_than_has_passed_here(running: Any) -> None:
    region, task, order = running
    sample = UsageSample(
        task=task,
        token=order.token,
        interval=1,
        start_ms=region.now.utc_ms - 3_000_000,
        end_ms=region.now.utc_ms,
        boot_ms=3_000_000,
        cpu_used_ms=1_000,
        memory_peak=1 << 20,
        final=False,
    )
    region.says("n1", sample)
    (held,) = billed(region, "cpu.held_core_ms")
    passed_ms = PASSED_MS * (1 + 2 * region.core.timing.drift) + region.core.timing.delta_ms
    assert held == int(passed_ms) * order.cpu // 1000
    (cut,) = [fact for fact in region.facts if "usage_cut_ms" in fact]
    assert cut["usage_cut_ms"] == 3_000_000 - int(passed_ms)


def test_intervals_of_a_run_follow_each_other_whatever_the_clocks_of_its_nodes(
    linked: Any, ask: Any
) -> None:
    _, out = linked.assign(ask.moving())
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    linked.attach("n2")
    linked.sample("n1", order, 1, ms=5_000)
    out = linked.ends("n1", order, exit_code=None, signal=9, evidence=UNKILLED)
    (again,) = ask.sent(out, StartRun, "n2")
    linked.runs_on("n2", again)
    linked.pass_ms(5_000)
    behind_ms = linked.now.utc_ms - 60_000
    late = UsageSample(
        task=order.task,
        token=again.token,
        interval=1,
        start_ms=behind_ms - 5_000,
        end_ms=behind_ms,
        boot_ms=5_000,
        cpu_used_ms=0,
        memory_peak=0,
        final=True,
    )
    linked.says("n2", late)
    spans = sorted({(r["start_ms"], r["end_ms"]) for r in linked.records("usage")})
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_an_end_makes_a_run_no_longer_than_the_time_that_has_passed_here(running: Any) -> None:
    region, task, order = running
    region.ends("n1", order, exit_code=1, boot_ms=MAX_INSTANT_MS - 1)
    passed_ms = int(PASSED_MS * (1 + 2 * region.core.timing.drift)) + region.core.timing.delta_ms
    (end,) = region.records("run_end")
    assert end["boot_ms"] == end["useful_ms"] + end["lost_ms"] == passed_ms
    assert region.run(task).run_ms == passed_ms


def test_a_checkpoint_saves_no_more_than_the_time_that_has_passed_here(running: Any) -> None:
    region, task, order = running
    region.checkpoint("n1", order, step=1, at_ms=1 << 50)
    region.pass_ms(PASSED_MS)
    region.ends("n1", order, exit_code=1, boot_ms=2 * PASSED_MS)
    assert region.run(task).lost_ms == PASSED_MS - region.core.timing.delta_ms - 20


def test_a_node_used_no_more_than_it_has(running: Any) -> None:
    region, _, order = running
    claim = _sample(region, order, cpu_used_ms=MAX_SAMPLE_MS * 10_000, memory_peak=1 << 62)
    region.says("n1", claim)
    assert billed(region, "cpu.used_core_ms") == [2 * 1_000 * 4]
    assert billed(region, "mem.used_mib_ms") == [1_000 * (8 << 10)]


@pytest.mark.parametrize("off_ms", [-(1 << 40), 1 << 40])
def test_no_interval_lies_further_off_than_a_verifier_lets_pass(running: Any, off_ms: int) -> None:
    region, _, order = running
    now_ms = region.now.utc_ms
    at_ms = now_ms + off_ms
    region.says("n1", _sample(region, order, start_ms=at_ms - 1_000, end_ms=at_ms))
    ((start_ms, end_ms),) = spans(region)
    assert MAX_SKEW_MS == SKEW_MS
    assert now_ms - PASSED_MS - SKEW_MS <= start_ms <= end_ms <= now_ms + SKEW_MS
    assert billed(region, "cpu.held_core_ms") == [1_000], "what was held is billed all the same"


@pytest.mark.parametrize("restarts", [False, True])
def test_a_device_is_never_metered_for_two_runs_at_one_time(
    region: Any, ask: Any, restarts: bool
) -> None:
    capability = NodeCapability(
        cpu=4_000, memory=8 << 30, disk=64 << 30, architecture="x86_64", devices=ask.devices(1)
    )
    region.attach_upward()
    for clock_off_ms in (0, -7_000, -400_000):
        _, out = region.assign(ask.on_devices(1))
        region.attach("n1", capability=capability)
        (order,) = ask.sent(out, StartRun) or ask.sent(
            region.attach("n1", capability=capability), StartRun
        )
        region.runs_on("n1", order)
        region.pass_ms(PASSED_MS)
        now_ms = region.now.utc_ms + clock_off_ms
        claim = _sample(
            region, order, start_ms=now_ms - PASSED_MS, end_ms=now_ms, boot_ms=PASSED_MS
        )
        region.says("n1", claim)
        region.ends("n1", order, boot_ms=PASSED_MS)
        if restarts:
            region.restart()
            region.attach_upward()
    held = spans(region, "accelerator.held_device_ms")
    assert len(held) == 3
    assert all(before[1] <= after[0] for before, after in pairwise(held))
