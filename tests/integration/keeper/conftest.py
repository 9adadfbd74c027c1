"""A real keeper in a process of its own, and a link reduced to a blocking socket."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper import launch, protocol
from edge_agent.keeper.logs import LogReader
from edge_agent.keeper.protocol import Framer, ProtocolFault
from edge_agent.keeper.report import ENDED, RUNNING, Ended, RunView
from edge_agent.keeper.spec import Limits, StartSpec, Token
from intertie.testing.waiting import eventually_sync

BOUND_S = 20.0


def wait_for(condition: Callable[[], Any], what: str = "condition") -> Any:
    return eventually_sync(condition, BOUND_S, 0.005, what=what)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Link:
    """Says hello, sends requests, keeps the notifications it meets."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(BOUND_S)
        try:
            self.sock.connect(path)
        except OSError:
            self.sock.close()
            raise
        self._framer = Framer(protocol.MAX_MESSAGE_BYTES)
        self._frames: list[dict[str, Any]] = []
        self._number = 0
        self.notes: list[tuple[str, RunView]] = []

    def hello(self) -> protocol.Hello:
        return protocol.Hello.from_body(self.ask("hello", versions=[1, 1]))

    def send(self, op: str, **fields: Any) -> int:
        self._number += 1
        self.sock.sendall(protocol.request(self._number, op, **fields))
        return self._number

    def ask(self, op: str, **fields: Any) -> dict[str, Any]:
        return self.receive(self.send(op, **fields))

    def receive(self, number: int) -> dict[str, Any]:
        while True:
            frame = self.frame()
            if "note" in frame:
                continue
            assert frame["id"] == number
            if frame["ok"]:
                return dict(frame["result"])
            raise ProtocolFault.from_body(frame["error"])

    def frame(self) -> dict[str, Any]:
        while not self._frames:
            data = self.sock.recv(1 << 16)
            if not data:
                raise ConnectionError("the keeper closed the connection")
            self._frames += [json.loads(line) for line in self._framer.feed(data)]
        frame = self._frames.pop(0)
        if "note" in frame:
            self.notes.append((frame["note"], RunView.from_body(frame["run"])))
        return frame

    def note(self, kind: str, run: str) -> RunView:
        """Wait for a notification."""
        while True:
            for note, view in self.notes:
                if note == kind and view.run == run:
                    return view
            self.frame()

    def start(self, spec: StartSpec) -> RunView:
        return RunView.from_body(self.ask("start", **spec.to_body()))

    def runs(self) -> list[RunView]:
        return [RunView.from_body(body) for body in self.ask("list")["runs"]]

    def run(self, name: str) -> RunView:
        return next(view for view in self.runs() if view.run == name)

    def ended(self, name: str) -> Ended:
        view = self.note("ended", name)
        assert view.state == ENDED
        assert view.ended is not None
        return view.ended

    def running(self, name: str) -> RunView:
        found: RunView = wait_for(
            lambda: next((v for v in self.runs() if v.run == name and v.state == RUNNING), None),
            f"{name} runs",
        )
        return found

    def stop(self, run: str, token: Token, reason: str = "asked", **fields: Any) -> RunView:
        body = self.ask("stop", run=run, token=list(token), reason=reason, **fields)
        return RunView.from_body(body)

    def forget(self, run: str, token: Token) -> bool:
        return bool(self.ask("forget", run=run, token=list(token))["forgotten"])

    def close(self) -> None:
        self.sock.close()


class KeeperBox:
    """A state directory with a keeper in it, and work directories beside it."""

    def __init__(self, root: Path, cgroup: str, t_kill_ms: int = 10_000) -> None:
        self.root = root
        self.state = root / "state"
        self.cgroup = cgroup
        self.t_kill_ms = t_kill_ms
        self.process: subprocess.Popen[bytes] | None = None
        self.links: list[Link] = []
        self.tasks = 0

    def up(self) -> Link:
        command = launch.command(str(self.state), cgroup=self.cgroup, t_kill_ms=self.t_kill_ms)
        with (self.root / "keeper.log").open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log, start_new_session=True)
        return self.link()

    def link(self) -> Link:
        link = wait_for(self._connect, f"keeper serves; {self.log()}")
        assert isinstance(link, Link)
        link.hello()
        self.links.append(link)
        return link

    def _connect(self) -> Link | None:
        assert self.process is not None
        if self.process.poll() is not None:
            raise RuntimeError(f"the keeper has ended: {self.log()}")
        try:
            return Link(launch.socket_path(str(self.state)))
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def log(self) -> str:
        path = self.root / "keeper.log"
        return path.read_text() if path.exists() else ""

    def groups(self) -> list[Path]:
        """The directories of this keeper's control groups."""
        keeper = json.loads((self.state / "schema.json").read_text())["keeper"]
        root = Path("/sys/fs/cgroup")
        return [*root.glob(f"*/**/intertie-{keeper}"), *root.glob(f"intertie-{keeper}")]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(BOUND_S)

    def down(self) -> None:
        for link in self.links:
            link.close()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(BOUND_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def spec(
        self, *argv: str, task: str = "", n: int = 1, token: Token | None = None, **changes: Any
    ) -> StartSpec:
        """A start in a fresh work directory."""
        self.tasks += 1
        task = task or f"t{self.tasks}"
        home = self.root / f"work-{self.tasks}"
        control = home / "control"
        work = home / "work"
        for directory in (control, work):
            directory.mkdir(parents=True)
        self.root.chmod(0o755)
        home.chmod(0o755)
        spec = StartSpec(
            run=f"projects/p/tasks/{task}/runs/{n}",
            token=token or Token(1, n, 1),
            argv=argv,
            env={"PATH": os.environ["PATH"]},
            cwd=str(work),
            stdout=str(home / "stdout"),
            stderr=str(home / "stderr"),
            log_bytes=1 << 16,
            grace_ms=5_000,
            control_dir=str(control),
        )
        return spec._replace(**changes)

    def python(self, code: str, **changes: Any) -> StartSpec:
        """A start of a small Python program."""
        return self.spec(sys.executable, "-I", "-S", "-c", code, **changes)

    def limits(self, **limits: int) -> Limits:
        return Limits(**limits)

    def output(self, spec: StartSpec) -> bytes:
        return LogReader(spec.stdout).read(0, 1 << 20).data

    def wait_output(self, spec: StartSpec, text: bytes) -> None:
        wait_for(lambda: text in self.output(spec), f"{text!r} printed")

    def printed_pids(self, spec: StartSpec, count: int) -> list[int]:
        """Pids that the task prints, one a line."""
        wait_for(lambda: self.output(spec).count(b"\n") >= count, f"{count} pids printed")
        return [int(word) for word in self.output(spec).split()]


@pytest.fixture(name="wait_for")
def _wait_for() -> Callable[[Callable[[], Any], str], Any]:
    return wait_for


@pytest.fixture(name="alive")
def _alive() -> Callable[[int], bool]:
    return alive


@pytest.fixture(params=["auto", "none"])
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeeperBox]:
    """With control groups (where this machine lets us) and without."""
    box = KeeperBox(tmp_path, request.param)
    yield box
    box.down()


@pytest.fixture
def auto_box(tmp_path: Path) -> Iterator[KeeperBox]:
    """With whatever containment this machine offers."""
    box = KeeperBox(tmp_path, "auto")
    yield box
    box.down()


@pytest.fixture
def other_box(tmp_path: Path) -> Iterator[KeeperBox]:
    """Another node's keeper on the same host."""
    root = tmp_path / "other"
    root.mkdir()
    box = KeeperBox(root, "auto")
    yield box
    box.down()
