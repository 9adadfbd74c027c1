"""How a run ended, from the facts: its exit, the order that stopped it, and the kernel's counters.

Pure. It gathers evidence and names the first cause; it does not classify failures.
"""

from typing import Final

from edge_agent.keeper.domain.events import Final as FinalFacts
from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.report import BY_DISK, BY_SELF, Ended

SIGXFSZ: Final = 25
NEAR_LIMIT: Final = 0.8
"""Share of an address-space limit that the resident set must have reached for a failed run to be
taken for one out of memory. Only used where no cgroup counts."""


def ending_of(run: Run, final: FinalFacts, now: int) -> Ended:
    """The end of a run whose first process was reaped and of which nothing is left."""
    exit_ = run.exit
    assert exit_ is not None
    assert run.by is not None
    failed_start = run.start_fault is not None
    by = run.by
    if by == BY_SELF and exit_.signal == SIGXFSZ and run.admission.limits.disk_bytes is not None:
        by = BY_DISK
    usage = final.usage
    return Ended(
        by=by,
        reason=run.reason,
        boot_ns=now,
        code=None if failed_start else exit_.code,
        signal=None if failed_start else exit_.signal,
        start_fault=run.start_fault,
        oom=_out_of_memory(run, final),
        oom_kills=usage.oom_kills or 0,
        unkillable=run.unkillable,
        leftovers=run.leftovers,
        cpu_ns=exit_.cpu_ns if usage.cpu_ns is None else usage.cpu_ns,
        max_rss_bytes=_peak(usage.memory_peak_bytes, exit_.max_rss_bytes),
        stdout_bytes=final.stdout_bytes,
        stderr_bytes=final.stderr_bytes,
    )


def _peak(group: int | None, first_process: int) -> int:
    """The group's peak counts every process; without one, that of the largest process. The kernel
    counts the fork before the program was executed in the latter, so it is never below ours.
    """
    return first_process if group is None else group


def _out_of_memory(run: Run, final: FinalFacts) -> str | None:
    if final.usage.oom_kills is not None:
        return "kernel" if final.usage.oom_kills else None
    limit = run.admission.limits.memory_bytes
    exit_ = run.exit
    assert exit_ is not None
    failed = exit_.code != 0 and run.by == BY_SELF and run.start_fault is None
    if limit is not None and failed and exit_.max_rss_bytes >= limit * NEAR_LIMIT:
        return "rlimit"
    return None
