"""Processes and people that should not be let in, and states that should not be touched."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from edge_agent.app import Application as Agent
from edge_agent.config import Config as AgentConfig
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.cli.dev.cluster import keeper_pids
from intertie.cli.dev.layout import PROJECT, REGION, TRUST_DOMAIN
from intertie.clock import SystemClock
from intertie.config import load
from intertie.errors import IntertieError, Reason
from intertie.model.states import Reachability, TaskState
from intertie.pki.authority import create_root, new_key
from intertie.pki.ca_files import load_authority
from intertie.pki.issue import issue
from intertie.pki.load import write_identity
from intertie.pki.spiffe import federation_dns_name, parse
from intertie.sdk.connection import Connection, Endpoint, Patience
from intertie.sdk.pool import PoolClient
from intertie.store.open import open_store
from intertie.testing.waiting import eventually

MODULES = {"federation": "federation", "region": "regional"}
IMPATIENT = Patience(call_s=10.0, retry_s=1.0)


def run(cluster: Any, name: str, *changes: str) -> "subprocess.CompletedProcess[str]":
    """A second process of a kind, with other settings; it is expected to end by itself."""
    module = MODULES.get(name, "edge_agent")
    argv = [sys.executable, "-m", module, "--config", str(cluster.layout.config(name))]
    for change in ("metrics_port=0", *changes):
        argv += ["--set", change]
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)


def made_by_a_newer_version(directory: Path) -> None:
    store = open_store(f"sqlite:///{directory / 'store.sqlite'}")
    asyncio.run(store.close())
    with contextlib.closing(sqlite3.connect(directory / "store.sqlite")) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
        connection.commit()


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_state_directory_of_a_newer_version_is_left_alone(
    cluster: Any, tmp_path: Path, name: str
) -> None:
    made_by_a_newer_version(tmp_path)
    before = (tmp_path / "store.sqlite").read_bytes()
    ended = run(cluster, name, f"state_dir={tmp_path}", "listen=127.0.0.1:0")
    assert ended.returncode != 0
    assert "schema version 99" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert (tmp_path / "store.sqlite").read_bytes() == before


def test_an_agents_journal_of_a_newer_version_is_left_alone(cluster: Any, short: Path) -> None:
    (short / "link").mkdir()
    header = b'{"v":99}'
    line = b"%08x %s\n" % (zlib.crc32(header), header)
    (short / "link" / "journal").write_bytes(line)
    ended = run(cluster, "agent-1", f"state_dir={short}")
    assert ended.returncode != 0
    assert "has version 99" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert (short / "link" / "journal").read_bytes() == line
    assert not keeper_pids(short)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_port_in_use_is_told(cluster: Any, tmp_path: Path, name: str) -> None:
    port = getattr(cluster.description, name).grpc
    ended = run(cluster, name, f"state_dir={tmp_path}", f"listen=127.0.0.1:{port}")
    assert ended.returncode != 0
    assert str(port) in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_state_directory_has_one_process(cluster: Any, name: str) -> None:
    ended = run(cluster, name, "listen=127.0.0.1:0")
    assert ended.returncode != 0
    assert f"is used by process {cluster.pid(name)}" in ended.stdout + ended.stderr


def refusals(cluster: Any, reason: str) -> float:
    """How often the region refused a call or raised an alarm for a reason."""
    port = cluster.description.region.telemetry
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if f'"{reason}"' in line)


async def _refused_since(cluster: Any, reason: str, before: float) -> bool:
    return await asyncio.to_thread(refusals, cluster, reason) > before


async def nodes(cluster: Any) -> dict[str, Any]:
    async with PoolClient.from_context("dev", config=cluster.layout.context_file) as pool:
        return {node.id: node async for node in pool.list_nodes()}


@pytest.fixture
def short() -> Iterator[Path]:
    """A short path: a Unix socket lies below an agent's state."""
    with tempfile.TemporaryDirectory(prefix="it-", ignore_cleanup_errors=True) as path:
        Path(path).chmod(0o711)  # users of tasks must pass
        yield Path(path)


async def test_of_two_agents_with_one_node_id_the_first_stays(
    person: Any, cluster: Any, short: Path
) -> None:
    task = await person.submit("sleep 1000")
    taken = await person.running(task)
    before = (await nodes(cluster))[taken.node]
    config = str(cluster.layout.config(taken.node))
    second = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "edge_agent", "--config", config, "--set", "metrics_port=0"],
        *["--set", f"state_dir={short / 'second'}"],
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await eventually(
            partial(_refused_since, cluster, "node_session_taken", 0), 20, 0.1, what="an alarm"
        )
    finally:
        with contextlib.suppress(ProcessLookupError):
            second.kill()
        await second.wait()
        for pid in keeper_pids(short / "second"):
            os.kill(pid, signal.SIGKILL)
    after = (await nodes(cluster))[taken.node]
    assert after.incarnation == before.incarnation
    assert after.reachability is Reachability.REACHABLE
    assert (await person.running(task)).token == taken.token


async def test_of_two_schedulers_of_one_region_the_first_stays(
    person: Any, cluster: Any, tmp_path: Path
) -> None:
    task = await person.submit("sleep 1000")
    before = await person.running(task)
    ended = await asyncio.to_thread(
        run, cluster, "region", f"state_dir={tmp_path}", "listen=127.0.0.1:0"
    )
    assert ended.returncode != 0
    assert "session" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert (await person.running(task)).token == before.token
    region = await person.client.get_region(REGION)
    assert region.reachability is Reachability.REACHABLE
    done = await person.ended(await person.submit("true"))
    assert done.state is TaskState.SUCCEEDED


# --- certificates --------------------------------------------------------------------------------


def identity(cluster: Any, path: Path, spiffe_id: str, *, foreign: bool = False) -> Path:
    """An identity of our federation, or of another one that has the same name."""
    clock = SystemClock()
    if foreign:
        authority = create_root(TRUST_DOMAIN, clock.now())
    elif f"//{REGION}." in spiffe_id:
        authority = load_authority(cluster.layout.regional_ca(REGION), TRUST_DOMAIN, REGION)
    else:
        authority = load_authority(cluster.layout.ca, TRUST_DOMAIN)
    key = new_key()
    issued = issue(authority, parse(spiffe_id, TRUST_DOMAIN), key.public_key(), clock.now())
    write_identity(path, key, issued)
    return path


def connect(cluster: Any, folder: Path, offset_ms: int = 0) -> Connection:
    endpoint = Endpoint(
        target=f"127.0.0.1:{cluster.description.federation.grpc}",
        server_name=federation_dns_name(TRUST_DOMAIN),
        identity=folder,
        trust_domain=TRUST_DOMAIN,
    )
    return Connection(endpoint, clock=SystemClock(offset_ms), patience=IMPATIENT)


async def refusal(connection: Connection, name: str) -> Reason:
    """Why this person may not see a task."""
    with pytest.raises(IntertieError) as refused:
        await connection.unary(TaskServiceStub, "GetTask", pb.GetTaskRequest(name=name))
    await connection.close()
    return refused.value.reason


async def test_strangers_see_nothing_of_a_task(person: Any, cluster: Any, tmp_path: Path) -> None:
    name = str((await person.ended(await person.submit("true"))).name)
    regional = f"spiffe://{REGION}.{TRUST_DOMAIN}"
    for at, (who, foreign, wanted) in enumerate(
        [
            (f"spiffe://{TRUST_DOMAIN}/project/other/eve", False, Reason.PERMISSION_DENIED),
            (f"{regional}/node/agent-1", False, Reason.PERMISSION_DENIED),
            (f"spiffe://{TRUST_DOMAIN}/billing/dev", False, Reason.PERMISSION_DENIED),
            (f"spiffe://{TRUST_DOMAIN}/project/{PROJECT}/user", True, Reason.UNREACHABLE),
        ]
    ):
        folder = identity(cluster, tmp_path / str(at), who, foreign=foreign)
        assert await refusal(connect(cluster, folder), name) is wanted, who


# --- clocks --------------------------------------------------------------------------------------

MINUTE_MS = 60_000


@pytest.fixture
async def agent(cluster: Any, short: Path) -> AsyncIterator[Any]:
    """Makes agents of a third node whose clock is off by some minutes."""
    made: list[Agent] = []
    folder = short / "identity"
    identity(cluster, folder, f"spiffe://{REGION}.{TRUST_DOMAIN}/node/agent-3")

    async def make(minutes: int) -> Agent:
        changes = ["node=agent-3", f"identity_dir={folder}", f"state_dir={short / 'state'}"]
        config = load(
            AgentConfig,
            file=cluster.layout.config("agent-1"),
            flags=[*changes, "metrics_port=0", "uid_base=290000"],
        )
        agent = Agent(config.as_settings(), clock=SystemClock(minutes * MINUTE_MS))
        made.append(agent)
        await agent.start()
        return agent

    yield make
    for agent in made:
        await agent.stop()
    for pid in keeper_pids(short / "state"):
        os.kill(pid, signal.SIGTERM)
    await eventually(lambda: not keeper_pids(short / "state"), 10, what="no keeper")


@pytest.mark.parametrize("minutes", [9, -9])
async def test_a_clock_nine_minutes_off_is_borne(cluster: Any, agent: Any, minutes: int) -> None:
    attached = await agent(minutes)
    await asyncio.wait_for(attached.link.is_up.wait(), 10)
    assert (await nodes(cluster))["agent-3"].reachability is Reachability.REACHABLE


async def test_a_node_eleven_minutes_off_is_refused_by_name(cluster: Any, agent: Any) -> None:
    before = refusals(cluster, "CLOCK_SKEW")
    refused = await agent(11)
    await eventually(
        partial(_refused_since, cluster, "CLOCK_SKEW", before), 10, 0.1, what="a refusal"
    )
    assert not refused.link.is_up.is_set()


@pytest.mark.parametrize(
    ("minutes", "wanted"),
    [(9, Reason.NOT_FOUND), (11, Reason.CLOCK_SKEW), (-11, Reason.CLOCK_SKEW)],
)
async def test_a_persons_clock_is_judged_by_ten_minutes(
    person: Any, cluster: Any, minutes: int, wanted: Reason
) -> None:
    missing = f"projects/{PROJECT}/tasks/00-01a22e8e-0230-759c-9d3b-b56ea8ead435"
    connection = connect(cluster, cluster.layout.identity("user"), minutes * MINUTE_MS)
    assert await refusal(connection, missing) is wanted
