"""A keeper alone: no-op processes from start to forgotten: `python bench/keeper.py [-o json]`.

A real keeper and a peer on its socket that keeps a window full, with the limits that an agent
gives every task. CPU is of the keeper alone (`getrusage` in it) and, apart, of the processes that
it reaped: what happens between fork and exec counts there, as does the program itself.
"""

import os
import selectors
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.harness import Figure, Report, report
from bench.processes import TICKS, usage
from edge_agent.keeper import launch, protocol
from edge_agent.keeper.protocol import Framer
from edge_agent.keeper.report import RunView
from edge_agent.keeper.spec import Limits, StartSpec, Token

TASKS = 3_000
WARM_UP = 200
WINDOW = 16
TRUE = "/bin/true"
NOBODY = 65534
LIMITS = Limits(memory_bytes=64 << 20, cpu_millis=1000, pids=256, disk_bytes=64 << 20)
START_S = 10.0


class Peer:
    """Speaks to a keeper as link does; counts runs that have ended and are forgotten."""

    def __init__(self, path: str, folder: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.connect(path)
        self._framer = Framer(protocol.MAX_MESSAGE_BYTES)
        self._folder = folder
        self._asked = 0
        self._started = 0
        self.done = 0
        self.ask("hello", versions=[1, 1])

    def close(self) -> None:
        """Hang up."""
        self._sock.close()

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Send a request and wait for its reply; for when no run is in flight."""
        self._send(op, fields)
        while True:
            for frame in self._frames():
                if frame.get("id") == self._asked:
                    assert frame["ok"], frame
                    return dict(frame["result"])

    def run(self, count: int) -> None:
        """Start this many more no-ops, a window at a time, and see each to its end."""
        end = self._started + count
        while self.done < end:
            while self._started < end and self._started - self.done < WINDOW:
                self._send("start", self._spec(self._started).to_body())
                self._started += 1
            for frame in self._frames():
                if frame.get("note") == "ended":
                    self._forget(RunView.from_body(frame["run"]))

    def _forget(self, view: RunView) -> None:
        assert view.ended is not None
        assert view.ended.code == 0, view.ended
        self._send("forget", {"run": view.run, "token": list(view.token)})
        self.done += 1

    def _spec(self, number: int) -> StartSpec:
        user = NOBODY if os.geteuid() == 0 else None
        return StartSpec(
            run=f"projects/p/tasks/t{number}/runs/1",
            token=Token(1, 1, 1),
            argv=(TRUE, str(number)),
            env={"PATH": os.defpath},
            cwd=str(self._folder / "work"),
            stdout=str(self._folder / "logs" / f"{number}.stdout"),
            stderr=str(self._folder / "logs" / f"{number}.stderr"),
            log_bytes=1 << 20,
            uid=user,
            gid=user,
            limits=LIMITS,
        )

    def _send(self, op: str, fields: dict[str, Any]) -> None:
        self._asked += 1
        self._sock.sendall(protocol.request(self._asked, op, **fields))

    def _frames(self) -> list[dict[str, Any]]:
        data = self._sock.recv(1 << 16)
        assert data, "the keeper hung up"
        return [protocol.decode(line) for line in self._framer.feed(data)]


@contextmanager
def keeper(folder: Path) -> Iterator[tuple[int, str]]:
    """A keeper in a process of its own: its pid and socket."""
    state = folder / "state"
    with subprocess.Popen(launch.command(str(state)), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stderr, selectors.EVENT_READ)
                assert selector.select(START_S), "the keeper does not serve"
            yield process.pid, launch.socket_path(str(state))
        finally:
            process.terminate()
            process.wait(START_S)


def reaped_cpu_s(pid: int) -> float:
    """CPU of the children that a process has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS


def measure(pid: int, peer: Peer, out: Report) -> None:
    """Run all no-ops once."""
    peer.run(WARM_UP)
    own, reaped = peer.ask("status")["cpu_ns"], reaped_cpu_s(pid)
    start = time.perf_counter()
    peer.run(TASKS)
    wall = time.perf_counter() - start
    own = peer.ask("status")["cpu_ns"] - own
    reaped = reaped_cpu_s(pid) - reaped
    against = "a bare subprocess: about 1,000/s"
    out.add(Figure("start_to_end_per_s", TASKS / wall, "tasks/s", against))
    out.add(Figure("cpu_ms_per_task", own / 1e6 / TASKS, "ms/task", "aim: 2"))
    out.add(Figure("reaped_cpu_ms_per_task", reaped * 1000 / TASKS, "ms/task", "fork to exit"))
    out.add(Figure("resident_mib", usage(pid).resident_mib, "MiB", "aim: 15"))


def main() -> None:
    """Start a keeper, measure, stop it."""
    out = report("keeper", __doc__ or "")
    with tempfile.TemporaryDirectory(prefix="it-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        for part in ("work", "logs"):
            (folder / part).mkdir(mode=0o711)
        with keeper(folder) as (pid, path):
            peer = Peer(path, folder)
            try:
                measure(pid, peer, out)
            finally:
                peer.close()


if __name__ == "__main__":
    main()
