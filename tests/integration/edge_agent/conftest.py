"""Real agents with real keepers, in this process or in one of their own, and a scripted region."""

import asyncio
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from edge_agent.app import Application
from edge_agent.config import Config
from edge_agent.domain.events import RunKey
from edge_agent.domain.settings import Settings
from intertie.clock import SystemIds
from intertie.config import load
from intertie.model.agentlink import StartRun
from intertie.model.names import task_id
from intertie.model.pool import NodeCapability
from intertie.model.task import StoredFile
from intertie.testing.pki import FederationPki, federation_pki
from intertie.testing.scripted_region import ScriptedRegion, start_order
from intertie.testing.waiting import eventually, eventually_sync

BOUND_S = 30.0
PYTHON = "/usr/bin/python3"
"""Tasks run as users who may not enter the folders of the interpreter that runs the tests."""

CAPABILITY = NodeCapability(cpu=2_000, memory=4 << 30, disk=10 << 30, architecture="x86_64")


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def keeper_pid(state: Path) -> int | None:
    """Who listens on the keeper's socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(state / "keeper" / "keeper.sock"))
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        size = struct.calcsize("3i")
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return int(struct.unpack("3i", peer)[0])


@dataclass
class Agent:
    """One agent's directory, and what serves from it now."""

    name: str
    state: Path
    settings: dict[str, Any]
    application: Application | None = None
    process: "subprocess.Popen[bytes] | None" = None
    keepers: set[int] = field(default_factory=set)

    def load(self) -> Settings:
        flags = [f"{key}={json.dumps(value)}" for key, value in self.settings.items()]
        return load(Config, flags=flags, environment={}).as_settings()

    async def up(self) -> Application:
        """Serve in this process."""
        self.application = Application(self.load(), capability=CAPABILITY)
        await self.application.start()
        self._note_keeper()
        return self.application

    async def down(self) -> None:
        """Hang up; the keeper stays."""
        if self.application is not None:
            await self.application.stop()
            self.application = None

    def spawn(self) -> "subprocess.Popen[bytes]":
        """Serve in a process of its own."""
        flags = [f"--set={key}={json.dumps(value)}" for key, value in self.settings.items()]
        with (self.state.parent / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "edge_agent", *flags], stdout=log, stderr=log
            )
        return self.process

    def kill_link(self) -> None:
        """kill -9 of the link's process."""
        assert self.process is not None
        self._note_keeper()
        self.process.kill()
        self.process.wait(BOUND_S)
        self.process = None

    def keeper(self) -> int:
        """The keeper's pid."""
        pid = eventually_sync(lambda: keeper_pid(self.state), BOUND_S, what="a keeper serves")
        assert pid is not None
        self.keepers.add(pid)
        return pid

    def _note_keeper(self) -> None:
        pid = keeper_pid(self.state)
        if pid is not None:
            self.keepers.add(pid)

    def clean(self) -> None:
        """Stop what still runs, by its pid."""
        if self.process is not None:
            self.kill_link()
        self._note_keeper()
        for pid in self.keepers:
            if alive(pid) and b"keeper" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGTERM)
                eventually_sync(lambda p=pid: not alive(p), BOUND_S, what="the keeper ends")  # type: ignore[misc] # mypy cannot infer defaults of a lambda

    @property
    def live(self) -> Application:
        assert self.application is not None
        return self.application

    def folder(self, order: StartRun) -> Path:
        """The folders of a run."""
        return Path(self.live.folders.of(RunKey(order.task, order.token)).root)


class Site:
    """A region and its agents in one folder that any user may pass."""

    def __init__(self, root: Path, pki: FederationPki) -> None:
        self.root = root
        self.pki = pki
        self.region = ScriptedRegion(pki, root / "blobs")
        self.agents: list[Agent] = []
        self._uids = itertools.count(60_000, 1_000)
        self._ids = SystemIds()

    def agent(self, name: str = "n1", state: str = "", **settings: Any) -> Agent:
        """A directory for an agent; nothing runs yet."""
        folder = self.root / (state or name)
        values: dict[str, Any] = {
            "node": name,
            "region": "eu",
            "scheduler": self.region.address,
            "trust_domain": self.pki.trust_domain,
            "state_dir": str(folder),
            "identity_dir": str(self.pki.directory(f"eu:node/{name}")),
            "uid_base": next(self._uids),
            "timing.kill": "2s",
            "timing.resend": "1s",
            "timing.grace": "1s",
            "timing.reconnect": "50ms",
            "timing.reconnect_most": "400ms",
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
        agent = Agent(name, folder, values)
        self.agents.append(agent)
        return agent

    def task(self) -> str:
        """A fresh name of a task."""
        return f"projects/p1/tasks/{task_id(7, self._ids.uuid7())}"

    def order(self, *command: str, task: str = "", **changes: Any) -> StartRun:
        """The order to start a fresh task."""
        return start_order(task or self.task(), command, **changes)

    def python(self, code: str, **changes: Any) -> StartRun:
        """The order to run a small program."""
        return self.order(PYTHON, "-I", "-S", "-c", code, **changes)

    def files(self, *files: tuple[str, str, int, int]) -> dict[str, Any]:
        """Fields of an order: (path, digest, size, mode) each."""
        return {
            "files": tuple(StoredFile(path=f[0], sha256=f[1], size=f[2]) for f in files),
            "modes": tuple(f[3] for f in files),
        }

    def hold_blobs(self, held_back: str) -> None:
        """Let reads of a blob hang, as on a link that passes nothing."""
        read = self.region.blobs.read

        async def held(sha256: str, offset: int = 0, limit: int = 0) -> AsyncIterator[bytes]:
            if sha256 == held_back:
                await asyncio.Event().wait()
            async for chunk in read(sha256, offset, limit):
                yield chunk

        self.region.blobs.read = held  # type: ignore[method-assign] # the fault that is tested

    async def output(self, order: StartRun, stream: str = "stdout") -> bytes:
        """What an ended run has printed, as the region keeps it."""
        end = await self.region.ended(order)
        kept = [file for file in end.logs if file.path == stream]
        parts = [await self.region.blobs.get(file.sha256, 1 << 30) for file in reversed(kept)]
        return b"".join(parts)

    async def print_of(self, node: str, order: StartRun, text: bytes) -> bytes:
        """Wait until a live run has printed something."""

        async def printed() -> bytes:
            chunk = await self.region.read(node, order, "stdout")
            return chunk.data if text in chunk.data else b""

        return await eventually(printed, BOUND_S, 0.05, what=f"{text!r} is printed")


@pytest.fixture(name="alive")
def _alive() -> Callable[[int], bool]:
    return alive


@pytest.fixture
def root() -> Iterator[Path]:
    """Below pytest's own folders no other user may go."""
    folder = Path(tempfile.mkdtemp(prefix="agent-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def site(root: Path, tmp_path: Path) -> AsyncIterator[Site]:
    """A region that serves."""
    site = Site(root, federation_pki(tmp_path, regions=["eu", "us"]))
    await site.region.up()
    yield site
    for agent in site.agents:
        await agent.down()
    for agent in site.agents:
        await asyncio.to_thread(agent.clean)
    await site.region.down()
    assert not site.region.faults


@pytest.fixture
async def agent(site: Site) -> Agent:
    """One agent that is attached."""
    agent = site.agent()
    await agent.up()
    await site.region.attached("n1")
    return agent
