"""Processes as /proc shows them: who descends from whom, who carries which mark, safe signals.

A process that leaves its session and its parent is still ours: the keeper is a subreaper, so every
orphan of a task becomes the keeper's child, and a task's environment carries its mark. Reads and
signals only; whose a process is, is decided in `machine/members.py`.
"""

import os
import signal
from typing import Final, NamedTuple

MARK_VARIABLE: Final = "INTERTIE_KEEPER_MARK"
TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Proc(NamedTuple):
    """One line of /proc/PID/stat. `ticks` is the start time: with the pid it never repeats."""

    pid: int
    ppid: int
    session: int
    state: str
    ticks: int
    cpu_ticks: int
    """Of the process and of the children that it waited for."""
    rss_pages: int

    @property
    def dead(self) -> bool:
        """A zombie: it runs nothing and waits for its parent."""
        return self.state in "ZX"


def read(path: str) -> bytes:
    """A small /proc file; empty when the process is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 20)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_proc(pid: int) -> Proc | None:
    """One process, or None when it is gone."""
    text = read(f"/proc/{pid}/stat").decode("ascii", "replace")
    if not text:
        return None
    fields = text.rpartition(")")[2].split()
    return Proc(
        pid=pid,
        ppid=int(fields[1]),
        session=int(fields[3]),
        state=fields[0],
        ticks=int(fields[19]),
        cpu_ticks=int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14]),
        rss_pages=int(fields[21]),
    )


def start_ticks(pid: int) -> int:
    """When a process started, 0 when it is gone: `read_proc` for that one field."""
    fields = read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 20)
    return int(fields[19]) if len(fields) > 19 else 0


def snapshot() -> dict[int, Proc]:
    """All processes of the machine."""
    found = (read_proc(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {proc.pid: proc for proc in found if proc is not None}


def children_of_self() -> list[int]:
    """Our own children. Only right for a process with one thread, which the keeper is."""
    pid = os.getpid()
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]


def mark_of(pid: int) -> str | None:
    """The mark in a process's environment, as it was when the program was executed."""
    prefix = f"{MARK_VARIABLE}=".encode()
    for entry in read(f"/proc/{pid}/environ").split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode("ascii", "replace")
    return None


def cgroups_of(pid: int) -> str:
    """The text of /proc/PID/cgroup."""
    return read(f"/proc/{pid}/cgroup").decode("utf-8", "replace")


def resident_bytes() -> int:
    """Our own resident set."""
    return int(read("/proc/self/statm").split()[1]) * PAGE_BYTES


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether `ancestor` is above `pid`. Bounded: a chain longer than 1,000 counts as yes."""
    for _ in range(1000):
        if pid == ancestor:
            return True
        proc = read_proc(pid)
        if proc is None or proc.ppid <= 1:
            return False
        pid = proc.ppid
    return True


def send(proc: Proc, number: int) -> None:
    """Signal exactly this process, never another one that took over its pid."""
    try:
        fd = os.pidfd_open(proc.pid)
    except OSError:
        return
    try:
        current = read_proc(proc.pid)
        if current is not None and current.ticks == proc.ticks:
            signal.pidfd_send_signal(fd, number)
    except OSError:
        return
    finally:
        os.close(fd)


def send_group(leader: int, number: int) -> None:
    """Signal a process group that we lead into being; gone is fine."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return
