"""Control groups, version 2 (the unified hierarchy; kernel documentation, cgroup-v2.rst).

`cgroup.kill` (Linux 5.14) takes a whole group atomically; before it, freeze, kill, thaw.
"""

import os
import signal
from typing import Final

from edge_agent.keeper.machine.cgroup import PREFIX, CgroupFs, Group
from edge_agent.keeper.report import Usage
from edge_agent.keeper.spec import Limits

_WANTED: Final = ("cpu", "memory", "pids")
_PERIOD_US: Final = 100_000
_LEAF: Final = "keeper"


class GroupV2:
    """One run's group."""

    def __init__(self, fs: CgroupFs, path: str) -> None:
        self._fs = fs
        self._path = path

    def join_paths(self) -> tuple[str, ...]:
        """One file: there is one hierarchy."""
        return (f"{self._path}/cgroup.procs",)

    def kill(self) -> list[int]:
        """Kill the group and every group that the task made below it."""
        seen = self._members(self._path)
        if not seen:
            return seen
        try:
            self._fs.write(f"{self._path}/cgroup.kill", "1")
        except OSError:
            self._kill_frozen()
        return seen

    def _members(self, path: str) -> list[int]:
        inside = self._fs.pids(f"{path}/cgroup.procs")
        for name in self._fs.groups(path):
            inside += self._members(f"{path}/{name}")
        return inside

    def _kill_frozen(self) -> None:
        self._try_write("cgroup.freeze", "1")
        for pid in self._members(self._path):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._try_write("cgroup.freeze", "0")

    def _try_write(self, name: str, text: str) -> None:
        try:
            self._fs.write(f"{self._path}/{name}", text)
        except OSError:
            return

    def usage(self) -> Usage:
        """`cpu.stat` counts without a controller; the rest is None without its controller."""
        fs, path = self._fs, self._path
        cpu_us = fs.table(f"{path}/cpu.stat").get("usage_usec")
        return Usage(
            cpu_ns=None if cpu_us is None else cpu_us * 1000,
            memory_bytes=fs.count(f"{path}/memory.current"),
            memory_peak_bytes=fs.count(f"{path}/memory.peak"),
            pids=fs.count(f"{path}/pids.current"),
            oom_kills=fs.table(f"{path}/memory.events").get("oom_kill"),
        )

    def remove(self) -> bool:
        """Remove the group with what the task made below it."""
        return remove_tree(self._fs, self._path)


class BackendV2:
    """Groups below `base`, a directory of ours in the unified hierarchy."""

    def __init__(self, fs: CgroupFs, base: str, controllers: frozenset[str]) -> None:
        self._fs = fs
        self._base = base
        self.controllers = controllers
        self.name = f"cgroup2:{','.join(sorted(controllers))}"

    @classmethod
    def probe(cls, fs: CgroupFs, parent: str, keeper_id: str) -> "BackendV2 | None":
        """Make our directory below `parent` with every wanted controller that it will give."""
        base = f"{parent}/{PREFIX}{keeper_id}"
        try:
            _enable(fs, parent, keeper_id)
            fs.mkdir(base)
            for name in _WANTED:
                _try_enable(fs, base, name)
            fs.mkdir(f"{base}/probe")
        except OSError:
            return None
        given = frozenset(
            name
            for name, file in (("cpu", "cpu.max"), ("memory", "memory.max"), ("pids", "pids.max"))
            if fs.exists(f"{base}/probe/{file}")
        )
        usable = fs.exists(f"{base}/probe/cgroup.procs")
        fs.rmdir(f"{base}/probe")
        if usable:
            return cls(fs, base, given)
        fs.rmdir(base)
        return None

    @property
    def bases(self) -> tuple[str, ...]:
        """Our only directory."""
        return (self._base,)

    def create(self, mark: str, limits: Limits) -> GroupV2:
        """A group with limits; an OOM kill takes the whole of it (memory.oom.group)."""
        path = f"{self._base}/{mark}"
        self._fs.mkdir(path)
        for file, text in self._settings(limits):
            self._fs.write(f"{path}/{file}", text)
        return GroupV2(self._fs, path)

    def release(self, group: Group) -> Group | None:
        """Remove the group."""
        return None if group.remove() else group

    def _settings(self, limits: Limits) -> list[tuple[str, str]]:
        settings = []
        if limits.memory_bytes is not None and "memory" in self.controllers:
            settings.append(("memory.max", str(limits.memory_bytes)))
            if self._fs.exists(f"{self._base}/memory.swap.max"):
                settings.append(("memory.swap.max", "0"))
            settings.append(("memory.oom.group", "1"))
        if limits.pids is not None and "pids" in self.controllers:
            settings.append(("pids.max", str(limits.pids)))
        if limits.cpu_millis is not None and "cpu" in self.controllers:
            quota_us = max(limits.cpu_millis * _PERIOD_US // 1000, 1000)
            settings.append(("cpu.max", f"{quota_us} {_PERIOD_US}"))
        return settings

    def existing(self) -> dict[str, GroupV2]:
        """Groups of runs."""
        names = self._fs.groups(self._base)
        return {name: GroupV2(self._fs, f"{self._base}/{name}") for name in names}

    def close(self) -> None:
        """Remove our directory if it is empty."""
        self._fs.rmdir(self._base)


def remove_tree(fs: CgroupFs, path: str) -> bool:
    """Remove a group and the groups below it, deepest first."""
    if fs.rmdir(path):
        return True
    for name in fs.groups(path):
        remove_tree(fs, f"{path}/{name}")
    return fs.rmdir(path)


def _enable(fs: CgroupFs, parent: str, keeper_id: str) -> None:
    """Have `parent` hand its controllers down. A group with processes may not (the rule against
    inner processes), so the keeper first moves itself into a leaf.
    """
    available = fs.read(f"{parent}/cgroup.controllers").split()
    wanted = [name for name in _WANTED if name in available]
    missing = [name for name in wanted if not _try_enable(fs, parent, name)]
    if missing and os.getpid() in fs.pids(f"{parent}/cgroup.procs"):
        leaf = f"{parent}/{_LEAF}-{keeper_id}"
        fs.mkdir(leaf)
        try:
            fs.write(f"{leaf}/cgroup.procs", str(os.getpid()))
        except OSError:
            fs.rmdir(leaf)
            return
        for name in missing:
            _try_enable(fs, parent, name)


def _try_enable(fs: CgroupFs, path: str, name: str) -> bool:
    try:
        if name not in fs.read(f"{path}/cgroup.subtree_control").split():
            fs.write(f"{path}/cgroup.subtree_control", f"+{name}")
    except OSError:
        return False
    return True
