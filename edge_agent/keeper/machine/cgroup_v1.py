"""Control groups, version 1: one hierarchy per controller (kernel documentation, cgroup-v1/).

A run has a group of the same name in each hierarchy that can be used. Killing goes through the
freezer: frozen processes neither fork nor exit, so the list of pids holds while it is worked off.
"""

import os
import signal
from typing import Final

from edge_agent.keeper.machine.cgroup import CgroupFs
from edge_agent.keeper.machine.cgroup_v2 import remove_tree
from edge_agent.keeper.report import Usage
from edge_agent.keeper.spec import Limits

WANTED: Final = ("freezer", "memory", "pids", "cpu", "cpuacct")
_ANCHORS: Final = ("freezer", "pids", "memory")
"""Any hierarchy lists the run's processes; the freezer's is best."""
_PERIOD_US: Final = 100_000
_FREEZE_READS: Final = 50


class GroupV1:
    """One run's groups, by controller."""

    def __init__(self, fs: CgroupFs, paths: dict[str, str]) -> None:
        self._fs = fs
        self._paths = paths
        self._anchor = next(paths[name] for name in _ANCHORS if name in paths)

    def join_paths(self) -> tuple[str, ...]:
        """One file per hierarchy (controllers may share one)."""
        return tuple(f"{path}/cgroup.procs" for path in dict.fromkeys(self._paths.values()))

    def kill(self) -> list[int]:
        """Freeze, kill, thaw."""
        seen = self._members(self._anchor)
        if not seen:
            return seen
        self._freeze()
        seen = self._members(self._anchor)
        for pid in seen:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._thaw()
        return seen

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
        return Usage(
            cpu_ns=fs.count(f"{self._paths.get('cpuacct', '')}/cpuacct.usage"),
            memory_bytes=fs.count(f"{memory}/memory.usage_in_bytes"),
            memory_peak_bytes=fs.count(f"{memory}/memory.max_usage_in_bytes"),
            pids=fs.count(f"{pids}/pids.current"),
            oom_kills=fs.table(f"{memory}/memory.oom_control").get("oom_kill"),
        )

    def remove(self) -> bool:
        """Remove the groups in all hierarchies."""
        kept = [path for path in set(self._paths.values()) if not remove_tree(self._fs, path)]
        return not kept


class BackendV1:
    """Groups below a directory of ours in each usable hierarchy."""

    def __init__(self, fs: CgroupFs, bases: dict[str, str]) -> None:
        self._fs = fs
        self._bases = bases
        self.controllers = frozenset(bases)
        self.name = f"cgroup1:{','.join(sorted(bases))}"

    @classmethod
    def probe(
        cls, fs: CgroupFs, parents: dict[str, list[str]], keeper_id: str
    ) -> "BackendV1 | None":
        """Make our directory in each hierarchy, at the first of its `parents` that lets us."""
        bases = {}
        for controller in WANTED:
            for parent in parents.get(controller, []):
                base = f"{parent}/intertie-{keeper_id}"
                if _usable(fs, base):
                    bases[controller] = base
                    break
        if any(name in bases for name in _ANCHORS):
            return cls(fs, bases)
        for base in bases.values():
            fs.rmdir(base)
        return None

    def create(self, mark: str, limits: Limits) -> GroupV1:
        """Groups with limits."""
        paths = {controller: f"{base}/{mark}" for controller, base in self._bases.items()}
        for path in paths.values():
            self._fs.mkdir(path)
        for controller, file, text in _settings(limits):
            if controller in paths:
                self._fs.write(f"{paths[controller]}/{file}", text)
        self._limit_swap(paths, limits)
        return GroupV1(self._fs, paths)

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
        """Remove our directories if they are empty."""
        for base in self._bases.values():
            self._fs.rmdir(base)


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
