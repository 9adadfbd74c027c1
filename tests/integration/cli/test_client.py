"""The client over connections that break: nothing missed, nothing done twice, bytes in order."""

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intertie.errors import IntertieError, Reason
from intertie.model.spec import FileRef, Placement, RunSpec, TaskSpec
from intertie.model.states import TaskState
from intertie.sdk.calls.uploading import Progress, Uploader
from intertie.sdk.client import Client
from intertie.sdk.connection import Patience
from intertie.sdk.specfile import spec_of
from intertie.sdk.sync import SyncClient
from intertie.testing.cut_proxy import CutProxy
from intertie.testing.pki import Forgery
from intertie.testing.waiting import eventually

WITHIN_S = 20.0


def spec(name: str) -> TaskSpec:
    return TaskSpec(name=name, run=RunSpec(command=("true",)))


async def task_names(client: Client, name: str) -> list[str]:
    return [str(task.name) async for task in client.list_tasks(f'display_name = "{name}"')]


@pytest.fixture
def proxy(place: Any) -> Iterator[CutProxy]:
    """A proxy before the federation, on the servers' loop."""
    proxy = CutProxy(place.port)
    place.background.run(proxy.open())
    yield proxy
    place.background.run(proxy.cut())


def through(place: Any, proxy: CutProxy, **options: Any) -> Client:
    """A client that dials the proxy."""
    direct = place.contexts().get("test").federation()
    options.setdefault("patience", Patience(retry_s=15.0, stream_s=20.0))
    return Client(replace(direct, target=proxy.endpoint), **options)


async def test_a_create_whose_answer_was_lost_is_retried_into_the_same_task(
    place: Any, proxy: CutProxy
) -> None:
    retried: list[IntertieError] = []
    async with through(place, proxy, on_retry=retried.append) as client, place.client() as direct:
        await client.validate_task(spec("warm-up"))
        proxy.muted = True
        creating = asyncio.create_task(client.create_task(spec("answer-lost")))
        await eventually(lambda: task_names(direct, "answer-lost"), WITHIN_S)
        await asyncio.to_thread(place.background.run, proxy.cut())
        proxy.muted = False
        await asyncio.to_thread(place.background.run, proxy.open())
        task = await creating
        assert await task_names(direct, "answer-lost") == [str(task.name)]
        assert retried
        assert retried[0].entry.code == "UNAVAILABLE"


async def test_a_watch_sees_every_change_once_over_cuts(place: Any, proxy: CutProxy) -> None:
    async with through(place, proxy) as client, place.client() as direct:
        task = await direct.create_task(spec("watched-over-cuts"))
        name = str(task.name)
        seen: list[TaskState] = []
        watching = client.watch_tasks([name], send_initial=True)
        async with aclosing(watching) as batches:
            first = await anext(batches)
            assert [str(task.name) for task in first.tasks] == [name]
            await asyncio.to_thread(place.background.run, proxy.cut())
            await asyncio.to_thread(place.end, name)
            await eventually(lambda: _is_final(direct, name), WITHIN_S)
            await asyncio.to_thread(place.background.run, proxy.open())
            states = [task.state for task in first.tasks]
            async for batch in batches:
                seen += [event.after for event in batch.events]
                states += [task.state for task in batch.tasks]
                if states[-1] is TaskState.SUCCEEDED:
                    break
        events = [event.after async for event in direct.list_task_events(name)]
        assert seen == events[-len(seen) :]
        assert seen[-1] is TaskState.SUCCEEDED


async def _is_final(client: Client, name: str) -> bool:
    return (await client.get_task(name)).is_final


async def test_waiting_goes_on_over_a_restart_of_the_federation(place: Any) -> None:
    async with place.client() as client:
        task = await client.create_task(spec("over-a-restart"))
        name = str(task.name)
        await asyncio.to_thread(place.run_of, name)
        waiting = asyncio.create_task(client.wait(name))
        await eventually(lambda: _is_running(client, name), WITHIN_S)
        await asyncio.to_thread(place.stop)
        await asyncio.to_thread(place.start)
        await asyncio.to_thread(place.attach)
        await asyncio.to_thread(place.end, name)
        assert (await asyncio.wait_for(waiting, WITHIN_S)).state is TaskState.SUCCEEDED


async def _is_running(client: Client, name: str) -> bool:
    return (await client.get_task(name)).state is TaskState.RUNNING


async def test_a_followed_log_goes_on_at_the_next_byte_after_a_cut(
    place: Any, proxy: CutProxy
) -> None:
    async with through(place, proxy) as client:
        name = str((await client.create_task(spec("log-over-cuts"))).name)
        await asyncio.to_thread(place.run_of, name)
        data = bytes(range(256)) * 4000
        place.write(name, "stdout", data[:300_000])
        got = bytearray()
        async with aclosing(client.follow_logs(name, ["stdout"])) as chunks:
            async for chunk in chunks:
                assert chunk.offset == len(got)
                got += chunk.data
                if len(got) == 300_000:
                    await asyncio.to_thread(place.background.run, proxy.cut())
                    place.write(name, "stdout", data)
                    await asyncio.to_thread(place.end, name)
                    await asyncio.to_thread(place.background.run, proxy.open())
        assert bytes(got) == data


async def test_an_upload_goes_on_after_a_cut_and_skips_what_is_there(
    place: Any, proxy: CutProxy, tmp_path: Path
) -> None:
    file = tmp_path / "weights.bin"
    file.write_bytes(hashlib.sha256(b"seed").digest() * 250_000)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    ref = FileRef(path="weights.bin", sha256=digest, size=file.stat().st_size)
    cut = False
    async with through(place, proxy) as client:

        def on_progress(progress: Progress) -> None:
            nonlocal cut
            if not cut and progress.done > 2_000_000:
                cut = True
                place.background.run(proxy.cut())
                place.background.run(proxy.open())

        uploader = Uploader(client.connection, on_progress)
        assert await uploader.upload({ref: file}) == ref.size
        assert cut
        assert await Uploader(client.connection).upload({ref: file}) == 0


async def test_a_file_that_changes_while_it_is_uploaded_is_named(
    place: Any, tmp_path: Path
) -> None:
    file = tmp_path / "data.bin"
    file.write_bytes(b"what was hashed")
    ref = FileRef(path="data.bin", sha256=hashlib.sha256(b"else").hexdigest(), size=15)
    async with place.client() as client:
        with pytest.raises(IntertieError, match=r"data\.bin changed while") as caught:
            await Uploader(client.connection).upload({ref: file})
        assert caught.value.reason is Reason.DIGEST_MISMATCH


async def test_many_tasks_come_back_in_order_and_a_replay_makes_no_others(place: Any) -> None:
    nowhere = Placement(only=("mars",))
    specs = [replace(spec(f"batch-{n}"), placement=nowhere) for n in range(1_100)]
    ids = [f"00000000-0000-7000-8000-{n:012x}" for n in range(1_100)]
    async with place.client() as client:
        first = await client.create_tasks(specs, request_ids=ids)
        again = await client.create_tasks(specs, request_ids=ids)
        assert [created.task for created in first] == [created.task for created in again]
        assert len({created.task for created in first}) == 1_100
        task = await client.get_task(first[777].task)
        assert task.spec is not None
        assert task.spec.name == "batch-777"


async def test_a_bad_item_of_a_batch_fails_alone(place: Any) -> None:
    bad = replace(spec("bad-item"), array=-1)
    async with place.client() as client:
        good, refused = await client.create_tasks([spec("good-item"), bad])
        assert good.task
        assert refused.error is not None
        assert refused.error.fields[0].field == "array"


async def test_request_ids_are_made_in_the_order_of_time(place: Any) -> None:
    async with place.client() as client:
        tasks = [await client.create_task(spec("in-order")) for _ in range(3)]
    ids = [task.request_id for task in tasks]
    assert ids == sorted(ids)
    assert all(id_[14] == "7" for id_ in ids)


async def test_a_reused_request_id_with_another_spec_is_a_conflict(place: Any) -> None:
    id_ = "00000000-0000-7000-8000-aaaaaaaaaaaa"
    async with place.client() as client:
        task = await client.create_task(spec("once"), request_id=id_)
        assert (await client.create_task(spec("once"), request_id=id_)).name == task.name
        with pytest.raises(IntertieError) as caught:
            await client.create_task(spec("other"), request_id=id_)
        assert caught.value.reason is Reason.REQUEST_ID_REUSED


async def test_an_unreachable_server_is_told_after_the_patience_with_a_remedy(place: Any) -> None:
    endpoint = replace(place.contexts().get("test").federation(), target="127.0.0.1:1")
    async with Client(endpoint, patience=Patience(retry_s=0.3)) as client:
        with pytest.raises(IntertieError) as caught:
            await client.get_region("eu")
    assert caught.value.reason is Reason.UNREACHABLE
    assert "Check the address" in caught.value.remedy


async def test_an_ended_certificate_is_named_before_any_call(place: Any) -> None:
    uri = f"spiffe://{place.pki.trust_domain}/project/demo/old"
    path = place.pki.forge(Forgery([uri], starts_in_ms=-7_200_000, ends_in_ms=-3_600_000))
    endpoint = replace(place.contexts().get("test").federation(), identity=path)
    with pytest.raises(IntertieError) as caught:
        Client(endpoint)
    assert caught.value.reason is Reason.CERTIFICATE_EXPIRED
    assert str(path) in caught.value.message


def test_the_client_without_asyncio_does_the_same(place: Any, tmp_path: Path) -> None:
    endpoint = place.contexts().get("test").federation()
    with SyncClient(endpoint) as client:
        task = client.create_task(spec_of({"name": "sync", "run": {"command": ["true"]}}))
        name = str(task.name)
        assert client.project == "demo"
        assert name in [str(listed.name) for listed in client.list_tasks()]
        place.run_of(name)
        place.write(name, "stdout", b"in sync\n")
        place.end(name, outputs={"o.txt": b"out"})
        assert client.wait(name).state is TaskState.SUCCEEDED
        assert b"".join(client.logs(name)) == b"in sync\n"
        (output,) = client.list_outputs(name)
        assert client.download_output(name, output, tmp_path).read_bytes() == b"out"
        with pytest.raises(IntertieError):
            client.get_task("projects/demo/tasks/00-00000000-0000-7000-8000-000000000000")


async def test_a_reader_of_entries_that_is_up_to_date_gets_none(place: Any) -> None:
    async with place.client("billing/acme") as client:
        entries = client.metering.entries(place.log.origin, 7, 7)
        assert [batch async for batch in entries] == []
