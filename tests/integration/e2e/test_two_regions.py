"""Two regions under two laws, as real processes: where tasks run, and where they may not move."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from intertie.cli.dev.cluster import Cluster
from intertie.cli.dev.plan import read_plan
from intertie.model.spec import Residency, Resources, RunSpec, TaskSpec
from intertie.model.states import TaskState, WaitReason
from intertie.model.task import Task
from intertie.sdk.client import Client
from intertie.testing.waiting import eventually

WITHIN_S = 40.0
SMALL = Resources(cpu=200, memory=64 << 20, disk=64 << 20)
PLAN = """
federation = "eu-west"

[[region]]
id = "eu-west"
jurisdiction = "DE/DE-HE"
place = "Frankfurt am Main"
coordinates = [50.11, 8.68]
agents = 1

[[region]]
id = "cn-south"
jurisdiction = "CN/CN-GZ"
place = "Gui'an New Area"
coordinates = [26.41, 106.46]
agents = 1
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two regions with an agent each; below a short path, for sockets."""
    root = Path(tempfile.mkdtemp(prefix="it2-", dir="/tmp"))
    file = root / "regions.toml"
    file.write_text(PLAN)
    cluster = Cluster(root / "dev")
    try:
        cluster.up(plan=read_plan(file))
        yield cluster
    finally:
        cluster.down()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A person of the project, by the context that dev writes."""
    async with Client.from_context("dev", config=cluster.layout.context_file) as client:
        yield client


def within(*areas: str, seconds: str = "0") -> TaskSpec:
    return TaskSpec(
        run=RunSpec(command=("sleep", seconds)),
        resources=SMALL,
        residency=Residency(within=areas),
    )


async def waits_for_law(client: Client, name: str) -> Task | None:
    task = await client.get_task(name)
    is_so = task.wait is not None and task.wait.reason is WaitReason.RESIDENCY
    return task if is_so else None


@pytest.mark.parametrize(("area", "region"), [("DE", "eu-west"), ("CN/CN-GZ", "cn-south")])
async def test_a_task_runs_in_the_region_whose_law_it_is_bound_to(
    client: Client, area: str, region: str
) -> None:
    task = await client.create_task(within(area))
    ended = await client.wait(str(task.name), timeout_s=WITHIN_S)
    assert (ended.state, ended.region) == (TaskState.SUCCEEDED, region)


async def test_a_task_that_no_region_may_run_waits_and_says_which_law_keeps_it(
    client: Client,
) -> None:
    task = await client.create_task(within("FR"))
    waiting = await eventually(lambda: waits_for_law(client, str(task.name)), WITHIN_S)
    assert waiting is not None
    assert waiting.wait is not None
    assert "FR" in waiting.wait.detail
    await client.cancel_task(str(task.name))


async def test_what_is_bound_to_a_region_that_is_gone_waits_for_it_and_goes_nowhere_else(
    cluster: Cluster, client: Client
) -> None:
    cluster.processes.stop("cn-south", kill=True)
    task = await client.create_task(within("CN"))
    try:
        waiting = await eventually(lambda: stands(client, str(task.name)), WITHIN_S)
        assert waiting is not None
    finally:
        cluster.up()
    ended = await client.wait(str(task.name), timeout_s=WITHIN_S)
    assert (ended.state, ended.region) == (TaskState.SUCCEEDED, "cn-south")
    assert {run.region for run in ended.runs} == {"cn-south"}


async def stands(client: Client, name: str) -> Task | None:
    task = await client.get_task(name)
    return task if task.state is TaskState.PENDING and task.wait is not None else None
