"""Limits that control groups put on this process: CPU quota and memory, versions 1 and 2.

A group is limited by all of its ancestors, so the tightest limit up to the mount counts.
Files: cgroup-v1/{memory,cpu} and cgroup-v2 of the kernel's admin guide.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from edge_agent.adapters.probes.reading import text

# Version 1 writes "no limit" as the largest multiple of the page size; no machine has 1 EiB.
V1_UNLIMITED_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Group:
    """The control group of a controller for this process: its mount, its folder, its version."""

    mount: Path
    folder: Path
    version: int

    def lineage(self) -> Iterator[Path]:
        """The group's folder, then its ancestors up to the mount."""
        folder = self.folder
        while folder != self.mount:
            yield folder
            folder = folder.parent
        yield folder


def group_of(root: Path, controller: str) -> Group | None:
    """The group that limits this process by a controller, or None where there is none."""
    memberships = {}
    for line in text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        memberships.update(dict.fromkeys(controllers.split(","), path))
    for line in text(root / "proc/self/mountinfo").splitlines():
        fields, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        wanted = controller if version == 1 else ""
        if version is None or wanted not in memberships:
            continue
        if version == 1 and controller not in re.split("[ ,]", options):
            continue
        mounted, point = fields.split(" ")[3:5]
        mount = root / point.lstrip("/")
        if version == 2 and controller not in text(mount / "cgroup.controllers").split():
            continue
        return Group(mount, mount / _below(memberships[wanted], mounted), version)
    return None


def _below(path: str, mounted: str) -> PurePosixPath:
    """The group's place under its mount; a container may see only part of the tree."""
    try:
        below = PurePosixPath(path).relative_to(mounted)
    except ValueError:
        return PurePosixPath()
    return PurePosixPath() if ".." in below.parts else below


def _tightest(group: Group, read: Callable[[Path], int | None]) -> int | None:
    limits = []
    for folder in group.lineage():
        try:
            limit = read(folder)
        except FileNotFoundError:  # the root group has no limit files
            continue
        if limit is not None:
            limits.append(limit)
    return min(limits, default=None)


def cpu_quota_millicores(root: Path) -> int | None:
    """The tightest CPU quota in thousandths of a core, None if there is none."""
    group = group_of(root, "cpu")
    if group is None:
        return None
    return _tightest(group, _quota_v1 if group.version == 1 else _quota_v2)


def _quota_v1(folder: Path) -> int | None:
    quota = int(text(folder / "cpu.cfs_quota_us"))
    return None if quota < 0 else 1000 * quota // int(text(folder / "cpu.cfs_period_us"))


def _quota_v2(folder: Path) -> int | None:
    quota, period = text(folder / "cpu.max").split()
    return None if quota == "max" else 1000 * int(quota) // int(period)


def memory_limit_bytes(root: Path) -> int | None:
    """The tightest memory limit, None if there is none."""
    group = group_of(root, "memory")
    if group is None:
        return None
    return _tightest(group, _memory_v1 if group.version == 1 else _memory_v2)


def _memory_v1(folder: Path) -> int | None:
    limit = int(text(folder / "memory.limit_in_bytes"))
    return None if limit >= V1_UNLIMITED_BYTES else limit


def _memory_v2(folder: Path) -> int | None:
    limit = text(folder / "memory.max")
    return None if limit == "max" else int(limit)
