"""`intertie dev` with one real federation: begun, broken half-way, continued, stopped, begun."""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from intertie.cli.app import app
from intertie.cli.dev import configs
from intertie.cli.dev.cluster import Cluster, keeper_pids
from intertie.cli.dev.layout import describe
from intertie.errors import Exit
from intertie.store.etcd.channels import read_tls
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.port import Write

KEY = "intertie-test/kept"


def dev(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["dev", *arguments])


def up(cluster: Cluster, *more: str) -> Any:
    return dev("up", "--state", str(cluster.layout.root), *more)


def pids(cluster: Cluster) -> dict[str, int]:
    return {name: process.pid for name, process in cluster.processes.alive().items()}


def etcd(cluster: Cluster) -> EtcdClient:
    identity = cluster.layout.identity("etcd-client")
    files = (identity / name for name in ("trust.pem", "cert.pem", "key.pem"))
    return EtcdClient([f"127.0.0.1:{cluster.description.etcd[0]}"], tls=read_tls(*files))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Nothing runs yet. The path is short, for the keeper's socket is below it."""
    root = Path(tempfile.mkdtemp(prefix="it-"))
    root.chmod(0o711)
    cluster = Cluster(root)
    yield cluster
    if cluster.layout.description_file.exists():
        keepers = [pid for name in cluster.names for pid in keeper_pids(root / name)]
        cluster.down()
        for pid in keepers:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(root, ignore_errors=True)


async def test_what_fails_half_way_is_named_and_continued_and_etcd_keeps_its_data(
    cluster: Cluster,
) -> None:
    with socket.socket() as taken:
        cluster.layout.save(describe(1))
        taken.bind(("127.0.0.1", cluster.description.region.grpc))
        taken.listen()
        failed = up(cluster)
    assert failed.exit_code == Exit.UNAVAILABLE, failed.output
    assert failed.stderr.startswith("error: region ended at once")
    assert "PORT_IN_USE" in failed.stderr or "in use" in failed.stderr
    assert "remedy: The others are left" in failed.stderr
    half = pids(cluster)
    assert set(half) == {"etcd", "renewal", "federation"}

    continued = up(cluster)
    assert continued.exit_code == 0, continued.output
    whole = pids(cluster)
    assert half.items() <= whole.items(), "what ran was left alone"
    assert set(whole) == set(cluster.names)
    assert ("Note:" in continued.stdout) == bool(configs.isolation())

    other = up(cluster, "--agents", "3")
    assert other.exit_code == Exit.CONFLICT, other.output
    assert "holds a federation with 1 agents, not 3" in other.stderr
    assert pids(cluster) == whole

    client = etcd(cluster)
    await client.txn((), (Write(KEY, b"kept"),))
    await client.close()
    assert dev("down", "--state", str(cluster.layout.root)).exit_code == 0
    assert pids(cluster) == {}
    assert up(cluster, "--agents", "1").exit_code == 0
    client = etcd(cluster)
    entry = await client.get(KEY)
    await client.close()
    assert entry is not None
    assert entry.value == b"kept"
