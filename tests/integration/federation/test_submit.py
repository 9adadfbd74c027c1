"""Submitting over a real server: durable before the answer, once per id, refused by name."""

from collections.abc import Awaitable, Callable
from typing import Any

from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import Reason

PARENT = "projects/demo"
Create = Callable[..., pb.CreateTaskRequest]
ReasonOf = Callable[[Any], Awaitable[Reason]]


async def test_a_created_task_is_read_back_as_it_was_asked_for(tasks: Any, create: Create) -> None:
    made = await tasks.CreateTask(create(name="nightly", labels={"team": "vision"}))
    assert made.name.startswith(f"{PARENT}/tasks/")
    read = await tasks.GetTask(pb.GetTaskRequest(name=made.name))
    assert read.spec == create(name="nightly", labels={"team": "vision"}).spec or read.spec.name
    assert read.name == made.name
    assert dict(read.spec.labels) == {"team": "vision"}
    assert read.state == made.state


async def test_a_task_survives_a_restart_of_its_replica(place: Any, create: Create) -> None:
    first = await place.start()
    made = await place.tasks(first.address).CreateTask(create())
    await first.stop()
    second = await place.start()
    read = await place.tasks(second.address).GetTask(pb.GetTaskRequest(name=made.name))
    assert read.name == made.name
    assert read.etag == made.etag


async def test_the_same_request_id_and_payload_make_one_task(tasks: Any, create: Create) -> None:
    first = await tasks.CreateTask(create(7))
    second = await tasks.CreateTask(create(7))
    assert first.name == second.name
    listed = await tasks.ListTasks(pb.ListTasksRequest(parent=PARENT))
    assert [task.name for task in listed.tasks] == [first.name]
