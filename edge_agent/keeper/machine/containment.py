"""Which containment this machine really offers, found by trying, best first.

Order: version 2 with memory and pids, version 1, version 2 without them (it still kills a whole
group), nothing. `--cgroup none` skips all.
"""

import select

from edge_agent.keeper.machine.abandoned import hold, remove_abandoned
from edge_agent.keeper.machine.cgroup import MEMORY, PIDS, Backend, CgroupFs, Mount, read_mounts
from edge_agent.keeper.machine.cgroup_v1 import BackendV1
from edge_agent.keeper.machine.cgroup_v2 import BackendV2
from edge_agent.keeper.machine.procfs import read

NO_GROUPS = "rlimit"


def machine_mounts() -> list[Mount]:
    """The hierarchies that this process sees."""
    texts = (read(f"/proc/self/{name}").decode("utf-8", "replace") for name in _FILES)
    return read_mounts(*texts)


_FILES = ("mountinfo", "cgroup")
_TRIES = 20
_PAUSE_S = 0.01


def contain(fs: CgroupFs, mounts: list[Mount], keeper_id: str) -> Backend | None:
    """The best backend, held against other keepers; what dead ones left is cleared away."""
    for _ in range(_TRIES):
        backend = detect(fs, mounts, keeper_id)
        if backend is None:
            return None
        if hold(backend.bases):
            remove_abandoned(fs, backend.bases)
            return backend
        select.select((), (), (), _PAUSE_S)
    return backend  # unheld: it can only be cleared away while it is empty and old


def detect(fs: CgroupFs, mounts: list[Mount], keeper_id: str) -> Backend | None:
    """The best backend that works here, or None."""
    unified = _probe_v2(fs, mounts, keeper_id)
    if unified is not None and unified.controllers >= {MEMORY, PIDS}:
        return unified
    parents: dict[str, list[str]] = {}
    for mount in mounts:
        if mount.version == 1:
            for controller in mount.controllers:
                parents.setdefault(controller, []).extend(mount.bases())
    split = BackendV1.probe(fs, parents, keeper_id)
    if split is None:
        return unified
    if unified is not None:
        unified.close()
    return split


def _probe_v2(fs: CgroupFs, mounts: list[Mount], keeper_id: str) -> BackendV2 | None:
    best: BackendV2 | None = None
    for mount in mounts:
        for base in mount.bases() if mount.version == 2 else ():
            found = BackendV2.probe(fs, base, keeper_id)
            if found is None:
                continue
            if best is None or len(found.controllers) > len(best.controllers):
                if best is not None:
                    best.close()
                best = found
            elif found is not best:
                found.close()
    return best
