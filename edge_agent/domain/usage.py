"""From a run's time to its samples: cut on the grid of UTC minutes, numbered from 1, exact.

The durations of all samples of a run add up to its run time, whatever happened to the link, the
wall clock or the region meanwhile. Must not read a clock: instants are arguments.
"""

from dataclasses import replace

from edge_agent.domain.run import MS, NodeRun
from intertie.metering.intervals import INTERVAL_MS, split_intervals, split_quantity
from intertie.model.agentlink import UsageSample


def next_cut_ns(run: NodeRun) -> int:
    """When the interval that runs now is over, on the boot clock."""
    assert run.started_ns, f"{run.key} has not started"
    begun_ms = run.started_ms + run.sampled_ms
    edge_ms = (begun_ms // INTERVAL_MS + 1) * INTERVAL_MS
    return run.started_ns + (edge_ms - run.started_ms) * MS


def cut(
    run: NodeRun, run_ms: int, cpu_ms: int, memory_peak: int, *, final: bool
) -> tuple[NodeRun, tuple[UsageSample, ...]]:
    """Cut what has run since the last sample; unless final, only intervals that are over.

    Args:
        run: the run so far.
        run_ms: its run time.
        cpu_ms: processor time used in all of it.
        memory_peak: bytes.
        final: the run has ended; there is a last sample even if nothing ran.
    """
    assert run_ms >= 0, f"{run.key} ran {run_ms} ms"
    assert cpu_ms >= 0, f"{run.key} used {cpu_ms} ms"
    begin = run.started_ms + run.sampled_ms
    end = max(run.started_ms + run_ms, begin)
    if not final:
        end = max(begin, end // INTERVAL_MS * INTERVAL_MS)
    pieces = split_intervals(begin, end)
    if not pieces:
        return (run, ()) if not final else _with(run, [(begin, begin)], [0], memory_peak, final)
    fresh_cpu_ms = max(0, cpu_ms - run.sampled_cpu_ms)
    return _with(run, pieces, split_quantity(fresh_cpu_ms, pieces), memory_peak, final)


def _with(
    run: NodeRun,
    pieces: list[tuple[int, int]],
    cpu_shares: list[int],
    memory_peak: int,
    final: bool,
) -> tuple[NodeRun, tuple[UsageSample, ...]]:
    samples = tuple(
        UsageSample(
            task=run.key.task,
            token=run.key.token,
            interval=run.intervals + number,
            start_ms=start,
            end_ms=end,
            boot_ms=end - start,
            cpu_used_ms=cpu,
            memory_peak=memory_peak,
            final=final and number == len(pieces),
        )
        for number, ((start, end), cpu) in enumerate(zip(pieces, cpu_shares, strict=True), start=1)
    )
    after = replace(
        run,
        intervals=run.intervals + len(samples),
        sampled_ms=pieces[-1][1] - run.started_ms,
        sampled_cpu_ms=run.sampled_cpu_ms + sum(cpu_shares),
    )
    assert after.sampled_ms >= run.sampled_ms, f"{run.key}: samples went back"
    told_ms = sum(sample.boot_ms for sample in samples)
    assert told_ms == after.sampled_ms - run.sampled_ms, f"{run.key}: a gap between samples"
    return after, samples
