"""The processes, pipes, logs and groups of live runs: does what the table orders, reports facts.

Must not decide: it never kills, ends or reports a run on its own account. Never blocks.
"""

import json
import os
import selectors
import signal
from collections.abc import Callable
from functools import partial
from typing import Final

from edge_agent.keeper.domain.events import (
    ExecFailed,
    Executed,
    Exited,
    Key,
    Notice,
    Spawned,
    SpawnFailed,
    Swept,
)
from edge_agent.keeper.domain.events import Final as FinalFacts
from edge_agent.keeper.logs import LogWriter
from edge_agent.keeper.machine import members, process, procfs
from edge_agent.keeper.machine.cgroup import MEMORY, PIDS, Backend, Group
from edge_agent.keeper.machine.members import Home
from edge_agent.keeper.machine.quota import DiskMeter
from edge_agent.keeper.report import StartFault, Usage
from edge_agent.keeper.spec import StartSpec

_READ_BYTES: Final = 1 << 16
_READS_PER_TURN: Final = 16
_DRAIN_READS: Final = 256
"""At the end: more than any pipe holds."""


class Resident:
    """One started run: its process and all that belongs to it."""

    def __init__(self, key: Key, spec: StartSpec, mark: str) -> None:
        self.key = key
        self.mark = mark
        self.spec = spec._replace(env={}, argv=spec.argv[:1])
        self.group: Group | None = None
        self.pid = 0
        self.ticks = 0
        self.reaped = False
        self.started = False
        """Whether the program runs, or is known never to."""
        self.fault_fd: int | None = None
        self.streams: dict[int, LogWriter] = {}
        self.written: tuple[LogWriter, ...] = ()
        self.meter: DiskMeter | None = None

    @property
    def home(self) -> Home:
        """How its processes are recognised."""
        return Home(self.mark, None if self.reaped else self.pid, self.pid, self.ticks)


class Children:
    """All started runs that are not released yet."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        backend: Backend | None,
        clock: Callable[[], int],
        report: Callable[[ExecFailed | Executed], None],
        task_open_files: int,
    ) -> None:
        self._selector = selector
        self._backend = backend
        self._clock = clock
        self._report = report
        self._task_open_files = task_open_files
        self._residents: dict[Key, Resident] = {}
        self._by_pid: dict[int, Resident] = {}
        self._unremoved: list[Group] = []

    # -- starting ---------------------------------------------------------------------------------

    def spawn(self, key: Key, spec: StartSpec, mark: str) -> Spawned | SpawnFailed:
        """Fork the run's process."""
        resident = Resident(key, spec, mark)
        stage = "cgroup"
        try:
            if self._backend is not None:
                resident.group = self._backend.create(mark, spec.limits)
            stage = "logs"
            stdout = LogWriter(spec.stdout, spec.log_bytes)
            resident.written = (stdout,)
            resident.written = (stdout, LogWriter(spec.stderr, spec.log_bytes))
            stage = "fork"
            child = process.fork(self._plan(resident, spec))
        except OSError as error:
            self._discard(resident)
            return SpawnFailed(key, process.fault_of(stage, error))
        resident.pid, resident.fault_fd = child.pid, child.fault_fd
        resident.ticks = procfs.start_ticks(child.pid)
        pipes = (child.stdout_fd, child.stderr_fd)
        resident.streams = dict(zip(pipes, resident.written, strict=True))
        if spec.limits.disk_bytes is not None:
            resident.meter = DiskMeter(spec.disk_dirs or (spec.cwd,), self._clock())
        self._residents[key] = resident
        self._by_pid[child.pid] = resident
        self._watch(child.fault_fd, partial(self._read_fault, resident))
        for fd in pipes:
            self._watch(fd, partial(self._pump, resident, fd, _READS_PER_TURN))
        return Spawned(key, child.pid, resident.ticks)

    def _plan(self, resident: Resident, spec: StartSpec) -> process.Plan:
        limits, controllers = spec.limits, self._controllers
        capped = limits.pids if PIDS not in controllers else None
        user = spec.uid if spec.uid is not None else os.geteuid()
        return process.Plan(
            spec=spec,
            mark=resident.mark,
            join=resident.group.join_paths() if resident.group else (),
            address_space=limits.memory_bytes if MEMORY not in controllers else None,
            processes=None if capped is None or user == 0 else capped + _processes_of(user),
            open_files=self._task_open_files,
        )

    @property
    def _controllers(self) -> frozenset[str]:
        return self._backend.controllers if self._backend else frozenset()

    def _watch(self, fd: int, ready: Callable[[], None]) -> None:
        self._selector.register(fd, selectors.EVENT_READ, ready)

    def _unwatch(self, fd: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)

    def _read_fault(self, resident: Resident) -> None:
        if resident.fault_fd is None:
            return
        told = process.read_fault(resident.fault_fd)
        if told is False:
            return
        self._unwatch(resident.fault_fd)
        resident.fault_fd = None
        if isinstance(told, StartFault):
            self._report(ExecFailed(resident.key, told))
        else:
            self._report(Executed(resident.key))

    # -- watching ---------------------------------------------------------------------------------

    def reap(self) -> list[Exited]:
        """Collect every dead child; orphans of tasks too, which otherwise stay zombies."""
        exits: list[Exited] = []
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return exits
            if pid == 0:
                return exits
            resident = self._by_pid.pop(pid, None)
            if resident is None:
                continue
            resident.reaped = True
            self._read_fault(resident)
            code = os.waitstatus_to_exitcode(status)
            exits.append(
                Exited(
                    resident.key,
                    code=code if code >= 0 else None,
                    signal=-code if code < 0 else None,
                    cpu_ns=int((used.ru_utime + used.ru_stime) * 1e9),
                    max_rss_bytes=used.ru_maxrss * 1024,
                )
            )

    def _pump(self, resident: Resident, fd: int, reads: int) -> None:
        writer = resident.streams.get(fd)
        if writer is None:
            return
        for _ in range(reads):
            try:
                data = os.read(fd, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                del resident.streams[fd]
                self._unwatch(fd)
                writer.close()
                return
            writer.write(data)

    def measure_disks(self, now: int) -> list[tuple[Key, int]]:
        """Take the slices of disk measurement that are due."""
        found = []
        for resident in self._residents.values():
            total = resident.meter.step(now, self._clock) if resident.meter else None
            if total is not None:
                found.append((resident.key, total))
        return found

    def next_due(self) -> int | None:
        """When a disk measurement is due."""
        meters = (resident.meter for resident in self._residents.values())
        return min((meter.due_at for meter in meters if meter is not None), default=None)

    def usage(self, key: Key) -> Usage:
        """What a live run has used so far; all None for one that is not started."""
        resident = self._residents.get(key)
        if resident is None:
            return Usage()
        usage = resident.group.usage() if resident.group else self._usage_by_proc(resident)
        return usage._replace(disk_bytes=resident.meter.used_bytes if resident.meter else None)

    def _usage_by_proc(self, resident: Resident) -> Usage:
        found = members.members(resident.home, self._others(resident))
        return Usage(
            cpu_ns=sum(proc.cpu_ticks for proc in found) * 1_000_000_000 // procfs.TICKS_PER_SECOND,
            memory_bytes=sum(proc.rss_pages for proc in found) * procfs.PAGE_BYTES,
            pids=len(found),
        )

    # -- stopping ---------------------------------------------------------------------------------

    def notice(self, order: Notice) -> None:
        """Write the notice file and send the signal that the task asked for."""
        resident = self._residents[order.key]
        spec = resident.spec
        if spec.control_dir is not None:
            body = {
                "by": order.by,
                "reason": order.reason,
                "term_boot_ns": order.term_boot_ns,
                "kill_boot_ns": order.kill_boot_ns,
            }
            _write_notice(spec.control_dir, json.dumps(body), spec.uid, spec.gid)
        if spec.notice_signal is not None and not resident.reaped:
            os.kill(resident.pid, signal.Signals[spec.notice_signal])

    def terminate(self, key: Key) -> None:
        """SIGTERM to the process group of the run's first process, and to that process itself."""
        resident = self._residents[key]
        if not resident.reaped:
            procfs.send_group(resident.pid, signal.SIGTERM)

    def sweep(self, key: Key) -> Swept:
        """Kill everything of a run once and count what was there."""
        resident = self._residents[key]
        seen = set(resident.group.kill()) if resident.group else set()
        if resident.group is None or members.has_orphans(self._homes()):
            found = members.kill_members(resident.home, self._others(resident))
            seen |= {proc.pid for proc in found}
        if not resident.reaped:
            procfs.send_group(resident.pid, signal.SIGKILL)
            os.kill(resident.pid, signal.SIGKILL)
        left = len(seen)
        final = self._final(resident) if left == 0 and resident.reaped else None
        return Swept(key, left, len(seen - {resident.pid}) if resident.reaped else 0, final)

    def _final(self, resident: Resident) -> FinalFacts:
        for fd in list(resident.streams):
            self._pump(resident, fd, _DRAIN_READS)
        usage = resident.group.usage() if resident.group else Usage()
        stdout, stderr = resident.written
        return FinalFacts(usage, stdout.offset, stderr.offset)

    def _homes(self) -> list[Home]:
        return [resident.home for resident in self._residents.values()]

    def _others(self, resident: Resident) -> list[Home]:
        return [other.home for other in self._residents.values() if other is not resident]

    def release(self, key: Key) -> None:
        """The run has ended: close its pipes and logs, remove its group."""
        resident = self._residents.pop(key, None)
        if resident is not None:
            self._discard(resident)
        if self._backend is not None:
            left = [self._backend.release(group) for group in self._unremoved]
            self._unremoved = [group for group in left if group is not None]

    def _discard(self, resident: Resident) -> None:
        for fd in list(resident.streams):
            self._unwatch(fd)
        if resident.fault_fd is not None:
            self._unwatch(resident.fault_fd)
        for writer in resident.written:
            writer.close()
        if resident.group is not None:
            self._unremoved.append(resident.group)


def _processes_of(user: int) -> int:
    """How many processes a user has now: RLIMIT_NPROC counts all of a user's, not the run's."""
    count = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            try:
                count += entry.name.isdigit() and entry.stat().st_uid == user
            except OSError:
                continue
    return count


def _write_notice(directory: str, text: str, uid: int | None, gid: int | None) -> None:
    """Replace the file whole. The task owns the directory and may have removed it: no matter."""
    path = os.path.join(directory, process.NOTICE_FILE)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(f"{path}.tmp", flags, 0o600)
        try:
            os.write(fd, text.encode("ascii"))
            if uid is not None:
                os.fchown(fd, uid, -1 if gid is None else gid)
        finally:
            os.close(fd)
        os.rename(f"{path}.tmp", path)
    except OSError:
        return
