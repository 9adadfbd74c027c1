"""A killed process and a full disk: nothing acked is lost, nothing is acked that is not kept."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from federation.app import Application
from intertie.api.federation.v1 import states_pb2
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import Reason
from intertie.testing.faulty_store import FaultyStore
from intertie.testing.waiting import eventually
from intertie.transport.failure import error_from_rpc

PARENT = "projects/demo"
Create = Callable[..., pb.CreateTaskRequest]
WITHIN_S = 20.0
BATCH = 50
PENDING = states_pb2.TASK_STATE_PENDING


def batch(create: Create, first: int) -> pb.BatchCreateTasksRequest:
    requests = [create(n) for n in range(first, first + BATCH)]
    items = [pb.BatchCreateTasksItem(spec=r.spec, request_id=r.request_id) for r in requests]
    return pb.BatchCreateTasksRequest(parent=PARENT, requests=items)


async def all_names(tasks: Any) -> set[str]:
    found: set[str] = set()
    token = ""
    while True:
        page = await tasks.ListTasks(
            pb.ListTasksRequest(parent=PARENT, page_size=1_000, page_token=token)
        )
        found |= {task.name for task in page.tasks}
        token = page.next_page_token
        if not token:
            return found


@pytest.mark.parametrize("after", [1, 4])
async def test_no_acked_task_is_lost_when_the_process_is_killed_amid_batches(
    place: Any, create: Create, after: int
) -> None:
    process, address = await place.spawn()
    tasks = place.tasks(address)
    acked: set[str] = set()
    answered = asyncio.Event()

    async def submit(first: int) -> None:
        response = await tasks.BatchCreateTasks(batch(create, first))
        acked.update(result.task for result in response.results)
        if len(acked) >= after * BATCH:
            answered.set()

    calls = [asyncio.create_task(submit(n * BATCH)) for n in range(40)]
    await asyncio.wait_for(answered.wait(), WITHIN_S)
    process.kill()
    await process.wait()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert any(isinstance(end, grpc.aio.AioRpcError) for end in ended), "nothing was under way"

    _, address = await place.spawn()
    again = place.tasks(address)
    kept = await all_names(again)
    assert acked <= kept
    # Repeated with the same request_ids, all are there, and none is there twice.
    for n in range(40):
        response = await again.BatchCreateTasks(batch(create, n * BATCH))
        acked.update(result.task for result in response.results)
    assert await all_names(again) == acked
    assert len(acked) == 40 * BATCH


async def test_a_process_that_is_told_to_stop_ends_well(place: Any, create: Create) -> None:
    process, address = await place.spawn()
    await place.tasks(address).CreateTask(create())
    process.terminate()
    assert await asyncio.wait_for(process.wait(), WITHIN_S) == 0


async def test_a_second_process_on_the_same_state_is_refused(place: Any) -> None:
    await place.start()
    with pytest.raises(Exception, match="is used by process"):
        await place.start()


async def test_a_port_that_is_taken_is_named(place: Any, replica: Application) -> None:
    other = type(place)(place.pki, place.state.with_name("other"))
    other.overrides["listen"] = replica.address
    with pytest.raises(Exception, match=replica.address):
        await other.start()
    await other.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB that can be filled up."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs", str(mounted)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {mount.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", str(mounted)], check=True)


async def test_on_a_full_disk_it_stops_acking_keeps_reading_and_recovers(
    small_disk: Path, place: Any, create: Create
) -> None:
    here = type(place)(place.pki, small_disk / "state")
    here.overrides["identity_dir"] = place.state.parent / "identity-r1"
    replica = await here.start()
    try:
        tasks = here.tasks(replica.address)
        first = await tasks.CreateTask(create(1))
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"\0" * _free(small_disk))
        refused = None
        for n in range(2, 200):
            try:
                await tasks.CreateTask(create(n))
            except grpc.aio.AioRpcError as failure:
                refused = error_from_rpc(failure)
                break
        assert refused is not None
        assert refused.reason is Reason.STORE_UNAVAILABLE
        read = await tasks.GetTask(pb.GetTaskRequest(name=first.name))
        assert read.name == first.name
        ballast.unlink()

        async def takes_again() -> bool:
            try:
                await tasks.CreateTask(create(n))
            except grpc.aio.AioRpcError:
                return False
            return True

        await eventually(takes_again, WITHIN_S, every_s=0.1)
        assert len(await all_names(tasks)) == n
    finally:
        await here.close()


def _free(path: Path) -> int:
    answer = subprocess.run(
        ["df", "--output=avail", "-B1", str(path)], capture_output=True, text=True, check=True
    )
    return int(answer.stdout.split()[1])


async def test_regions_attach_again_after_the_store_was_away(
    small_disk: Path, place: Any, create: Create
) -> None:
    here = type(place)(place.pki, small_disk / "state")
    here.overrides["identity_dir"] = place.state.parent / "identity-r1"
    replica = await here.start()
    try:
        tasks = here.tasks(replica.address)
        region = here.region(replica.address)
        await region.attach()
        ballast = small_disk / "ballast"
        ballast.write_bytes(b"\0" * _free(small_disk))
        for n in range(2, 200):
            try:
                await tasks.CreateTask(create(n))
            except grpc.aio.AioRpcError:
                break
        ballast.unlink()
        failure = await region.ended()
        assert failure is not None
        assert error_from_rpc(failure).reason is Reason.STORE_UNAVAILABLE

        async def attached() -> bool:
            try:
                await region.attach()
            except grpc.aio.AioRpcError:
                return False
            return True

        await eventually(attached, WITHIN_S, every_s=0.1)
        made = await tasks.CreateTask(create(900))
        await region.run_of(made.name)
    finally:
        await here.close()


async def test_reads_show_nothing_that_is_not_durable_yet(
    replica: Application, tasks: Any, create: Create, request_id: Callable[[int], str]
) -> None:
    made = await tasks.CreateTask(create())
    pump = replica._pump
    assert pump is not None
    store = FaultyStore(pump.store)
    pump.store = store
    gate = store.delay()
    cancel = pb.CancelTaskRequest(name=made.name, request_id=request_id(2))
    cancelled = asyncio.ensure_future(tasks.CancelTask(cancel))
    await gate.reached()
    assert (await tasks.GetTask(pb.GetTaskRequest(name=made.name))).state == PENDING
    assert (await tasks.ExplainTask(pb.ExplainTaskRequest(name=made.name))).state == PENDING
    (listed,) = (await tasks.ListTasks(pb.ListTasksRequest(parent="projects/demo"))).tasks
    assert listed.state == PENDING
    gate.release()
    assert (await cancelled).state == states_pb2.TASK_STATE_CANCELLED
    explained = await tasks.ExplainTask(pb.ExplainTaskRequest(name=made.name))
    assert explained.state == states_pb2.TASK_STATE_CANCELLED
