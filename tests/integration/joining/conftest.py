"""A real replica that lets others join, in a thread of its own, and the command line beside it.

The command line runs its own event loops, as for a user, so the servers have another one.
"""

import asyncio
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import structlog
from typer.testing import CliRunner, Result

from edge_agent.app import Application as AgentApplication
from edge_agent.config import Config as AgentConfig
from federation.app import Application
from federation.config import Config
from intertie.cli.app import app
from intertie.cli.dev.cluster import keeper_pids
from intertie.config import load
from intertie.pki.authority import create_intermediate
from intertie.pki.ca_files import write_authority
from intertie.sdk.contexts import Context, Contexts, load_contexts
from intertie.testing.etcd import etcd_binary, running_etcd
from intertie.testing.pki import FederationPki, federation_pki
from regional.app import Application as RegionalApplication
from regional.config import Config as RegionalConfig

T = TypeVar("T")
WITHIN_S = 20.0
JURISDICTION = "DE/DE-HE/fra1"


class Background:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="servers")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WITHIN_S)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass
class Place:
    """A federation with its administrator, and everything that a test starts beside it."""

    path: Path
    pki: FederationPki
    background: Background
    replica: Application
    regions: list[RegionalApplication] = field(default_factory=list)
    agents: list[AgentApplication] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    @property
    def endpoint(self) -> str:
        return self.replica.join_address

    def cli(self, *arguments: str, config: str = "admin.toml", expect: int = 0) -> Result:
        """Run a command under a person's contexts."""
        environment = {"INTERTIE_CONFIG": str(self.path / config), "COLUMNS": "200"}
        result = CliRunner().invoke(app, list(arguments), env=environment)
        assert result.exit_code == expect, result.output
        return result

    def json(self, *arguments: str, config: str = "admin.toml") -> Any:
        return json.loads(self.cli(*arguments, "-o", "json", config=config).stdout)

    def token(self, role: str, *arguments: str, config: str = "admin.toml") -> str:
        argv = ("token", "create", "--role", role, *arguments, "-o", "name")
        made = self.cli(*argv, config=config)
        return made.stdout.strip()

    def join(self, token: str, *arguments: str, config: str = "other.toml", expect: int = 0) -> Any:
        argv = ("join", token, "--endpoint", self.endpoint, *arguments)
        return self.cli(*argv, config=config, expect=expect)

    def join_region(self, token: str, directory: Path, *arguments: str, expect: int = 0) -> Result:
        argv = ("--dir", str(directory), "--jurisdiction", JURISDICTION, "--host", "localhost")
        config = f"{directory.name}.toml"
        result: Result = self.join(token, *argv, *arguments, config=config, expect=expect)
        return result

    def serve_region(self, directory: Path) -> RegionalApplication:
        """Start the region's scheduler from the configuration that joining wrote."""
        flags = [
            "listen=127.0.0.1:0",
            "enrollment.listen=127.0.0.1:0",
            "enrollment.endpoints=[]",
            "enrollment.join_endpoints=[]",
            "log.heartbeat=1s",
            "timing.agent_lease=3s",
            "timing.beat=200ms",
            "timing.kill=500ms",
            "timing.notice=0",
            "timing.summary=200ms",
        ]
        config = load(RegionalConfig, file=directory / "config.toml", flags=flags, environment={})
        region = RegionalApplication(config)
        self.background.run(region.start())
        self.regions.append(region)
        return region

    def stop_region(self, region: RegionalApplication) -> None:
        self.background.run(region.stop())
        self.regions.remove(region)

    def task_state(self, name: str, config: str = "ann.toml") -> str:
        return str(self.json("task", "show", name, config=config)["state"])

    def use_region_address(self, region: str, application: RegionalApplication) -> None:
        """The operator's context, with the port that the kernel chose."""
        contexts = load_contexts(self.path / f"{region}.toml")
        context = contexts.get()
        assert context.region is not None, "joining writes the region's own server"
        access = replace(context.region, endpoint=application.address)
        contexts.with_context(replace(context, region=access), use=True).save()

    def join_node(
        self, token: str, directory: Path, region: RegionalApplication, node: str, expect: int = 0
    ) -> Result:
        argv = ("join", token, "--endpoint", region.join_address, "--dir", str(directory))
        return self.cli(*argv, "--node", node, config="node.toml", expect=expect)

    def serve_agent(self, directory: Path) -> AgentApplication:
        flags = ["timing.kill=500ms", "uid_base=0", "task.cgroup=none", f"state_dir={self.short()}"]
        config = load(AgentConfig, file=directory / "config.toml", flags=flags, environment={})
        agent = AgentApplication(config.as_settings())
        self.background.run(agent.start())
        self.agents.append(agent)
        return agent

    def short(self) -> Path:
        """A state directory whose path is short enough for a socket below it."""
        path = Path(tempfile.mkdtemp(prefix="agent-"))
        self.folders.append(path)
        return path

    def nodes(self, config: str) -> list[str]:
        return [
            node["name"].removeprefix("nodes/")
            for node in self.json("node", "list", config=config)["nodes"]
        ]

    def reachability(self, region: str) -> str:
        listed = self.json("region", "list")["regions"]
        found = {each["name"]: each["reachability"] for each in listed}
        return str(found.get(f"regions/{region}", ""))


def write_contexts(path: Path, pki: FederationPki, endpoint: str) -> None:
    admin = Context(name="root", endpoint=endpoint, identity=str(pki.directory("admin/root")))
    Contexts(path, "root", {"root": admin}).save()


@pytest.fixture(autouse=True)
def log_file(tmp_path: Path) -> Iterator[Path]:
    """The servers' log goes to a file: on stdout it would mix with that of the commands."""
    path = tmp_path / "log.txt"
    with path.open("w") as file:
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(file=file))
        yield path
        structlog.reset_defaults()


@pytest.fixture
def pki(tmp_path: Path) -> FederationPki:
    return federation_pki(tmp_path / "pki", regions=["legacy"])


@pytest.fixture
def place(
    request: pytest.FixtureRequest, tmp_path: Path, pki: FederationPki, log_file: Path
) -> Iterator[Place]:
    """A place. Parameters: `intermediate`, the replica does not hold the root's key; `etcd`, what
    there is of tokens and identities is in a real etcd.
    """
    assert log_file.exists(), "servers log into it"
    pki.directory("federation/r1", path=tmp_path / "identity")
    signer = pki.root
    if getattr(request, "param", "") == "intermediate":
        signer = create_intermediate(pki.root, pki.clock.now())
    write_authority(tmp_path / "ca", signer)
    flags = [
        f"state_dir={tmp_path / 'state'}",
        f"identity_dir={tmp_path / 'identity'}",
        "listen=127.0.0.1:0",
        "timing.beat=300ms",
        "timing.lease=3s",
        "timing.unknown_after=600ms",
        f"enrollment.ca_dir={tmp_path / 'ca'}",
        "enrollment.listen=127.0.0.1:0",
    ]
    etcd = ExitStack()
    if getattr(request, "param", "") == "etcd":
        if etcd_binary() is None:
            pytest.skip("etcd is not installed")
        servers = etcd.enter_context(running_etcd(tmp_path / "etcd"))
        flags += [f'etcd.endpoints=["{servers.endpoints[0]}"]', "etcd.ttl_seconds=2"]
    replica = Application(load(Config, flags=flags, environment={}))
    background = Background()
    place = Place(tmp_path, pki, background, replica)
    try:
        background.run(replica.start())
        write_contexts(tmp_path / "admin.toml", pki, replica.address)
        yield place
    finally:
        for agent in place.agents:
            keepers = keeper_pids(agent.folders.state)
            background.run(agent.stop())
            for pid in keepers:
                os.kill(pid, signal.SIGTERM)
        for region in place.regions:
            background.run(region.stop())
        background.run(replica.stop())
        background.close()
        for folder in place.folders:
            shutil.rmtree(folder, ignore_errors=True)
        etcd.close()
