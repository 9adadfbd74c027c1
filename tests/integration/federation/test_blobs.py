"""Blobs of clients on a real replica: who may know of what, what is refused, what is given back."""

import hashlib
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from federation.app import Application
from federation.domain.blobs import ADOPTED
from intertie.api.federation.v1 import blob_service_pb2 as blob_pb
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.model.spec import FileRef, RunSpec
from intertie.ports import Now
from intertie.testing.fake_region import FakeRegion
from intertie.testing.waiting import eventually

WITHIN_S = 10.0
DATA = b"the weights of a project" * 1_000
SHA = hashlib.sha256(DATA).hexdigest()
ABSENT = hashlib.sha256(b"nobody has this").hexdigest()

Create = Callable[..., pb.CreateTaskRequest]
Refusal = Callable[..., Awaitable[IntertieError]]


@pytest.fixture
def blobs(place: Any) -> Callable[..., Any]:
    """A client of the replica that was started last, or of the one at an address."""

    def stub(identity: str = "project/demo/ann", address: str = "") -> Any:
        address = address or place.applications[-1].address
        return BlobServiceStub(place.channel(address, identity))

    return stub


async def upload(stub: Any, data: bytes = DATA) -> Any:
    sha256 = hashlib.sha256(data).hexdigest()
    first = blob_pb.UploadBlobRequest(sha256=sha256, size_bytes=len(data), offset=0, data=data)
    return await stub.UploadBlob(iter([first]))


async def read(stub: Any, sha256: str = SHA) -> bytes:
    return b"".join([c.data async for c in stub.ReadBlob(blob_pb.ReadBlobRequest(sha256=sha256))])


async def exists(stub: Any, sha256: str = SHA) -> bool:
    (stat,) = (await stub.StatBlobs(blob_pb.StatBlobsRequest(sha256=[sha256]))).blobs
    return bool(stat.exists)


def with_file(create: Create, n: int = 1, *, sha256: str = SHA, **more: Any) -> Any:
    files = (FileRef(path="weights.bin", sha256=sha256, size=len(DATA)),)
    return create(n, run=RunSpec(command=("true",), files=files), **more)


# --- projects -------------------------------------------------------------------------------------


async def test_a_blob_is_seen_by_the_project_that_uploaded_it_and_by_no_other(
    replica: Application, blobs: Any, refusal: Refusal
) -> None:
    ann, bob, eve = blobs(), blobs("project/demo/bob"), blobs("project/other/eve")
    await upload(ann)
    assert await read(bob) == DATA
    assert await exists(bob)
    assert not await exists(eve)
    hidden = await refusal(eve.ReadBlob(blob_pb.ReadBlobRequest(sha256=SHA)))
    absent = await refusal(eve.ReadBlob(blob_pb.ReadBlobRequest(sha256=ABSENT)))
    assert hidden.reason is absent.reason is Reason.NOT_FOUND
    assert hidden.message.replace(SHA, "") == absent.message.replace(ABSENT, "")


async def test_naming_a_digest_is_not_having_its_bytes(
    replica: Application, blobs: Any, refusal: Refusal
) -> None:
    await upload(blobs())
    eve = blobs("project/other/eve")
    claim = blob_pb.UploadBlobRequest(sha256=SHA, size_bytes=len(DATA), offset=0)
    refused = await refusal(eve.UploadBlob(iter([claim])))
    assert refused.reason is Reason.OFFSET_MISMATCH
    assert refused.metadata["expected_offset"] == "0"
    forged = blob_pb.UploadBlobRequest(
        sha256=SHA, size_bytes=len(DATA), offset=0, data=b"x" * len(DATA)
    )
    assert (await refusal(eve.UploadBlob(iter([forged])))).reason is Reason.DIGEST_MISMATCH
    wrong_size = blob_pb.UploadBlobRequest(sha256=SHA, size_bytes=3, offset=0, data=b"abc")
    assert (await refusal(eve.UploadBlob(iter([wrong_size])))).reason is Reason.DIGEST_MISMATCH
    assert not await exists(eve)
    await upload(eve)
    assert await read(eve) == DATA


async def test_uploading_again_costs_the_owner_nothing(replica: Application, blobs: Any) -> None:
    ann = blobs()
    await upload(ann)
    again = blob_pb.UploadBlobRequest(sha256=SHA, size_bytes=len(DATA), offset=0)
    assert (await ann.UploadBlob(iter([again]))).size_bytes == len(DATA)


async def test_who_uploaded_what_outlives_a_restart(
    place: Any, replica: Application, blobs: Any
) -> None:
    await upload(blobs())
    await replica.stop()
    again = await place.start()
    assert await read(blobs(address=again.address)) == DATA
    assert not await exists(blobs("project/other/eve", again.address))


# --- tasks ----------------------------------------------------------------------------------------


async def test_a_task_may_name_only_what_its_project_uploaded(
    place: Any, replica: Application, blobs: Any, tasks: Any, create: Create, refusal: Refusal
) -> None:
    await upload(blobs("project/other/eve"))
    for validate_only in (False, True):
        request = with_file(create)
        request.validate_only = validate_only
        refused = await refusal(tasks.CreateTask(request))
        assert refused.reason is Reason.INVALID_FIELD
        assert [v.field for v in refused.fields] == ["run.files[0].sha256"]
        assert SHA in refused.message
        assert "Upload it" in refused.remedy
    await upload(blobs())
    assert (await tasks.CreateTask(with_file(create))).name


async def test_items_of_a_batch_are_refused_one_by_one(
    blobs: Any, tasks: Any, create: Create
) -> None:
    await upload(blobs())
    items = [
        pb.BatchCreateTasksItem(spec=request.spec, request_id=request.request_id)
        for request in (with_file(create, 1), with_file(create, 2, sha256=ABSENT), create(3))
    ]
    answer = await tasks.BatchCreateTasks(
        pb.BatchCreateTasksRequest(parent="projects/demo", requests=items)
    )
    assert [bool(result.task) for result in answer.results] == [True, False, True]
    assert ABSENT in answer.results[1].status.message


async def test_a_repeated_submission_is_answered_when_its_blob_is_gone(
    place: Any, replica: Application, blobs: Any, tasks: Any, create: Create, request_id: Any
) -> None:
    await upload(blobs())
    made = await tasks.CreateTask(with_file(create))
    await tasks.CancelTask(pb.CancelTaskRequest(name=made.name, request_id=request_id(99)))
    await replica.stop()
    place.overrides |= {"blob.keep": "10m", "blob.collect_every": "1h"}
    for path in (place.state / "blobs").rglob(SHA):
        path.unlink()
    again = await place.start()
    stub = place.tasks(again.address)
    assert (await stub.CreateTask(with_file(create))).name == made.name


# --- regions --------------------------------------------------------------------------------------


async def test_a_region_reads_a_blob_while_a_live_task_at_it_needs_it(
    place: Any,
    replica: Application,
    blobs: Any,
    tasks: Any,
    eu: FakeRegion,
    create: Create,
    refusal: Refusal,
) -> None:
    await upload(blobs())
    at_eu, at_us = blobs("eu:scheduler"), blobs("us:scheduler")
    assert not await exists(at_eu)
    made = await tasks.CreateTask(with_file(create))
    await eu.run_of(made.name)
    assert await exists(at_eu)
    assert await read(at_eu) == DATA
    assert not await exists(at_us)
    refused = await refusal(at_us.ReadBlob(blob_pb.ReadBlobRequest(sha256=SHA)))
    assert refused.reason is Reason.NOT_FOUND
    await eu.end(made.name)

    async def over() -> bool:
        return not await exists(at_eu)

    await eventually(over, WITHIN_S)


# --- what is given back ---------------------------------------------------------------------------


async def test_a_blob_goes_when_no_task_needs_it_and_nobody_asked_for_long(
    place: Any, blobs: Any, create: Create, request_id: Any, refusal: Refusal
) -> None:
    clock = _Shifted()
    place.overrides |= {"blob.keep": "10m", "blob.collect_every": "50ms"}
    replica = await place.start(clock)
    stub, tasks = blobs(address=replica.address), place.tasks(replica.address)
    unneeded = b"nobody's" * 10
    await upload(stub)
    await upload(stub, unneeded)
    made = await tasks.CreateTask(with_file(create))
    clock.shift_ms = 601_000

    def there(sha256: str) -> bool:
        return bool(list((place.state / "blobs").glob(f"*/{sha256}")))

    await eventually(lambda: not there(hashlib.sha256(unneeded).hexdigest()), WITHIN_S)
    assert there(SHA), "a live task needs it"
    clock.shift_ms = 0
    assert await exists(stub)  # asked for: kept on for another while
    await tasks.CancelTask(pb.CancelTaskRequest(name=made.name, request_id=request_id(99)))
    clock.shift_ms = 1_300_000
    await eventually(lambda: not there(SHA), WITHIN_S)
    clock.shift_ms = 0
    assert not await exists(stub)
    refused = await refusal(tasks.CreateTask(with_file(create, 2)))
    assert refused.reason is Reason.INVALID_FIELD
    await upload(stub)
    assert (await tasks.CreateTask(with_file(create, 2))).name


async def test_an_identity_has_so_many_unfinished_uploads(
    place: Any, blobs: Any, refusal: Refusal
) -> None:
    place.overrides |= {"blob.unfinished": "2"}
    replica = await place.start()
    ann, bob = blobs(address=replica.address), blobs("project/demo/bob", replica.address)

    async def part(stub: Any, number: int) -> IntertieError:
        sha256 = hashlib.sha256(b"%d" % number).hexdigest()
        first = blob_pb.UploadBlobRequest(sha256=sha256, size_bytes=10, offset=0, data=b"part")
        return await refusal(stub.UploadBlob(iter([first])))

    assert (await part(ann, 1)).reason is Reason.OFFSET_MISMATCH
    assert (await part(ann, 2)).reason is Reason.OFFSET_MISMATCH
    assert (await part(ann, 3)).reason is Reason.QUOTA_EXCEEDED
    assert (await part(bob, 3)).reason is Reason.OFFSET_MISMATCH


class _Shifted(SystemClock):
    """The real clock, some time later by the wall."""

    shift_ms = 0

    def now(self) -> Now:
        now = super().now()
        return replace(now, utc_ms=now.utc_ms + self.shift_ms)


async def test_a_store_of_before_keeps_what_its_live_tasks_need(
    place: Any, replica: Application, blobs: Any, tasks: Any, create: Create
) -> None:
    await upload(blobs())
    await tasks.CreateTask(with_file(create))
    await replica.stop()
    _as_before_rows(replica)
    again = await place.start()
    assert await exists(blobs(address=again.address))
    stub = place.tasks(again.address)
    assert (await stub.CreateTask(with_file(create, 2))).name
    assert not await exists(blobs("project/other/eve", again.address))


def _as_before_rows(replica: Application) -> None:
    """Take from the store of a stopped replica what older versions did not write."""
    path = replica.config.state_dir / "store.sqlite"
    space, name, _ = ADOPTED
    with sqlite3.connect(path) as connection:
        rows = connection.execute("DELETE FROM rows WHERE kind = 'blob'").rowcount
        claims = connection.execute(
            "DELETE FROM claims WHERE space = ? AND name = ?", (space, name)
        ).rowcount
    connection.close()
    assert (rows, claims) == (1, 1)
