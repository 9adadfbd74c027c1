"""From what agents report to pending usage: records that commit together with the run's transition.

Held meters count what the run kept others from using, by the boot clock: that is what is billed.
Used meters inform. A sample is taken once: intervals are numbered, and a repeated one changes
nothing. A guest is never billed more than its grant allows: quantities are cut at the cap, exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from intertie.metering import records
from intertie.metering.intervals import RunTime
from intertie.metering.records import Body, RunKey, Span
from intertie.model.agentlink import UsageSample
from intertie.model.names import TaskName
from intertie.model.pool import NodeCapability
from intertie.residency import Ruling
from regional.domain.runs.run import RegionRun
from regional.domain.settings import Timing

MIB = 1 << 20
MAX_SAMPLE_MS = 3_600_000
"""Longest sample: they are cut at each UTC minute, and a suspended host may be late."""
MAX_INSTANT_MS = 1 << 43
MAX_SKEW_MS = 600_000
"""How far the clock of a node may be off: what a verifier of usage lets pass as well."""
_USED_SLACK = 2
"""Used time is counted in other ticks than run time: what informs is bounded, not judged."""
NEVER_PLACED = "none"
"""Stands in `node` for a run that ended before any node had it."""


def run_key(run: RegionRun, region: str) -> RunKey:
    """What every record of the present placement carries."""
    return RunKey(
        region=region,
        project=run.project,
        payer=run.payer,
        principal=run.principal,
        task=TaskName.parse(run.task).id,
        run=str(run.token),
        rank=0,
        node=run.node or NEVER_PLACED,
        grant_sha256=run.grant_sha256,
    )


@dataclass(frozen=True, slots=True)
class Metered:
    """What one sample comes to: its records, the run's new sums, and the meter that is used up."""

    bodies: list[Body]
    billed: Mapping[str, int]
    used_up: str


def longest_ms(run: RegionRun, now_ms: int, timing: Timing) -> int:
    """The longest that the present placement can have run, by the region's own clock.

    A node that counts too fast, or lies, is believed no more time than has passed since its
    placement, a drift and a delay allowed.
    """
    passed_ms = max(0, now_ms - run.placement_ms)
    return int(passed_ms * (1 + 2 * timing.drift)) + timing.delta_ms


def believed(
    run: RegionRun, told: UsageSample, now_ms: int, timing: Timing, node: NodeCapability
) -> UsageSample:
    """The sample, as far as the region can believe it.

    No longer than the placement can have run, and no more used in that time than the whole node
    has. Intervals of a run, and of a node, follow each other whatever their clocks say; a clock
    that is wrong by more than a verifier lets pass counts as wrong by that much.
    """
    latest_ms = max(now_ms + MAX_SKEW_MS, run.metered_until_ms)
    floor_ms = max(run.metered_until_ms, run.placement_ms - MAX_SKEW_MS)
    start_ms = min(max(told.start_ms, floor_ms), latest_ms)
    boot_ms = max(0, min(told.boot_ms, longest_ms(run, now_ms, timing) - run.placed_ms))
    return replace(
        told,
        start_ms=start_ms,
        end_ms=min(max(told.end_ms, start_ms), latest_ms),
        boot_ms=boot_ms,
        cpu_used_ms=min(told.cpu_used_ms, _USED_SLACK * boot_ms * node.cpu // 1000),
        memory_peak=min(told.memory_peak, node.memory),
    )


def metered(run: RegionRun, sample: UsageSample, region: str) -> Metered:
    """The records of one interval, one per meter that applies, within what the grant allows."""
    assert not sample_fault(sample), "the shell has checked the sample"
    assert sample.interval == run.intervals + 1, "intervals are metered once and in order"
    key = run_key(run, region)
    span = Span(sample.start_ms, sample.end_ms, sample.boot_ms)
    held, billed, used_up = _within_caps(run, _held(run, sample))
    used = {
        "cpu.used_core_ms": sample.cpu_used_ms,
        "mem.used_mib_ms": sample.boot_ms * (sample.memory_peak // MIB),
    }
    bodies = [
        records.usage(key, span, meter=meter, interval=sample.interval, quantity=quantity)
        for meter, quantity in (held | used).items()
        if quantity
    ]
    if not bodies and span.start_ms < span.end_ms:  # or a complete log would show a gap here
        nothing = records.usage(
            key, span, meter="cpu.used_core_ms", interval=sample.interval, quantity=0
        )
        bodies.append(nothing)
    return Metered(bodies, billed, used_up)


def _held(run: RegionRun, sample: UsageSample) -> dict[str, int]:
    return {
        "cpu.held_core_ms": sample.boot_ms * run.shape.cpu // 1000,
        "mem.held_mib_ms": sample.boot_ms * -(-run.shape.memory // MIB),
        "accelerator.held_device_ms": sample.boot_ms * run.shape.devices,
    }


def _within_caps(
    run: RegionRun, held: dict[str, int]
) -> tuple[dict[str, int], Mapping[str, int], str]:
    """What of the held quantities may be billed, the new sums, and a meter whose cap is reached."""
    if run.native:  # the owner's own: no grant, never priced
        return held, run.billed, ""
    billed, allowed, used_up = dict(run.billed), dict[str, int](), ""
    for meter, quantity in held.items():
        before, cap = billed.get(meter, 0), run.caps.get(meter, 0)
        if quantity and before + quantity >= cap:
            used_up = used_up or meter
        allowed[meter] = min(quantity, max(0, cap - before))
        if allowed[meter]:
            billed[meter] = before + allowed[meter]
    return allowed, billed, used_up


def sample_fault(sample: UsageSample) -> str:
    """Why a sample can be no record, empty if it can: an agent's fault, found before it is kept."""
    if sample.interval < 1:
        return "interval: is not counted from 1"
    if not 0 < sample.start_ms <= sample.end_ms < MAX_INSTANT_MS:
        return "end_ms: is before start_ms, or no instant"
    if not 0 <= sample.boot_ms <= MAX_SAMPLE_MS:
        return f"boot_ms: is not between 0 and {MAX_SAMPLE_MS}"
    if not 0 <= sample.cpu_used_ms <= MAX_SAMPLE_MS * 10_000 or sample.memory_peak < 0:
        return "cpu_used_ms, memory_peak: are not what a node can use"
    return ""


def placement_body(
    run: RegionRun, region: str, jurisdiction: str, policy_sha256: str, ruling: Ruling
) -> Body:
    """Where the present placement is, by which policy, and which rule allowed it."""
    assert ruling.allowed, "nothing is placed where it may not be"
    assert run.node, "a placement is on a node"
    return records.placement(
        run_key(run, region),
        start_ms=run.placement_ms,
        jurisdiction=jurisdiction,
        policy_sha256=policy_sha256,
        verdict=f"allowed: {ruling.rule}",
    )


def run_end_body(run: RegionRun, region: str) -> Body:
    """How the run ended, with useful and lost time apart."""
    assert run.outcome is not None, "a run that has not ended"
    assert 0 <= run.lost_ms <= run.run_ms, "lost time is a part of run time"
    time = RunTime(
        useful_ms=run.run_ms - run.lost_ms,
        reclaimed_ms=run.reclaimed_ms,
        lost_ms=run.lost_ms,
    )
    start_ms = run.first_started_ms or run.started_ms or run.ended_ms
    return records.run_end(
        run_key(run, region),
        Span(start_ms, max(run.ended_ms, start_ms), run.run_ms),
        outcome=run.outcome,
        time=time,
        cause=run.cause,
        complete=(run.usage_complete or not run.placements) and not run.usage_lost,
        failure_class=run.failure_class,
        checkpoint=run.checkpoint.manifest if run.checkpoint else "",
    )
