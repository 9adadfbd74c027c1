"""What a starting keeper does about the one before it: kill what is left, report what was lost.

A keeper's tasks die with it by the parent-death signal; what they had forked may live on. Groups of
our own name and processes with a mark from the journal are killed until none is left; only then is
the run LOST. Records of another boot need no killing: nothing survives a boot.
"""

import select
from collections.abc import Callable, Mapping
from typing import Final

from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.machine import members
from edge_agent.keeper.machine.cgroup import Backend, Group
from edge_agent.keeper.report import BY_LOST, ENDED, Ended, Usage

PAUSE_S: Final = 0.005


def recover(
    runs: list[Run],
    backend: Backend | None,
    *,
    clock: Callable[[], int],
    t_kill_ms: int,
) -> tuple[list[Run], list[Run]]:
    """Returns all runs with the live ones ended as LOST, and those that were changed."""
    marks = {run.mark for run in runs if run.state != ENDED}
    groups: Mapping[str, Group] = backend.existing() if backend else {}
    give_up = clock() + t_kill_ms * 1_000_000
    while True:
        left = sum(len(group.kill()) for group in groups.values())
        left += len(members.kill_marked(marks)) if marks else 0
        if left == 0 or clock() > give_up:
            break
        select.select((), (), (), PAUSE_S)
    lost = []
    for run in runs:
        if run.state != ENDED:
            group = groups.get(run.mark)
            usage = group.usage() if group else Usage()
            lost.append(_lost(run, usage, clock(), unkillable=left > 0))
    for group in groups.values():
        group.remove()
    ended = {run.mark: run for run in lost}
    return [ended.get(run.mark, run) for run in runs], lost


def _lost(run: Run, usage: Usage, now: int, *, unkillable: bool) -> Run:
    ended = Ended(
        by=BY_LOST,
        boot_ns=now,
        reason="the keeper died",
        oom="kernel" if usage.oom_kills else None,
        oom_kills=usage.oom_kills or 0,
        unkillable=unkillable,
        cpu_ns=usage.cpu_ns,
        max_rss_bytes=usage.memory_peak_bytes,
    )
    return run._replace(state=ENDED, by=BY_LOST, unkillable=unkillable, ended=ended)
