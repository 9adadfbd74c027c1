"""Processes of a development federation: started detached, known by pid and start time.

A pid alone may have been given to another program since, so each is kept with its start time as the
kernel counts it. Processes outlive the command that started them. Nothing is ever found by name.
"""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path

from tenacity import RetryError, retry, retry_if_result, stop_after_delay, wait_fixed

from intertie.cli.dev.layout import Layout
from intertie.errors import IntertieError, Reason, error

STOP_S = 15.0
HEALTH_S = 30.0


@dataclass(frozen=True, slots=True)
class Process:
    """One process. `started` is field 22 of /proc/PID/stat; `health` is `host:port/path`."""

    name: str
    pid: int
    started: int
    health: str

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return start_time(self.pid) == self.started


def start_time(pid: int) -> int:
    """When a process started, in the kernel's ticks since boot; 0 if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    fields = stat.rpartition(")")[2].split()
    return 0 if fields[0] == "Z" else int(fields[19])


class Processes:
    """The processes of one state directory, kept in its `processes.json`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def all(self) -> dict[str, Process]:
        """All that were started and not stopped since, dead or alive."""
        try:
            raw = json.loads(self._layout.processes_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return {name: Process(**value) for name, value in raw.items()}

    def alive(self) -> dict[str, Process]:
        """Those that run now."""
        return {name: p for name, p in self.all().items() if p.is_alive}

    def start(
        self, name: str, argv: Sequence[str], health: str, environment: Mapping[str, str]
    ) -> Process:
        """Start one, unless it runs; its output goes to its log."""
        running = self.alive().get(name)
        if running is not None:
            return running
        self._layout.process(name).mkdir(parents=True, exist_ok=True)
        self._layout.log(name).touch(mode=0o600)  # tasks of other users live beside it
        with self._layout.log(name).open("ab") as log:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self._layout.process(name),
                env={**os.environ, **environment},
            )
        process = Process(name, child.pid, start_time(child.pid), health)
        child.returncode = 0  # it outlives this object, which would warn of that
        self._keep({**self.all(), name: process})
        return process

    def wait_healthy(self, process: Process, within_s: float = HEALTH_S) -> None:
        """Wait until it answers; UNREACHABLE with the end of its log if it does not."""
        if not _retry(lambda: not process.is_alive or _is_healthy(process), within_s):
            raise self._unhealthy(process, f"did not become healthy within {within_s:g} s")
        if not process.is_alive:
            raise self._unhealthy(process, "ended at once")

    def stop(self, name: str, *, kill: bool = False) -> None:
        """End one: in good order, or as a crash does."""
        process = self.all().get(name)
        if process is None:
            return
        if process.is_alive:
            os.kill(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
        if not _retry(lambda: _is_gone(process), STOP_S):
            os.kill(process.pid, signal.SIGKILL)
            _retry(lambda: _is_gone(process), STOP_S)
        self._keep({n: p for n, p in self.all().items() if n != name})

    def _keep(self, processes: Mapping[str, Process]) -> None:
        text = json.dumps({name: asdict(p) for name, p in processes.items()}, indent=2)
        temporary = self._layout.processes_file.with_suffix(".new")
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(self._layout.processes_file)

    def _unhealthy(self, process: Process, what: str) -> IntertieError:
        log = self._layout.log(process.name)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        tail = [line[:400] for line in lines[-8:]]
        return error(
            Reason.UNREACHABLE,
            f"{process.name} {what}. The end of {log}:\n" + "\n".join(tail),
            remedy="The others are left as they are: repair it and repeat the command to go on.",
        )


def _is_gone(process: Process) -> bool:
    """Whether it has ended; reaps it where it is our own child."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    return not process.is_alive


def _is_healthy(process: Process) -> bool:
    """Whether `host:port/path` answers 200; a process that serves nothing need only live."""
    if not process.health:
        return True
    address, _, path = process.health.partition("/")
    connection = http.client.HTTPConnection(address, timeout=1)
    with contextlib.closing(connection):
        try:
            connection.request("GET", f"/{path}")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False


def _retry(condition: Callable[[], bool], within_s: float) -> bool:
    """Ask until it holds or the time is over."""
    asking = retry(
        retry=retry_if_result(lambda holds: not holds),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(0.05),
    )(condition)
    try:
        return bool(asking())
    except RetryError:
        return False


def interpreter() -> str:
    """The interpreter of this environment; `python3` on PATH may be another one."""
    return sys.executable
