"""The page "First federation on three hosts" is run, command by command, on one host.

Host names become localhost, ports free ones, and each host of the page is a folder with a home of
its own. Services run as the real processes that their commands start.
"""

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from intertie.cli.dev.cluster import keeper_pids
from intertie.cli.dev.layout import FIRST_PORT, LAST_PORT

PAGE = Path(__file__).parents[3] / "docs" / "joining.md"
PORTS = ("7443", "7444", "7171", "7172")
COMMAND_S = 60


@dataclass(frozen=True)
class Step:
    """One thing to do on a host: a command, or a file to write."""

    host: str
    command: str = ""
    file: str = ""
    text: str = ""


def steps() -> Iterator[Step]:
    """What the page says, in order."""
    section = PAGE.read_text().partition("## First federation on three hosts")[2]
    section = section.partition("\n## ")[0]
    for part in section.split("\n### On ")[1:]:
        host = part.partition(":")[0]
        for kind, body in re.findall(r"```(\w+)\n(.*?)```", part, re.DOTALL):
            if kind == "console":
                commands = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
                yield from (Step(host, command=command) for command in commands)
            else:
                name = body.partition("\n")[0].removeprefix("# ")
                yield Step(host, file=name, text=body)


@dataclass
class Hosts:
    """The hosts of the page, in one folder."""

    root: Path
    ports: dict[str, str]
    token: str = "none yet"
    services: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def here(self, text: str) -> str:
        """The text as it is true on this machine."""
        for port, free in self.ports.items():
            text = text.replace(f":{port}", f":{free}")
        if "--jurisdiction" in text:  # the region's ports are defaults, which the page leaves out
            agents, joiners = self.ports["7171"], self.ports["7172"]
            text += f" --listen 0.0.0.0:{agents} --join-listen 0.0.0.0:{joiners}"
        text = re.sub(r"(fed|eu|n1)\.example\.net", "localhost", text)
        return text.replace("0.0.0.0:", "127.0.0.1:").replace("TOKEN", self.token)

    def folder(self, host: str) -> Path:
        path = self.root / host.partition(".")[0].replace(" ", "-")
        path.mkdir(exist_ok=True)
        return path

    def do(self, step: Step) -> None:
        if step.file:
            (self.folder(step.host) / step.file).write_text(self.here(step.text))
        elif " serve " in step.command:
            self._serve(step)
        else:
            self._run(step)

    def _run(self, step: Step) -> None:
        command = self.here(step.command)
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder(step.host),
            env=self._environment(step.host),
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        if "token create" in command:
            self.token = done.stdout.strip()

    def _serve(self, step: Step) -> None:
        command = self.here(step.command)
        log = (self.folder(step.host) / "log").open("wb")
        service = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            cwd=self.folder(step.host),
            env=self._environment(step.host),
            stdout=subprocess.PIPE,
            stderr=log,
        )
        self.services.append(service)
        assert service.stdout is not None
        assert service.stdout.readline(), f"{command} ended\n{Path(log.name).read_text()}"
        log.close()

    def _environment(self, host: str) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("INTERTIE_")}
        tasks = {"INTERTIE_AGENT_UID_BASE": "0", "INTERTIE_AGENT_TASK__CGROUP": "none"}
        path = f"{Path(sys.executable).parent}:{kept['PATH']}"
        return kept | tasks | {"HOME": str(self.folder(host)), "PATH": path}

    def end(self) -> None:
        keepers = keeper_pids(self.root / "n1" / "node" / "state")
        for service in reversed(self.services):
            service.send_signal(signal.SIGTERM)
            try:
                service.wait(10)
            except subprocess.TimeoutExpired:
                service.kill()
                service.wait()
            if service.stdout is not None:
                service.stdout.close()
        for pid in keepers:
            os.kill(pid, signal.SIGTERM)
        shutil.rmtree(self.root, ignore_errors=True)


def free_ports() -> dict[str, str]:
    """Ports that no outgoing connection takes, as `intertie dev` chooses them."""
    with ExitStack() as stack:
        found: list[str] = []
        while len(found) < len(PORTS):
            listener = stack.enter_context(socket.socket())
            port = random.SystemRandom().randrange(FIRST_PORT, LAST_PORT)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(str(port))
        return dict(zip(PORTS, found, strict=True))


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    hosts = Hosts(Path(tempfile.mkdtemp(prefix="three-")), free_ports())
    yield hosts
    hosts.end()


def test_every_command_of_the_page_works_in_its_order(hosts: Hosts) -> None:
    done = list(steps())
    assert len(done) > 20
    for step in done:
        hosts.do(step)
