"""A whole federation of real processes for tests, and a person who uses it.

One federation serves all tests of a pytest process, since a start takes seconds: each test finds
everything running, and what it broke is mended after it. Processes are known by pid, and all are
stopped at the end, also when a test failed.
"""

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from intertie.cli.dev import configs
from intertie.cli.dev.cluster import Cluster, keeper_pids
from intertie.clock import SystemIds
from intertie.errors import IntertieError, Reason
from intertie.model.spec import OutputSpec, Resources, RunSpec, TaskSpec, Tolerance
from intertie.model.states import OnDisconnect, Reachability, RunState, TaskState
from intertie.model.task import Run, Task
from intertie.sdk.client import Client
from intertie.sdk.pool import PoolClient
from intertie.testing.waiting import eventually, eventually_sync

SMALL = Resources(cpu=200, memory=64 << 20, disk=64 << 20)
WITHIN_S = 20.0
LARGE = replace(SMALL, cpu=2_000, memory=1 << 30)
"""All processors of a node."""
FIRST_UID = 200_000
"""Far above the ranges of other tests: two agents of one machine must not share users."""

TIMING: Mapping[str, Mapping[str, configs.Table]] = {
    "federation": {"timing": {"beat": "1s", "lease": "8s", "unknown_after": "2s"}},
    "region": {"timing": {"agent_lease": "6s", "unknown_after": "2s"}, "log": {"heartbeat": "1s"}},
}
"""Leases as short as their cross-checks allow."""


class RealCluster(Cluster):
    """A development federation whose settings tests may change, and whose processes may freeze."""

    def __init__(self, root: Path, agents: int = 2) -> None:
        super().__init__(root)
        self.agents = agents
        self.changes: dict[str, dict[str, configs.Table]] = {
            name: dict(tables) for name, tables in TIMING.items()
        }

    def change(self, name: str, table: str, **values: configs.Value) -> None:
        """Set values of the next start of a process."""
        tables = self.changes.setdefault(name, {})
        tables[table] = {**tables.get(table, {}), **values}

    def heal(self) -> None:
        """Let everything run that should run."""
        for process in self.processes.alive().values():
            os.kill(process.pid, signal.SIGCONT)
        self.up(self.agents)

    def pid(self, name: str) -> int:
        return self.processes.all()[name].pid

    def freeze(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGCONT)

    def crash(self, name: str) -> None:
        """Kill one process only: an agent's link, but not its keeper."""
        self.processes.stop(name, kill=True)

    def crash_keeper(self, name: str) -> None:
        """Kill an agent's keeper, but not its link."""
        for pid in self.keepers(name):
            os.kill(pid, signal.SIGKILL)

    def keepers(self, name: str) -> list[int]:
        return keeper_pids(self.layout.process(name))

    def end(self) -> None:
        """Stop every process, keepers too, and delete all files."""
        try:
            if self.layout.description_file.exists():
                self._stop_all()
        finally:
            for process in self.processes.alive().values():
                os.kill(process.pid, signal.SIGKILL)
            shutil.rmtree(self.layout.root, ignore_errors=True)

    def _stop_all(self) -> None:
        for process in self.processes.alive().values():
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, signal.SIGTERM)  # all at once: each takes its time to end
        names = self.description.agents
        for name in names:
            self.processes.stop(name)
            for pid in self.keepers(name):
                os.kill(pid, signal.SIGTERM)
        self.down()
        eventually_sync(lambda: not any(map(self.keepers, names)), 10, what="no keeper")

    def _config(self, name: str) -> dict[str, configs.Table]:
        tables = dict(super()._config(name))
        if name in self.description.agents:
            number = list(self.description.agents).index(name)
            first = FIRST_UID + number * configs.UIDS_PER_AGENT
            tables[""] = {**tables[""], "uid_base": first, "task_path": ""}
        for table, values in self.changes.get(name, {}).items():
            tables[table] = {**tables.get(table, {}), **values}
        return tables


def processes_of(task: Task) -> set[int]:
    """The live processes of a task, by the name in their environment."""
    mark = f"INTERTIE_TASK={task.name}\0".encode()
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes():
                found.add(int(path.parent.name))
    return found


@dataclass
class Person:
    """A user of the project: submits shell tasks and waits for what they do."""

    client: Client
    names: list[str] = field(default_factory=list)

    async def submit(self, script: str, *argv: str, **fields: Any) -> Task:
        """A shell task; `fields` as of `spec`."""
        return await self.create(self.spec(script, *argv, **fields))

    async def create(self, spec: TaskSpec, **options: Any) -> Task:
        task = await self.client.create_task(spec, **options)
        self.names.append(str(task.name))
        return task

    def spec(
        self,
        script: str,
        *argv: str,
        command: Sequence[str] = (),
        large: bool = False,
        move: bool = False,
        attempts: int = 3,
        outputs: Sequence[str] = (),
        timeout: int = 0,
        env: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> TaskSpec:
        words = tuple(command) or ("/bin/sh", "-c", script, "sh", *argv)
        return TaskSpec(
            run=RunSpec(command=words, timeout=timeout, env=env or {}),
            resources=LARGE if large else SMALL,
            outputs=tuple(OutputSpec(path=path) for path in outputs),
            tolerance=Tolerance(
                on_disconnect=OnDisconnect.MOVE if move else OnDisconnect.STAY,
                move_after=1_000 if move else 600_000,
                max_attempts=attempts,
            ),
            **fields,
        )

    async def until(
        self, task: Task, holds: Callable[[Task], bool], what: str, within_s: float = WITHIN_S
    ) -> Task:
        """The task once something holds of it."""
        seen: list[Task] = [task]

        async def ask() -> bool:
            seen[0] = await self.client.get_task(str(task.name))
            assert holds(seen[0]), _shown(seen[0])
            return True

        await eventually(ask, within_s, 0.1, what=what)
        return seen[0]

    async def running(self, task: Task, within_s: float = WITHIN_S) -> Run:
        """Its run once its process runs."""
        found = await self.until(task, is_running, "a running process", within_s)
        assert found.run is not None
        return found.run

    async def ended(self, task: Task, within_s: float = WITHIN_S) -> Task:
        return await self.client.wait(str(task.name), timeout_s=within_s)

    async def all_ended(self, tasks: Sequence[Task], within_s: float) -> list[Task]:
        """All of them once they are final; else what hinders those that are not."""
        with contextlib.suppress(IntertieError):
            await self.client.wait_all([str(t.name) for t in tasks], timeout_s=within_s)
        found = [await self.client.get_task(str(task.name)) for task in tasks]
        assert all(t.is_final for t in found), [_shown(t) for t in found if not t.is_final]
        return found

    def processes(self, task: Task) -> set[int]:
        """Its live processes on this machine."""
        return processes_of(task)

    async def printed(self, task: Task, stream: str = "stdout", **options: Any) -> bytes:
        chunks = self.client.logs(str(task.name), stream=stream, **options)
        return b"".join([chunk async for chunk in chunks])

    async def until_printed(self, task: Task, text: bytes, within_s: float = WITHIN_S) -> bytes:
        seen = [b""]

        async def ask() -> bool:
            try:
                seen[0] = await self.printed(task)
            except IntertieError as problem:
                if problem.reason is not Reason.NOT_FOUND:
                    raise
                return False  # no run yet
            assert text in seen[0], seen[0][-200:]
            return True

        await eventually(ask, within_s, 0.1, what=f"{text!r} in its log")
        return seen[0]

    async def clear(self) -> None:
        """Cancel what a test left."""
        for name in self.names:
            task = await self.client.get_task(name)
            if not task.is_final and task.state is not TaskState.CANCELLING:
                await self.client.cancel_task(name, "the test is over")
        await self.client.wait_all(self.names, timeout_s=30)


def is_running(task: Task) -> bool:
    run = task.run
    return task.state is TaskState.RUNNING and run is not None and run.state is RunState.RUNNING


def _shown(task: Task) -> object:
    run = task.run
    return (task.id, task.state, task.wait, task.message, run)


def make_cluster(agents: int = 2) -> RealCluster:
    """A federation below a short path that the users of tasks may enter."""
    root = Path(tempfile.mkdtemp(prefix="it-"))
    root.chmod(0o711)
    return RealCluster(root, agents)


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[RealCluster]:
    cluster = make_cluster()
    try:
        cluster.up(cluster.agents)
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def cluster(shared_cluster: RealCluster) -> Iterator[RealCluster]:
    """The federation, all of it running."""
    shared_cluster.heal()
    yield shared_cluster
    shared_cluster.heal()


@pytest.fixture
async def person(cluster: RealCluster) -> AsyncIterator[Person]:
    async with _person(cluster) as person:
        yield person


@contextlib.asynccontextmanager
async def _person(cluster: RealCluster) -> AsyncIterator[Person]:
    async with Client.from_context("dev", config=cluster.layout.context_file) as client:
        await _until_attached(cluster)
        person = Person(client)
        yield person
        await person.clear()


async def _until_attached(cluster: RealCluster) -> None:
    """Until the region has all its nodes, and the federation the region."""
    async with PoolClient.from_context("dev", config=cluster.layout.context_file) as pool:

        async def ask() -> bool:
            nodes = [node async for node in pool.list_nodes()]
            reached = {n.id for n in nodes if n.reachability is Reachability.REACHABLE}
            assert reached >= set(cluster.description.agents), reached
            return True

        await eventually(ask, WITHIN_S, 0.1, what="all nodes attached")


@pytest.fixture(scope="session")
def new_cluster() -> Iterator[Callable[[], RealCluster]]:
    """Makes federations of a test's own, not started yet."""
    made: list[RealCluster] = []

    def make() -> RealCluster:
        made.append(make_cluster(agents=1))
        return made[-1]

    yield make
    for cluster in made:
        cluster.end()


@pytest.fixture
def person_of() -> Callable[[RealCluster], Any]:
    """The user of another federation than the shared one."""
    return _person


@pytest.fixture(scope="session")
def ids() -> SystemIds:
    return SystemIds()


@pytest.fixture
def lives(cluster: RealCluster) -> Path:
    """A witness file that every task may append to."""
    path = cluster.layout.root / "lives"
    path.write_bytes(b"")
    path.chmod(0o666)
    return path
