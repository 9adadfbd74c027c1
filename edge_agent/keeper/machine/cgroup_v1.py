"""Control groups, version 1: one hierarchy per controller (kernel documentation, cgroup-v1/).

A run has a group of the same name in each hierarchy that can be used. Killing first takes away the
right to fork (`pids.max` of 0), so the list of pids holds while it is worked off; without that
controller, the freezer does.

Groups of ended runs are parked and taken up again by runs with the same limits (a rename in place
of a removal and a creation), if nothing of the former run is in them: no process, no group, no OOM
kill, almost no memory.
"""

import os
import signal
from typing import Final

from edge_agent.keeper.machine.cgroup import PREFIX, CgroupFs, Group
from edge_agent.keeper.machine.cgroup_v2 import remove_tree
from edge_agent.keeper.report import Usage
from edge_agent.keeper.spec import Limits

WANTED: Final = ("pids", "freezer", "memory", "cpu", "cpuacct")
_ANCHORS: Final = ("pids", "freezer", "memory")
"""Any hierarchy lists the run's processes; the first here is best."""
PARKED: Final = 64
"""How many groups of ended runs are kept."""
RESIDUE_BYTES: Final = 1 << 20
"""Kernel memory and cached pages that a parked group may still be charged with."""
_PERIOD_US: Final = 100_000
_FREEZE_READS: Final = 50


_Bounds = tuple[int | None, int | None, int | None]
"""What of the limits is set on a group."""


class GroupV1:
    """One run's groups, by controller."""

    def __init__(self, fs: CgroupFs, paths: dict[str, str], bounds: _Bounds | None = None) -> None:
        self._fs = fs
        self._paths = paths
        self._anchor = next(paths[name] for name in _ANCHORS if name in paths)
        self.bounds = bounds
        """What it is limited to; None when that was changed, or an earlier keeper set it."""
        self._cpu_before_ns = 0

    def join_paths(self) -> tuple[str, ...]:
        """One file per hierarchy (controllers may share one)."""
        return tuple(f"{path}/cgroup.procs" for path in dict.fromkeys(self._paths.values()))

    def kill(self) -> list[int]:
        """Stop forks, kill."""
        seen = self._members(self._anchor)
        if not seen:
            return seen
        held = self._hold()
        seen = self._members(self._anchor)
        for pid in seen:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if not held:
            self._thaw()
        return seen

    def _hold(self) -> bool:
        """Whether nothing can fork any more without having been frozen."""
        path = self._paths.get("pids")
        try:
            if path is not None:
                self._fs.write(f"{path}/pids.max", "0")
                self.bounds = None
                return True
        except OSError:
            pass
        self._freeze()
        return False

    def _members(self, path: str) -> list[int]:
        inside = self._fs.pids(f"{path}/cgroup.procs")
        for name in self._fs.groups(path):
            inside += self._members(f"{path}/{name}")
        return inside

    def _freeze(self) -> None:
        path = self._paths.get("freezer")
        if path is None:
            return
        try:
            self._fs.write(f"{path}/freezer.state", "FROZEN")
            for _ in range(_FREEZE_READS):
                if self._fs.read(f"{path}/freezer.state").strip() == "FROZEN":
                    return
        except OSError:
            return

    def _thaw(self) -> None:
        path = self._paths.get("freezer")
        if path is None:
            return
        try:
            self._fs.write(f"{path}/freezer.state", "THAWED")
        except OSError:
            return

    def usage(self) -> Usage:
        """Counters; None where the controller is missing."""
        fs = self._fs
        memory, pids = self._paths.get("memory", ""), self._paths.get("pids", "")
        cpu_ns = self._cpu_ns()
        return Usage(
            cpu_ns=None if cpu_ns is None else cpu_ns - self._cpu_before_ns,
            memory_bytes=fs.count(f"{memory}/memory.usage_in_bytes"),
            memory_peak_bytes=fs.count(f"{memory}/memory.max_usage_in_bytes"),
            pids=fs.count(f"{pids}/pids.current"),
            oom_kills=self._oom_kills(),
        )

    @property
    def reusable(self) -> bool:
        """Whether nothing of the run is left in it, and its limits stand."""
        fs, paths = self._fs, set(self._paths.values())
        if self.bounds is None or any(fs.groups(path) for path in paths):
            return False
        try:
            if any(fs.read(f"{path}/cgroup.procs") for path in paths):
                return False
        except OSError:
            return False
        memory = self._paths.get("memory", "")
        charged = fs.count(f"{memory}/memory.usage_in_bytes") or 0
        return charged <= RESIDUE_BYTES and not self._oom_kills()

    def _oom_kills(self) -> int | None:
        path = self._paths.get("memory", "")
        return self._fs.table(f"{path}/memory.oom_control").get("oom_kill")

    def _cpu_ns(self) -> int | None:
        return self._fs.count(f"{self._paths.get('cpuacct', '')}/cpuacct.usage")

    def renew(self, mark: str) -> None:
        """Become the groups of another run. Raises OSError, and can then only be removed."""
        self._cpu_before_ns = self._cpu_ns() or 0
        renamed: dict[str, str] = {}
        for controller, old in self._paths.items():
            if old not in renamed:
                renamed[old] = f"{os.path.dirname(old)}/{mark}"
                self._fs.rename(old, renamed[old])
            self._paths[controller] = renamed[old]
        self._anchor = next(self._paths[name] for name in _ANCHORS if name in self._paths)
        if "memory" in self._paths:
            self._fs.write(f"{self._paths['memory']}/memory.max_usage_in_bytes", "0")

    def remove(self) -> bool:
        """Remove the groups in all hierarchies."""
        kept = [path for path in set(self._paths.values()) if not remove_tree(self._fs, path)]
        return not kept


class BackendV1:
    """Groups below a directory of ours in each usable hierarchy."""

    def __init__(self, fs: CgroupFs, bases: dict[str, str]) -> None:
        self._fs = fs
        self._bases = bases
        self._parked: list[GroupV1] = []
        self.controllers = frozenset(bases)
        self.name = f"cgroup1:{','.join(sorted(bases))}"

    @classmethod
    def probe(
        cls, fs: CgroupFs, parents: dict[str, list[str]], keeper_id: str
    ) -> "BackendV1 | None":
        """Make our directory in each hierarchy, at the first of its `parents` that lets us."""
        bases = {}
        for controller in WANTED:
            if controller == "freezer" and "pids" in bases:
                continue
            for parent in parents.get(controller, []):
                base = f"{parent}/{PREFIX}{keeper_id}"
                if _usable(fs, base):
                    bases[controller] = base
                    break
        if any(name in bases for name in _ANCHORS):
            return cls(fs, bases)
        for base in bases.values():
            fs.rmdir(base)
        return None

    @property
    def bases(self) -> tuple[str, ...]:
        """Our directory in each hierarchy."""
        return tuple(dict.fromkeys(self._bases.values()))

    def create(self, mark: str, limits: Limits) -> GroupV1:
        """Groups with limits: parked ones, or new."""
        bounds = _bounds(limits)
        parked = next((each for each in self._parked if each.bounds == bounds), None)
        if parked is not None:
            self._parked.remove(parked)
            try:
                parked.renew(mark)
            except OSError:
                parked.remove()
            else:
                return parked
        paths = {controller: f"{base}/{mark}" for controller, base in self._bases.items()}
        for path in paths.values():
            self._fs.mkdir(path)
        for controller, file, text in _settings(limits):
            if controller in paths:
                self._fs.write(f"{paths[controller]}/{file}", text)
        self._limit_swap(paths, limits)
        return GroupV1(self._fs, paths, bounds)

    def release(self, group: Group) -> Group | None:
        """Park the groups, or remove them, or in their place those that were parked longest."""
        if isinstance(group, GroupV1) and group.reusable:
            self._parked.append(group)
            if len(self._parked) <= PARKED:
                return None
            group = self._parked.pop(0)
        return None if group.remove() else group

    def _limit_swap(self, paths: dict[str, str], limits: Limits) -> None:
        file = f"{paths.get('memory', '')}/memory.memsw.limit_in_bytes"
        if limits.memory_bytes is not None and self._fs.exists(file):
            self._fs.write(file, str(limits.memory_bytes))

    def existing(self) -> dict[str, GroupV1]:
        """Groups of runs, whichever hierarchies still have them."""
        found: dict[str, dict[str, str]] = {}
        for controller, base in self._bases.items():
            for name in self._fs.groups(base):
                found.setdefault(name, {})[controller] = f"{base}/{name}"
        anchored = {
            name: paths for name, paths in found.items() if any(a in paths for a in _ANCHORS)
        }
        for name in found.keys() - anchored.keys():
            for path in found[name].values():
                self._fs.rmdir(path)
        return {name: GroupV1(self._fs, paths) for name, paths in anchored.items()}

    def close(self) -> None:
        """Remove what is parked, and our directories if they are empty."""
        for group in self._parked:
            group.remove()
        for base in self._bases.values():
            self._fs.rmdir(base)


def _bounds(limits: Limits) -> _Bounds:
    return (limits.memory_bytes, limits.pids, limits.cpu_millis)


def _settings(limits: Limits) -> list[tuple[str, str, str]]:
    settings = []
    if limits.memory_bytes is not None:
        settings.append(("memory", "memory.limit_in_bytes", str(limits.memory_bytes)))
    if limits.pids is not None:
        settings.append(("pids", "pids.max", str(limits.pids)))
    if limits.cpu_millis is not None:
        quota_us = max(limits.cpu_millis * _PERIOD_US // 1000, 1000)
        settings.append(("cpu", "cpu.cfs_period_us", str(_PERIOD_US)))
        settings.append(("cpu", "cpu.cfs_quota_us", str(quota_us)))
    return settings


def _usable(fs: CgroupFs, base: str) -> bool:
    try:
        fs.mkdir(base)
    except OSError:
        return False
    if fs.exists(f"{base}/cgroup.procs"):
        return True
    fs.rmdir(base)
    return False
