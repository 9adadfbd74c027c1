"""A real agent under a real regional scheduler, with the region's own tasks."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.api.regional.v1.pool_service_pb2_grpc import PoolServiceStub
from intertie.cli.app import app
from intertie.clock import SystemClock, SystemIds
from intertie.config import load
from intertie.errors import Exit, Reason
from intertie.model.link import Bytes, ReadBytes
from intertie.model.spec import OutputSpec, Resources, RunSpec, TaskSpec
from intertie.sdk.contexts import Context, Contexts, RegionAccess
from intertie.store.blobs import BlobStore
from intertie.telemetry.registry import Metrics
from intertie.testing.waiting import eventually
from intertie.transport.channels import Channels
from intertie.wire.tasks import spec_to_pb
from regional.adapters.egress import Egress
from regional.adapters.log.store import LogStore
from regional.adapters.reading import RunReader
from regional.app import Application as Region
from regional.config import Config as RegionConfig

WITHIN_S = 30.0
SMALL = Resources(cpu=100, memory=64 << 20, disk=32 << 20)


class Pool:
    """A region that works for itself only, and its operator."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.port = 0
        self.region: Region | None = None
        self.identity = site.pki.directory("eu:scheduler")
        self.channels = Channels(site.pki.identity("eu:operator/o1"), SystemClock(), Metrics())

    async def up(self) -> None:
        settings = {
            "region": "eu",
            "jurisdiction": "DE/DE-HE/fra1",
            "trust_domain": self.site.pki.trust_domain,
            "state_dir": str(self.site.root / "region"),
            "identity_dir": str(self.identity),
            "listen": f"127.0.0.1:{self.port}",
            "timing.agent_lease": "6s",
            "timing.beat": "500ms",
            "timing.kill": "2s",
            "timing.notice": "500ms",
            "timing.unknown_after": "2s",
        }
        flags = [f"{key}={value}" for key, value in settings.items()]
        self.region = Region(load(RegionConfig, flags=flags, environment={}))
        await self.region.start()
        self.port = self.region.port

    async def down(self) -> None:
        if self.region is not None:
            await self.region.stop()
            self.region = None

    @property
    def stub(self) -> Any:
        name = self.site.pki.spiffe_id("eu:scheduler").dns_name
        return self.channels.stub(f"127.0.0.1:{self.port}", name, PoolServiceStub)

    async def cli(self, *arguments: str) -> Any:
        """The command line as the region's operator; a thread, for it has a loop of its own."""
        operator = str(self.site.pki.directory("eu:operator/o1", path=self.site.root / "operator"))
        access = RegionAccess(id="eu", endpoint=f"127.0.0.1:{self.port}", identity=operator)
        context = Context(
            name="test",
            endpoint="127.0.0.1:1",
            identity=operator,
            trust_domain=self.site.pki.trust_domain,
            region=access,
        )
        config = self.site.root / "config.toml"
        Contexts(config, "test", {"test": context}).save()
        environment = {"INTERTIE_CONFIG": str(config)}
        command = [*arguments, "-o", "json"]
        return await asyncio.to_thread(CliRunner().invoke, app, command, env=environment)

    async def ok(self, *arguments: str) -> Any:
        """What a command that must succeed prints."""
        done = await self.cli(*arguments)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    async def submit(self, script: str, outputs: tuple[str, ...] = ()) -> str:
        spec = TaskSpec(
            run=RunSpec(command=(script,), shell=True),
            resources=SMALL,
            outputs=tuple(OutputSpec(path=path) for path in outputs),
        )
        request = pb.CreateNativeTaskRequest(spec=spec_to_pb(spec), request_id=SystemIds().uuid7())
        return str((await self.stub.CreateNativeTask(request)).task)

    async def read(self, task: str, offset: int) -> Bytes:
        """A chunk of stdout, as the federation asks for it."""
        assert self.region is not None
        assert self.region._store is not None
        blobs = BlobStore(str(self.site.root / "region" / "blobs"))
        question = ReadBytes(
            id=0,
            task=task,
            run=1,
            rank=0,
            stream="stdout",
            path="",
            offset=offset,
            limit=65_536,
            wait_ms=0,
        )
        assert self.region._pump is not None
        egress = Egress(self.region._pump, "DE", self.region._clock)
        reader = RunReader(self.region._store, blobs, self.region.nodes.read, egress)
        answer = await reader.read(question)
        assert isinstance(answer, Bytes)
        return answer

    async def run(self, task: str) -> Any:
        page = await self.stub.ListRuns(pb.ListRunsRequest(page_size=100))
        return next((run for run in page.runs if run.task == task), None)

    async def state(self, task: str, state: str) -> Any:
        async def reached() -> Any:
            run = await self.run(task)
            name = run and type(run).DESCRIPTOR.fields_by_name["state"].enum_type
            return run if run and name.values_by_number[run.state].name.endswith(state) else None

        return await eventually(reached, WITHIN_S, 0.05, what=f"{task} is {state}")

    async def records(self, task: str, kind: str) -> list[dict[str, Any]]:
        """Leaves of the region's own metering log."""
        assert self.region is not None
        assert self.region._store is not None
        log = LogStore(self.region._store, dict, "", "eu")
        state = await log.load()
        found = []
        async for batch in log.leaves(0, state.size):
            found += [json.loads(leaf) for leaf in batch]
        id_ = task.rpartition("/")[2]
        return [leaf for leaf in found if leaf["kind"] == kind and leaf.get("task") == id_]

    async def ended(self, task: str) -> dict[str, Any]:
        """The record of a run's end, once it is in the log."""

        async def recorded() -> dict[str, Any] | None:
            ends = await self.records(task, "run_end")
            return ends[0] if ends else None

        await self.state(task, "ENDED")
        end = await eventually(recorded, WITHIN_S, 0.1, what=f"the end of {task} is recorded")
        assert end is not None
        return dict(end)

    async def held_ms(self, task: str) -> int:
        """Held time of all usage records of a run."""
        usage = await self.records(task, "usage")
        return sum(leaf["boot_ms"] for leaf in usage if leaf["meter"] == "mem.held_mib_ms")


@pytest.fixture
async def pool(site: Any) -> AsyncIterator[Pool]:
    pool = Pool(site)
    await pool.up()
    yield pool
    await pool.channels.close()
    await pool.down()


@pytest.fixture
async def node(site: Any, pool: Pool) -> Any:
    """A node that is attached to the region, and has beaten once."""
    agent = site.agent(scheduler=f"127.0.0.1:{pool.port}")
    await agent.up()
    await agent.live.link.is_up.wait()
    return agent


async def test_a_task_runs_and_its_usage_is_complete_in_the_log(pool: Pool, node: Any) -> None:
    task = await pool.submit('sleep 0.3; echo 42 > "$INTERTIE_OUTPUT_DIR/answer"', ("answer",))
    end = await pool.ended(task)
    assert (end["outcome"], end["complete"]) == ("SUCCEEDED", True)
    assert await pool.held_ms(task) == end["boot_ms"] >= 300
    (output,) = (await pool.run(task)).outputs
    assert pool.region is not None
    assert output.path == "answer"


async def test_a_bounded_log_is_read_by_offset_and_from_its_end_live_and_after(
    site: Any, pool: Pool
) -> None:
    agent = site.agent(scheduler=f"127.0.0.1:{pool.port}", task__log_bytes="64 KiB")
    await agent.up()
    lines = 40_000
    wait = "until [ -e go ]; do sleep 0.05; done"
    task = await pool.submit(f"seq -w {lines}; {wait}")
    whole = b"".join(b"%05d\n" % (n + 1) for n in range(lines))
    await pool.state(task, "RUNNING")

    async def printed() -> bool:
        return (await pool.read(task, -6)).data == b"40000\n"

    await eventually(printed, WITHIN_S, what="the last line")
    for state in ("live", "ended"):
        first, last = await pool.read(task, 0), await pool.read(task, -600)
        assert (first.offset, first.data) == (0, whole[: len(first.data)]), state
        assert (last.offset, last.data) == (len(whole) - 600, whole[-600:]), state
        after = await pool.read(task, first.next_offset)
        assert after.offset > first.next_offset, "the middle was dropped"
        assert after.data == whole[after.offset :][: len(after.data)], state
        assert last.final is (state == "ended")
        if state == "live":
            (next(agent.state.rglob("work")) / "go").touch()
            await pool.state(task, "ENDED")


async def test_a_restarted_region_finds_its_runs_and_loses_nothing(pool: Pool, node: Any) -> None:
    long = await pool.submit("sleep 4; exit 3")
    short = await pool.submit("sleep 1")
    await pool.state(long, "RUNNING")
    await pool.down()
    await eventually(lambda: not node.live.link.is_up.is_set(), 10)
    await pool.up()
    for task, code in ((short, 0), (long, 3)):
        end = await pool.ended(task)
        assert end["complete"]
        assert await pool.held_ms(task) == end["boot_ms"] >= 1_000
        assert (await pool.run(task)).exit_code == code


async def test_a_node_that_kills_slower_than_its_region_counts_on_does_not_attach(
    site: Any, pool: Pool
) -> None:
    slow = site.agent("n2", scheduler=f"127.0.0.1:{pool.port}", timing__kill="3s")
    await slow.up()
    link = slow.live.link
    await eventually(lambda: link.fault, WITHIN_S, what="the refusal")
    assert (link.fault.reason, link.is_up.is_set()) == (Reason.CONFIG_INVALID, False)
    assert "timing.kill" in link.fault.message


async def test_an_evicted_task_is_stopped_and_says_so(pool: Pool, node: Any) -> None:
    task = await pool.submit("sleep 100")
    await pool.state(task, "RUNNING")
    request = pb.EvictRunRequest(task=task, reason="space", request_id=SystemIds().uuid7())
    await pool.stub.EvictRun(request)
    end = await pool.ended(task)
    assert (end["outcome"], end["complete"]) == ("EVICTED", True)


async def test_many_short_tasks_are_all_accounted_for(pool: Pool, node: Any) -> None:
    tasks = [await pool.submit("true") for _ in range(60)]
    for task in tasks:
        end = await pool.ended(task)
        assert (end["outcome"], end["complete"]) == ("SUCCEEDED", True)


async def test_the_loss_of_the_keeper_places_a_run_anew(pool: Pool, node: Any) -> None:
    task = await pool.submit("sleep 2")
    await pool.state(task, "RUNNING")
    os.kill(node.keeper(), signal.SIGKILL)
    end = await pool.ended(task)
    assert end["complete"]
    assert end["outcome"] in ("SUCCEEDED", "LOST")


# --- the operator's command line ------------------------------------------------------------------


NATIVE_RESOURCES = "resources: {cpu: 0.1, memory: 64MiB, disk: 32MiB}"
NATIVE = """
name: native
run:
  command: [sh, main.sh]
  workdir: code
resources: {cpu: 0.1, memory: 64MiB, disk: 32MiB}
outputs: [{path: answer}]
"""


async def test_an_operator_submits_a_native_task_with_its_folder(
    pool: Pool, node: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "main.sh").write_text(". ./words; printf %s $ANSWER > $INTERTIE_OUTPUT_DIR/answer")
    (folder / "words").write_text("ANSWER=42")
    file = tmp_path / "task.yaml"
    file.write_text(NATIVE)
    made = await pool.ok("pool", "submit-native", str(file))
    end = await pool.ended(made["task"])
    assert end["outcome"] == "SUCCEEDED", await pool.run(made["task"])
    (output,) = (await pool.run(made["task"])).outputs
    blobs = BlobStore(str(pool.site.root / "region" / "blobs"))
    read = blobs.read(output.sha256, 0, 10)
    assert b"".join([part async for part in read]) == b"42"


@pytest.mark.parametrize(
    ("script", "flags", "code", "outcome"),
    [
        ("sleep 0.2", (), Exit.OK, "SUCCEEDED"),
        ("exit 3", (), Exit.TASK_FAILED, "FAILED"),
        ("exit 3", ("--propagate-exit-code",), 3, "FAILED"),
    ],
)
async def test_an_operator_waits_for_a_native_task(
    pool: Pool,
    node: Any,
    tmp_path: Path,
    script: str,
    flags: tuple[str, ...],
    code: int,
    outcome: str,
) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(f"run: {{command: '{script}', shell: true}}\n{NATIVE_RESOURCES}")
    done = await pool.cli("pool", "submit-native", str(file), "--wait", *flags)
    assert done.exit_code == code, done.output
    printed = json.loads(done.stdout)
    assert printed["outcome"] == f"OUTCOME_{outcome}"
    assert f"submitted {printed['task']}" in done.stderr
    assert f"{printed['task'].rpartition('/')[2]}: {outcome}" in done.stderr


async def test_an_operator_gives_up_waiting_and_the_task_goes_on(
    pool: Pool, node: Any, tmp_path: Path
) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(f"run: {{command: sleep 100, shell: true}}\n{NATIVE_RESOURCES}")
    waiting = ("pool", "submit-native", str(file), "--wait", "--timeout", "1")
    done = await pool.cli(*waiting)
    assert done.exit_code == Exit.UNAVAILABLE, done.output
    assert "has not ended after 1 s" in done.output
    (live,) = (await pool.ok("run", "list", "--live"))["runs"]
    await pool.state(live["task"], "RUNNING")


async def test_an_operator_sees_nodes_and_runs_evicts_and_corrects(pool: Pool, node: Any) -> None:
    task = await pool.submit("sleep 100")
    await pool.state(task, "RUNNING")
    (listed,) = (await pool.ok("node", "list"))["nodes"]
    shown = await pool.ok("node", "show", node.name)
    assert listed["name"] == shown["name"] == f"nodes/{node.name}"
    assert shown["runs"] == 1
    assert (await pool.cli("node", "show", "n9")).exit_code == Exit.NOT_FOUND
    (live,) = (await pool.ok("run", "list", "--live"))["runs"]
    assert (live["task"], live["native"]) == (task, True)
    evicted = await pool.ok("run", "evict", task.rpartition("/")[2], "--reason", "space")
    assert evicted["task"] == task
    assert (await pool.ended(task))["outcome"] == "EVICTED"
    assert (await pool.ok("run", "list", "--live"))["runs"] == []
    assert [run["task"] for run in (await pool.ok("run", "list"))["runs"]] == [task]
    usage = (await pool.records(task, "usage"))[0]
    adjust = ("metering", "adjust", str(usage["seq"]), "--by", "-1", "--reason", "agreed")
    assert (await pool.ok(*adjust))["rid"] == f"{usage['rid']}/adj/1"

    async def corrected() -> Any:
        return await pool.records(task, "adjustment")

    (record,) = await eventually(corrected, WITHIN_S, 0.1, what="the correction in the log")
    assert record["quantity"] == -1
