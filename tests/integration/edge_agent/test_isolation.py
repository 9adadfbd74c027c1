"""What a task can reach on its node: its own folders, and nothing of other tasks or of agents."""

import os
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper.protocol import OWN_MOUNTS
from intertie.errors import IntertieError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs tasks as other users")

LOOK = """
import os, sys
for path in sys.argv[1:]:
    for look in (os.listdir, lambda p: open(p).read(), lambda p: open(p, "a")):
        try:
            look(path)
        except OSError:
            continue
        print("REACHED", path)
print("looked as", os.getuid())
"""


async def neighbour(site: Any, agent: Any) -> Any:
    """A live task with a file in each of its folders."""
    order = site.order(
        'for d in "$INTERTIE_WORK_DIR" "$INTERTIE_OUTPUT_DIR" "$INTERTIE_SCRATCH";'
        " do echo secret > $d/secret; chmod 666 $d/secret; done; echo ready; sleep 100",
        shell=True,
    )
    site.region.send(agent.name, order)
    await site.print_of(agent.name, order, b"ready")
    return order


async def test_a_task_reaches_neither_other_tasks_nor_any_agents_state(site: Any) -> None:
    agents = [site.agent("n1"), site.agent("n2")]
    for agent in agents:
        await agent.up()
        await site.region.attached(agent.name)
    others = [await neighbour(site, agent) for agent in agents]
    targets: list[Path] = []
    for agent, other in zip(agents, others, strict=True):
        root = agent.folder(other)
        targets += [root, *(root / name for name in ("work", "out", "scratch", "control"))]
        targets += [root / name / "secret" for name in ("work", "out", "scratch")]
        state, identity = agent.state, Path(agent.settings["identity_dir"])
        targets += [state, state / "link", state / "link" / "journal", state / "keeper"]
        targets += [state / "keeper" / "keeper.sock", root / "logs", state / "cache"]
        targets += [
            state / "runs",
            state / "spare",
            identity,
            identity / "key.pem",
            identity / "cert.pem",
        ]
    assert all(path.exists() for path in targets)
    spy = site.python(LOOK.replace("sys.argv[1:]", repr([str(path) for path in targets])))
    site.region.send("n1", spy)
    printed = await site.output(spy)
    first = agents[0].settings["uid_base"]
    assert printed.startswith(b"looked as ")
    assert first <= int(printed.split()[-1]) < first + 1_000
    for agent, other in zip(agents, others, strict=True):
        site.region.stop_run(agent.name, other, notice_ms=100)
        await site.region.ended(other)


async def test_live_tasks_of_a_node_have_users_of_their_own(site: Any, agent: Any) -> None:
    orders = [site.order("id -u; sleep 60", shell=True) for _ in range(3)]
    for order in orders:
        site.region.send("n1", order)
    users = {await site.print_of("n1", order, b"\n") for order in orders}
    assert len(users) == 3
    for order in orders:
        site.region.stop_run("n1", order, notice_ms=100)
        await site.region.ended(order)


async def test_the_shared_memory_of_a_run_is_its_own(site: Any, agent: Any) -> None:
    if OWN_MOUNTS not in agent.live.keeping.hello.features:
        pytest.skip("no right to mount here")
    order = site.order("echo mine > /dev/shm/mine; ls /dev/shm; sleep 60", shell=True)
    site.region.send("n1", order)
    assert await site.print_of("n1", order, b"\n") == b"mine\n"
    assert not Path("/dev/shm/mine").exists()
    site.region.stop_run("n1", order, notice_ms=100)
    await site.region.ended(order)


async def test_a_task_cannot_order_the_keeper_about(site: Any, agent: Any) -> None:
    socket_path = agent.state / "keeper" / "keeper.sock"
    code = (
        "import socket; s = socket.socket(socket.AF_UNIX)\n"
        f"try: s.connect({str(socket_path)!r}); print('CONNECTED')\n"
        "except OSError as fault: print(fault.strerror)\n"
    )
    order = site.python(code)
    site.region.send("n1", order)
    assert b"Permission denied" in await site.output(order)


async def test_a_state_directory_that_tasks_cannot_reach_is_refused(site: Any) -> None:
    closed = site.root / "closed"
    closed.mkdir(mode=0o700)
    agent = site.agent(state="closed/n1")
    with pytest.raises(IntertieError, match=f"chmod o\\+x {closed}"):
        await agent.up()
