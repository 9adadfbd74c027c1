"""Logs, outputs and blobs through a region."""

import hashlib
from dataclasses import replace
from typing import Any

import grpc.aio
import pytest

from intertie.api.federation.v1 import blob_service_pb2 as pb
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.errors import Reason
from intertie.model.agentlink import AgentBytes, AgentRead
from intertie.model.link import ReadBytes
from intertie.model.states import Outcome
from intertie.model.task import StoredFile
from intertie.store.blobs import BlobStore
from intertie.testing.waiting import eventually
from intertie.transport.failure import error_from_rpc

WITHIN_S = 10.0


def _question(task: str, **changes: Any) -> ReadBytes:
    fields = {
        "id": 0,
        "task": task,
        "run": 1,
        "rank": 0,
        "stream": "stdout",
        "path": "",
        "offset": 0,
        "limit": 65_536,
        "wait_ms": 0,
        **changes,
    }
    return ReadBytes(**fields)


async def _running(place: Any, spec: Any, *, started: bool = False) -> tuple[Any, str]:
    if not started:
        await place.start()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    return agent, task


async def _kept(place: Any, data: bytes) -> str:
    """Bytes in the region's blob root, as the agent uploads them."""
    return await BlobStore(str(place.state / "blobs")).put(data)


async def test_the_log_of_a_live_run_is_read_from_its_node(place: Any, spec: Any) -> None:
    agent, task = await _running(place, spec)
    agent.logs["stdout"] = b"hello world"
    chunk = await place.federation.read("eu", _question(task, offset=6))
    assert (chunk.data, chunk.next_offset, chunk.final, chunk.error) == (b"world", 11, False, "")


async def test_logs_and_outputs_of_an_ended_run_are_read_from_the_region(
    place: Any, spec: Any
) -> None:
    agent, task = await _running(place, spec)
    log, output = await _kept(place, b"tail of the log"), await _kept(place, b"result")
    head = await _kept(place, b"begin")
    agent.end(
        task,
        logs=(
            StoredFile(path="stdout", sha256=log, size=15, start=100),
            StoredFile(path="stdout", sha256=head, size=5),
        ),
        outputs=(StoredFile(path="out/model.bin", sha256=output, size=6),),
    )
    await eventually(
        lambda: place.federation.updates[task].outcome is Outcome.SUCCEEDED, WITHIN_S, what="end"
    )
    chunk = await place.federation.read("eu", _question(task))
    assert (chunk.data, chunk.next_offset, chunk.final) == (b"begin", 5, False)
    chunk = await place.federation.read("eu", _question(task, offset=5))
    assert (chunk.data, chunk.offset, chunk.final) == (b"tail of the log", 100, True)
    chunk = await place.federation.read("eu", _question(task, offset=-3))
    assert (chunk.data, chunk.offset, chunk.final) == (b"log", 112, True)
    chunk = await place.federation.read("eu", _question(task, offset=105, limit=2))
    assert (chunk.data, chunk.next_offset, chunk.final) == (b"of", 107, False)
    chunk = await place.federation.read("eu", _question(task, offset=115))
    assert (chunk.data, chunk.final) == (b"", True)
    chunk = await place.federation.read("eu", _question(task, stream="stderr"))
    assert (chunk.data, chunk.final) == (b"", True)
    chunk = await place.federation.read("eu", _question(task, path="out/model.bin"))
    assert (chunk.data, chunk.final) == (b"result", True)


async def test_what_cannot_be_read_is_told_with_its_reason(place: Any, spec: Any) -> None:
    agent, task = await _running(place, spec)
    read = place.federation.read
    assert (await read("eu", _question(task, run=9))).error == Reason.NOT_FOUND
    assert (await read("eu", _question(task, path="x"))).error == Reason.WRONG_STATE
    assert (await read("eu", _question(task, stream="x"))).error == Reason.INVALID_FIELD
    assert (await read("eu", _question(task, limit=0))).error == Reason.INVALID_FIELD
    assert (await read("eu", _question("nonsense"))).error == Reason.INVALID_FIELD
    await agent.stop()
    assert (await read("eu", _question(task))).error == Reason.NODE_OUT_OF_TOUCH


async def test_a_run_that_ends_while_its_node_is_asked_is_read_from_the_region(
    place: Any, spec: Any
) -> None:
    region = await place.start()
    agent, task = await _running(place, spec, started=True)
    log = await _kept(place, b"all of it")
    reader = region._federation[0]._peers.reader
    ask_node = reader._ask_node

    async def ask_too_late(node: str, read: AgentRead) -> AgentBytes:
        agent.end(task, logs=(StoredFile(path="stdout", sha256=log, size=9),))
        ended = place.federation.updates
        await eventually(lambda: ended[task].outcome is Outcome.SUCCEEDED, WITHIN_S, what="end")
        gone: AgentBytes = await ask_node(node, read)
        return replace(gone, error=Reason.NOT_FOUND.value, error_message="not on this node")

    reader._ask_node = ask_too_late
    chunk = await place.federation.read("eu", _question(task))
    assert (chunk.data, chunk.final, chunk.error) == (b"all of it", True, "")


async def test_a_run_that_its_node_has_not_heard_of_yet_has_no_log_yet(
    place: Any, spec: Any
) -> None:
    region = await place.start()
    agent = await place.agent()
    agent.starts_runs = False
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    reader = region._federation[0]._peers.reader

    async def not_here(_node: str, read: AgentRead) -> AgentBytes:
        return AgentBytes(
            id=read.id,
            data=b"",
            offset=0,
            next_offset=0,
            final=False,
            error=Reason.NOT_FOUND.value,
            error_message="not on this node",
        )

    reader._ask_node = not_here
    chunk = await place.federation.read("eu", _question(task))
    assert (chunk.data, chunk.final, chunk.error) == (b"", False, "")


async def test_a_run_that_waits_has_no_log_yet(place: Any, spec: Any) -> None:
    await place.start()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    chunk = await place.federation.read("eu", _question(task))
    assert (chunk.data, chunk.final, chunk.error) == (b"", False, "")


# --- blobs ---------------------------------------------------------------------------------------


def _blobs(place: Any, identity: str) -> BlobServiceStub:
    channels = place.identity_channels(identity)
    return BlobServiceStub(channels.get(place.address, place.server_name))


async def _read(stub: BlobServiceStub, sha256: str) -> bytes:
    call = stub.ReadBlob(pb.ReadBlobRequest(sha256=sha256))
    return b"".join([chunk.data async for chunk in call])


async def test_a_node_reads_what_only_the_federation_has(place: Any) -> None:
    await place.start()
    data = b"weights" * 100_000
    sha256 = await place.federation_blobs.put(data)
    stub = _blobs(place, "eu:node/n1")
    assert await _read(stub, sha256) == data
    (stat,) = await BlobStore(str(place.state / "blobs")).stat([sha256])
    assert stat.exists


async def test_a_blob_that_nobody_has_is_not_found(place: Any) -> None:
    await place.start()
    stub = _blobs(place, "eu:node/n1")
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await _read(stub, "ab" * 32)
    assert error_from_rpc(failure.value).reason is Reason.NOT_FOUND


async def test_a_node_uploads_to_its_region_and_a_project_may_not(place: Any) -> None:
    await place.start()
    data = b"checkpoint"
    sha256 = hashlib.sha256(data).hexdigest()

    async def upload(identity: str) -> Any:
        request = pb.UploadBlobRequest(sha256=sha256, size_bytes=len(data), offset=0, data=data)
        return await _blobs(place, identity).UploadBlob(iter([request]))

    assert (await upload("eu:node/n1")).size_bytes == len(data)
    assert (await upload("eu:operator/o1")).sha256 == sha256
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await upload("project/vision/ann")
    assert error_from_rpc(failure.value).reason is Reason.PERMISSION_DENIED
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await upload("us:node/n1")
    assert error_from_rpc(failure.value).reason is Reason.PERMISSION_DENIED
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await upload("us:operator/o1")
    assert error_from_rpc(failure.value).reason is Reason.PERMISSION_DENIED
