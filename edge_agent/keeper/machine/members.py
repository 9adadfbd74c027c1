"""Whose process is this? Everything alive that belongs to one run, found through /proc.

Used where no cgroup holds the run together, and beside cgroups for a process that got out of its
own. Any doubt is settled towards death: an orphan that shows neither cgroup, session nor mark of
another live run counts to the run that is being swept, because an end must be a verified death.
"""

import os
import signal
from typing import Final, NamedTuple

from edge_agent.keeper.machine import procfs
from edge_agent.keeper.machine.procfs import Proc

_FREEZE_ROUNDS: Final = 4
"""Rounds of SIGSTOP before SIGKILL, so that something that forks fast cannot outrun us."""


class Home(NamedTuple):
    """How processes of one run are recognised."""

    mark: str
    pid: int | None
    """The first process, None once it is reaped."""
    session: int
    ticks: int
    """Start time of the first process: nothing of the run is older."""


def has_orphans(homes: list[Home]) -> bool:
    """Whether we have children that are no run's first process. Cheap: reads one file."""
    firsts = {home.pid for home in homes}
    return any(pid not in firsts for pid in procfs.children_of_self())


def members(home: Home, others: list[Home]) -> list[Proc]:
    """All live processes of `home`; `others` are the other live runs."""
    if home.pid is None and not has_orphans(others):
        return []  # whatever outlived its first process is our child by now
    everyone = procfs.snapshot()
    children: dict[int, list[Proc]] = {}
    for proc in everyone.values():
        children.setdefault(proc.ppid, []).append(proc)
    other_firsts = {other.pid for other in others}
    found: list[Proc] = []
    frontier = [
        proc
        for proc in children.get(os.getpid(), [])
        if proc.pid == home.pid or (proc.pid not in other_firsts and _is_ours(proc, home, others))
    ]
    while frontier:
        proc = frontier.pop()
        found.append(proc)
        frontier += children.get(proc.pid, [])
    return [proc for proc in found if not proc.dead]


def _is_ours(orphan: Proc, home: Home, others: list[Home]) -> bool:
    if orphan.ticks < home.ticks:
        return False
    groups = procfs.cgroups_of(orphan.pid)
    if home.mark in groups:
        return True
    if any(other.mark in groups for other in others):
        return False
    if orphan.session == home.session:
        return True
    if any(orphan.session == other.session for other in others):
        return False
    mark = procfs.mark_of(orphan.pid)
    return mark == home.mark or mark not in {other.mark for other in others}


def kill_members(home: Home, others: list[Home]) -> list[Proc]:
    """Stop, then kill, everything of a run. Returns what was found; call again until empty."""
    found = members(home, others)
    for _ in range(_FREEZE_ROUNDS):
        for proc in found:
            procfs.send(proc, signal.SIGSTOP)
        again = members(home, others)
        grown = {proc.pid for proc in again} - {proc.pid for proc in found}
        found = again
        if not grown:
            break
    for proc in found:
        procfs.send(proc, signal.SIGKILL)
    return found


def kill_marked(marks: set[str]) -> list[Proc]:
    """Kill what carries one of these marks, and its descendants: left over by a dead keeper."""
    everyone = procfs.snapshot()
    children: dict[int, list[Proc]] = {}
    for proc in everyone.values():
        children.setdefault(proc.ppid, []).append(proc)
    frontier = [
        proc for proc in everyone.values() if not proc.dead and procfs.mark_of(proc.pid) in marks
    ]
    found: dict[int, Proc] = {}
    while frontier:
        proc = frontier.pop()
        if proc.pid not in found and proc.pid != os.getpid():
            found[proc.pid] = proc
            frontier += children.get(proc.pid, [])
    alive = [proc for proc in found.values() if not proc.dead]
    for proc in alive:
        procfs.send(proc, signal.SIGKILL)
    return alive
