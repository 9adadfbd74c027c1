"""The agent as a process: what it refuses to start with, what it shows, what a full disk does."""

import asyncio
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from intertie.errors import IntertieError, Reason
from intertie.model.states import RunState
from intertie.testing.waiting import eventually, let_pass


async def test_a_state_directory_serves_one_agent(site: Any, agent: Any) -> None:
    other = site.agent("n2", state="n1")
    with pytest.raises(IntertieError) as refusal:
        await other.up()
    assert refusal.value.reason is Reason.STATE_DIR_IN_USE


async def test_a_state_directory_of_a_newer_keeper_is_refused(site: Any) -> None:
    agent = site.agent()
    keeper = agent.state / "keeper"
    keeper.mkdir(parents=True)
    (keeper / "schema.json").write_text('{"schema": 99, "keeper": "x"}')
    with pytest.raises(IntertieError) as refusal:
        await agent.up()
    assert refusal.value.reason is Reason.STATE_DIR_NEWER


async def test_a_metrics_port_that_is_taken_is_named(site: Any, agent: Any) -> None:
    other = site.agent("n2", metrics_port=agent.live.metrics_port)
    with pytest.raises(IntertieError, match=str(agent.live.metrics_port)) as refusal:
        await other.up()
    assert refusal.value.reason is Reason.PORT_IN_USE


async def test_metrics_and_health_are_served(site: Any, agent: Any) -> None:
    order = site.order("sleep", "60")
    site.region.send("n1", order)
    await site.region.told(order, RunState.RUNNING)

    def look(path: str) -> str:
        url = f"http://127.0.0.1:{agent.live.metrics_port}/{path}"
        with urllib.request.urlopen(url) as reply:
            return str(reply.read().decode())

    shown = await _off_loop(look, "metrics")
    assert "intertie_agent_runs 1.0" in shown
    assert "intertie_agent_attached 1.0" in shown
    assert await _off_loop(look, "healthz") == "ok\n"
    site.region.stop_run("n1", order, notice_ms=100)
    await site.region.ended(order)


async def test_a_terminated_link_leaves_its_tasks_running(site: Any, alive: Any) -> None:
    agent = site.agent()
    agent.spawn()
    await site.region.attached("n1")
    order = site.order("echo $$; sleep 60", shell=True)
    site.region.send("n1", order)
    pid = int(await site.print_of("n1", order, b"\n"))
    agent.keeper()
    agent.process.send_signal(signal.SIGTERM)
    assert await _off_loop(agent.process.wait, 20) == 0
    agent.process = None
    assert alive(pid)


async def test_the_probes_of_a_node_are_told_in_its_hello(site: Any) -> None:
    agent = site.agent(capacity__cpu="1", capacity__memory="64MiB")
    agent.spawn()
    await site.region.attached("n1")
    capability = site.region.hellos[-1].capability
    assert (capability.cpu, capability.memory) == (1_000, 64 << 20)
    assert capability.architecture == os.uname().machine
    assert capability.isolation == ("user" if os.geteuid() == 0 else "none")


async def test_a_region_of_another_identity_gets_no_link(site: Any) -> None:
    agent = site.agent(region="us")
    await agent.up()
    await eventually(lambda: agent.live.link.fault is not None, 20)
    assert agent.live.link.fault.reason is Reason.UNREACHABLE
    assert not site.region.hellos


async def test_an_agent_with_a_certificate_of_another_region_is_refused(
    site: Any, tmp_path: Path
) -> None:
    stranger = site.pki.directory("us:node/n1")
    agent = site.agent(identity_dir=str(stranger))
    await agent.up()
    await eventually(lambda: agent.live.link.fault is not None, 20)
    assert agent.live.link.fault.reason is Reason.PERMISSION_DENIED


@pytest.fixture
def small_disk(root: Path) -> Any:
    """A file system of 1 MiB where the journal of n1 will be."""
    mounted = root / "n1" / "link"
    mounted.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(mounted)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", "-l", str(mounted)], check=True)


async def test_a_full_disk_accepts_nothing_new_keeps_running_and_recovers(
    small_disk: Path, site: Any, alive: Any
) -> None:
    agent = site.agent()
    await agent.up()
    await site.region.attached("n1")
    before = site.order("echo $$; sleep 3", shell=True)
    site.region.send("n1", before)
    pid = int(await site.print_of("n1", before, b"\n"))
    ballast = small_disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        _fill(ballast)
    during = site.order("/bin/true", env={"LARGE": "x" * 100_000})
    site.region.send("n1", during)
    await let_pass(1.0, "the disk is full")
    assert alive(pid)
    assert not site.region.book(during).updates
    ballast.unlink()
    assert (await site.region.ended(before)).exit_code == 0
    await site.region.attached("n1")
    site.region.send("n1", during)
    assert (await site.region.ended(during)).exit_code == 0


def test_a_wrong_setting_ends_the_process_with_its_exit_code() -> None:
    command = [sys.executable, "-m", "edge_agent", "--set=node=n1", "--set=colour=1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "colour" in done.stderr


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"z" * 4_096)


async def _off_loop(call: Any, *arguments: Any) -> Any:
    return await asyncio.to_thread(call, *arguments)
