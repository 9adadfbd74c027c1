"""Submitting over mutual TLS to a replica with durable SQLite: `python bench/submit.py [-o json]`.

Every task is a distinct spec of real shape (argv, environment, files, labels), made before the
clock starts. Client and server share the machine's cores.
"""

import asyncio
import sys
import uuid
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import uvloop

from bench.harness import Figure, Replica, Report, at_concurrency, quantile, replica, report
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.blob_service_pb2 import UploadBlobRequest
from intertie.api.federation.v1.blob_service_pb2_grpc import BlobServiceStub
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.model.spec import FileRef, OutputSpec, Resources, RunSpec, TaskSpec
from intertie.wire.tasks import spec_to_pb

PARENT = "projects/bench"
BATCH = 100
BATCHES = 300
BATCHES_AT_ONCE = 8
CONNECTIONS = 2
SINGLES = 6_000
SINGLES_AT_ONCE = 100
ALONE = 600
WARM_UP = 20
CONTENTS = 97
"""Distinct files that the tasks share."""


def make_item(number: int) -> pb.BatchCreateTasksItem:
    """A training task as people submit it, unlike all others."""
    spec = TaskSpec(
        name=f"resnet-{number}",
        labels={"team": "vision", "experiment": f"sweep-{number % 97}", "seed": str(number)},
        run=RunSpec(
            command=(
                "python",
                "train.py",
                "--epochs=90",
                f"--seed={number}",
                "--lr=0.1",
                "--data=inputs/train.npz",
            ),
            env={"OMP_NUM_THREADS": "4", "RUN_NAME": f"resnet-{number}", "WANDB_MODE": "offline"},
            files=(
                _file("train.py", number),
                _file("inputs/train.npz", number + 1),
            ),
            timeout=14_400_000,
        ),
        resources=Resources(cpu=4_000, memory=16 << 30, disk=64 << 30),
        outputs=(OutputSpec(path="model.npz"), OutputSpec(path="metrics.json")),
    )
    return pb.BatchCreateTasksItem(spec=spec_to_pb(spec), request_id=str(_request_id(number)))


def _content(number: int) -> bytes:
    return b"content %d" % (number % CONTENTS)


def _file(path: str, number: int) -> FileRef:
    data = _content(number)
    return FileRef(path=path, sha256=sha256(data).hexdigest(), size=len(data))


async def _upload(server: Replica) -> None:
    """Everything that tasks name: a project may name only what it has uploaded."""
    stub: Any = BlobServiceStub(server.channel("project/bench/ann"))
    for number in range(CONTENTS):
        data = _content(number)
        chunk = UploadBlobRequest(
            sha256=sha256(data).hexdigest(), size_bytes=len(data), offset=0, data=data
        )
        await stub.UploadBlob(iter([chunk]), timeout=60)


def _request_id(number: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, f"bench {number}")


def _batches(first: int, count: int) -> list[pb.BatchCreateTasksRequest]:
    return [
        pb.BatchCreateTasksRequest(
            parent=PARENT, requests=[make_item(first + i * BATCH + j) for j in range(BATCH)]
        )
        for i in range(count)
    ]


def _singles(first: int, count: int) -> list[pb.CreateTaskRequest]:
    items = (make_item(first + i) for i in range(count))
    return [
        pb.CreateTaskRequest(parent=PARENT, spec=item.spec, request_id=item.request_id)
        for item in items
    ]


async def measure(to: Report) -> None:
    """All figures."""
    async with replica() as server:
        stubs: list[Any] = [
            TaskServiceStub(server.channel("project/bench/ann")) for _ in range(CONNECTIONS)
        ]
        await _upload(server)
        await _send_batches(stubs, _batches(0, WARM_UP))
        await _measure_batches(to, server, stubs)
        await _measure_singles(to, server, stubs)
        await _measure_alone(to, stubs)


async def _send_batches(stubs: Sequence[Any], requests: list[pb.BatchCreateTasksRequest]) -> None:
    async def call(number: int) -> None:
        stub = stubs[number % len(stubs)]
        response = await stub.BatchCreateTasks(requests[number], timeout=60)
        refused = [result for result in response.results if not result.task]
        assert not refused, refused[0]

    await at_concurrency(len(requests), BATCHES_AT_ONCE, call)


async def _measure_batches(to: Report, server: Replica, stubs: Sequence[Any]) -> None:
    requests = _batches(100_000, BATCHES)
    clock, used = asyncio.get_running_loop().time, server.cpu_seconds()
    started = clock()
    await _send_batches(stubs, requests)
    took, used = clock() - started, server.cpu_seconds() - used
    count = BATCH * BATCHES
    to.add(
        Figure("batch_tasks_per_s", count / took, "tasks/s", ">= 10,000; bare gRPC+SQLite 33,000")
    )
    to.add(Figure("batch_server_cpu_us", used / count * 1e6, "us/task"))


async def _measure_singles(to: Report, server: Replica, stubs: Sequence[Any]) -> None:
    requests = _singles(200_000, SINGLES)
    clock, used = asyncio.get_running_loop().time, server.cpu_seconds()
    started = clock()
    await at_concurrency(
        SINGLES,
        SINGLES_AT_ONCE,
        lambda n: stubs[n % len(stubs)].CreateTask(requests[n], timeout=60),
    )
    took, used = clock() - started, server.cpu_seconds() - used
    to.add(
        Figure("single_tasks_per_s", SINGLES / took, "tasks/s", ">= 1,000; bare gRPC+SQLite 1,900")
    )
    to.add(Figure("single_server_cpu_us", used / SINGLES * 1e6, "us/task"))


async def _measure_alone(to: Report, stubs: Sequence[Any]) -> None:
    requests = _singles(300_000, ALONE)
    took = await at_concurrency(ALONE, 1, lambda n: stubs[0].CreateTask(requests[n], timeout=60))
    to.add(Figure("single_p50_ms", quantile(took, 0.50) * 1000, "ms"))
    to.add(Figure("single_p99_ms", quantile(took, 0.99) * 1000, "ms", "<= 15"))


if __name__ == "__main__":
    uvloop.run(measure(report("submit", __doc__ or "")))
    sys.exit(0)
