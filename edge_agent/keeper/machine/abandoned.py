"""Directories of control groups whose keeper died and never came back: found, and removed if empty.

A keeper holds a lock (flock) on each of its directories while it lives; the kernel lets go of it
with the process, in whatever pid namespace that was. What is locked, young, or has a process in it
is left alone: its own keeper may come back, kill what is left and read the counters.
"""

import fcntl
import os
from collections.abc import Iterable
from typing import Final

from edge_agent.keeper.machine.cgroup import PREFIX, CgroupFs
from edge_agent.keeper.machine.cgroup_v2 import remove_tree

COMES_BACK_S: Final = 600
"""How much older than ours a directory must be before its keeper is taken for gone for ever."""


def hold(bases: Iterable[str]) -> bool:
    """Lock our directories until this process ends. False when one was just removed or is being
    looked at by another keeper: make them again and retry.
    """
    held: list[int] = []
    for base in bases:
        fd = _lock(base)
        if fd is None:
            for each in held:
                os.close(each)
            return False
        held.append(fd)
    return True


def remove_abandoned(fs: CgroupFs, bases: Iterable[str]) -> list[str]:
    """Remove what dead keepers left beside our own directories."""
    removed = []
    for base in bases:
        parent, own = os.path.split(base)
        for name in fs.groups(parent):
            path = f"{parent}/{name}"
            if name.startswith(PREFIX) and name != own and _remove(fs, path, base):
                removed.append(path)
    return removed


def _remove(fs: CgroupFs, path: str, ours: str) -> bool:
    try:
        # Both by the kernel's clock of files; nothing here may depend on ours.
        if os.stat(ours).st_mtime - os.stat(path).st_mtime < COMES_BACK_S:
            return False
    except OSError:
        return False
    fd = _lock(path)
    if fd is None:
        return False
    try:
        return remove_tree(fs, path)  # the kernel keeps what has a process in it
    finally:
        os.close(fd)


def _lock(path: str) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), os.stat(path)):
            return fd
    except OSError:
        pass
    os.close(fd)
    return None
