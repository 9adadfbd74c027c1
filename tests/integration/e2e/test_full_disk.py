"""A full disk below a store: nothing is acked, what runs goes on, and room is all it needs."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from intertie.errors import IntertieError
from intertie.model.states import Reachability, TaskState
from intertie.sdk.connection import Patience
from intertie.testing.waiting import let_pass

SIZE = 24 << 20
STORES = ("federation", "region")


class Disk:
    """A small file system of memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        """Take all that is left, to the last block."""
        with self._filler.open("ab", buffering=0) as filler:
            block = bytes(4096)
            try:
                while True:
                    filler.write(block)
            except OSError:
                pass

    def free(self) -> None:
        self._filler.unlink()


def is_mounted(path: Path) -> bool:
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(path)]
    return subprocess.run(mounting, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def disks(new_cluster: Callable[[], Any]) -> Iterator[dict[str, Any]]:
    """A federation whose two stores each have a small disk of their own."""
    cluster = new_cluster()
    mounted = []
    try:
        found: dict[str, Any] = {"cluster": cluster}
        for name in STORES:
            path = cluster.layout.root / f"disk-{name}"
            path.mkdir(parents=True)
            if os.geteuid() != 0 or not is_mounted(path):
                pytest.skip("this machine lets us mount no tmpfs")
            mounted.append(path)
            cluster.change(name, "", store=f"sqlite:///{path / 'store.sqlite'}")
            found[name] = Disk(path)
        cluster.up(1)
        yield found
    finally:
        cluster.end()
        for path in mounted:
            subprocess.run(["umount", "--lazy", str(path)], check=True)


async def submit_all(person: Any, count: int) -> list[Any]:
    """Many, since SQLite's log may still have room that it took before."""
    return [await person.submit("true") for _ in range(count)]


async def test_a_full_disk_of_the_federation_stops_acks_and_nothing_else(
    disks: Any, person_of: Any
) -> None:
    async with person_of(disks["cluster"]) as person:
        task = await person.submit("sleep 1000")
        run = await person.running(task)
        disks["federation"].fill()
        patience, person.client.connection.patience = (
            person.client.connection.patience,
            Patience(call_s=5.0, retry_s=2.0),
        )
        with pytest.raises(IntertieError) as refused:
            await submit_all(person, 2_000)
        assert refused.value.entry.code == "UNAVAILABLE"
        acked = len(person.names)
        assert (await person.client.get_task(str(task.name))).run.token == run.token
        assert person.processes(task)
        disks["federation"].free()
        person.client.connection.patience = patience
        done = await person.ended(await person.submit("true"))
        assert done.state is TaskState.SUCCEEDED
        listed = {str(t.name) async for t in person.client.list_tasks()}
        assert set(person.names) <= listed
        assert len(person.names) == acked + 1
        assert (await person.running(task)).token == run.token


async def test_a_full_disk_of_the_region_starts_nothing_and_keeps_everything(
    disks: Any, person_of: Any
) -> None:
    async with person_of(disks["cluster"]) as person:
        task = await person.submit("sleep 1000")
        run = await person.running(task)
        disks["region"].fill()
        waiting = await submit_all(person, 100)
        await let_pass(2, "the region's disk is full")
        states = [(await person.client.get_task(str(w.name))).state for w in waiting[-20:]]
        assert TaskState.SUCCEEDED not in states
        assert TaskState.FAILED not in states
        assert person.processes(task)
        disks["region"].free()
        ended = await person.all_ended(waiting, within_s=40)
        assert {task.state for task in ended} == {TaskState.SUCCEEDED}
        assert (await person.running(task)).token == run.token
        region = await person.client.get_region("suzhou-core")
        assert region.reachability is Reachability.REACHABLE
