"""Holding a run together with control groups: what the two kernel versions have in common.

A backend owns one directory `intertie-<keeper id>` per hierarchy; each run has a child group named
by its mark. `detect` tries what can really be created, because mount options, delegation and
containers make every other sign unreliable. Without any group the keeper falls back on rlimits and
/proc (`machine/members.py`).
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from edge_agent.keeper.report import Usage
from edge_agent.keeper.spec import Limits

MEMORY: Final = "memory"
PIDS: Final = "pids"
PREFIX: Final = "intertie-"
"""Of the directory of any keeper; its id follows."""
_READ_BYTES: Final = 1 << 16
_LINKS_OF_A_LEAF: Final = 2
"""Of a directory: its name and its dot; each child directory adds one (kernfs, ext4, tmpfs; where
it is otherwise, another number comes out, and the directory is read)."""


class CgroupFs:
    """The file system calls that a backend needs. Tests put a pretended kernel in its place."""

    def mkdir(self, path: str) -> None:
        """Create a group; fine if it is there."""
        try:
            os.mkdir(path, 0o755)
        except FileExistsError:
            return

    def rmdir(self, path: str) -> bool:
        """Remove a group; False while the kernel still holds it."""
        try:
            os.rmdir(path)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def rename(self, old: str, new: str) -> None:
        """Give a group another name beside it. Raises OSError."""
        os.rename(old, new)

    def read(self, path: str) -> str:
        """A control file's text. Raises OSError."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = [os.read(fd, _READ_BYTES)]
            while len(parts[-1]) == _READ_BYTES:
                parts.append(os.read(fd, _READ_BYTES))
        finally:
            os.close(fd)
        return b"".join(parts).decode("ascii", "replace")

    def write(self, path: str, text: str) -> None:
        """Write a control file, which must exist. Raises OSError."""
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode("ascii"))
        finally:
            os.close(fd)

    def exists(self, path: str) -> bool:
        """Whether a file or group is there."""
        return os.path.exists(path)

    def groups(self, path: str) -> list[str]:
        """Names of child groups."""
        try:
            if os.stat(path).st_nlink == _LINKS_OF_A_LEAF:
                return []
            with os.scandir(path) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except OSError:
            return []

    def count(self, path: str) -> int | None:
        """A control file with one number, or None when there is none (or `max`)."""
        try:
            text = self.read(path).strip()
        except OSError:
            return None
        return int(text) if text.isdigit() else None

    def table(self, path: str) -> dict[str, int]:
        """A control file of `name number` lines; empty when it is not there."""
        try:
            lines = self.read(path).splitlines()
        except OSError:
            return {}
        pairs = (line.split() for line in lines)
        return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

    def pids(self, path: str) -> list[int]:
        """The processes in a `cgroup.procs` file; none when the group is gone."""
        try:
            return [int(word) for word in self.read(path).split()]
        except OSError:
            return []


class Group(Protocol):
    """The control group of one run."""

    def join_paths(self) -> tuple[str, ...]:
        """The files that a process writes `0` into to enter."""
        ...

    def kill(self) -> list[int]:
        """Kill everything inside once; returns who was there. Call again until it is empty."""
        ...

    def usage(self) -> Usage:
        """Counters so far."""
        ...

    def remove(self) -> bool:
        """Remove the empty group; False when the kernel is not done with it yet."""
        ...


class Backend(Protocol):
    """Makes groups."""

    @property
    def name(self) -> str:
        """`cgroup2:cpu,memory,pids` or the like, for people."""
        ...

    @property
    def controllers(self) -> frozenset[str]:
        """What it can limit."""
        ...

    @property
    def bases(self) -> tuple[str, ...]:
        """Our directory in each hierarchy."""
        ...

    def create(self, mark: str, limits: Limits) -> Group:
        """A group with limits. Raises OSError."""
        ...

    def release(self, group: Group) -> Group | None:
        """Its run has ended and nothing is left: remove the group, or keep it for another run.
        Returns the group that the kernel is not done with, if any, for another try.
        """
        ...

    def existing(self) -> Mapping[str, Group]:
        """Groups that are there now, by mark: after a crash, those of the dead keeper."""
        ...

    def close(self) -> None:
        """Remove our own directory if it is empty."""
        ...


class Mount(NamedTuple):
    """A mounted hierarchy: where, of which kind, and the path of this process inside."""

    path: str
    version: int
    controllers: tuple[str, ...]
    own: str

    def bases(self) -> Iterable[str]:
        """Where groups may be made: beside this process first (limits of those above us go on to
        hold), then at the root, as containers and systemd slices may forbid the former.
        """
        own = os.path.normpath(f"{self.path}/{self.own}")
        return dict.fromkeys((own, self.path))


def read_mounts(mountinfo: str, own_groups: str) -> list[Mount]:
    """Hierarchies from the texts of /proc/self/mountinfo and /proc/self/cgroup."""
    own: dict[str, str] = {}
    for line in own_groups.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            own[name] = path
    mounts = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        root, path = left.split()[3:5]
        kind, _, options = right.split()[:3]
        if kind == "cgroup2":
            mounts.append(Mount(path, 2, (), _inside(own.get("", "/"), root)))
        elif kind == "cgroup":
            held = tuple(name for name in options.split(",") if name in own)
            if held:
                mounts.append(Mount(path, 1, held, _inside(own[held[0]], root)))
    return mounts


def _inside(own: str, root: str) -> str:
    """A path relative to what is mounted, which in a container is not the hierarchy's root."""
    return own.removeprefix(root) if root != "/" and own.startswith(root) else own
