"""Submitting over a real server: durable before the answer, once per id, refused by name."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from federation.app import Application
from intertie.api.federation.v1 import states_pb2, task_spec_pb2
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.errors import IntertieError, Reason
from intertie.model.spec import RunSpec
from intertie.transport.status import error_of
from intertie.wire.tasks import spec_to_pb

PARENT = "projects/demo"
Create = Callable[..., pb.CreateTaskRequest]
ReasonOf = Callable[[Any], Awaitable[Reason]]
Refusal = Callable[[Any], Awaitable[IntertieError]]


async def test_a_created_task_is_read_back_as_it_was_asked_for(tasks: Any, create: Create) -> None:
    made = await tasks.CreateTask(create(name="nightly", labels={"team": "vision"}))
    assert made.name.startswith(f"{PARENT}/tasks/")
    read = await tasks.GetTask(pb.GetTaskRequest(name=made.name))
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


async def test_the_same_request_id_with_another_payload_is_refused(
    tasks: Any, create: Create, refusal: Refusal
) -> None:
    made = await tasks.CreateTask(create(7))
    refused = await refusal(tasks.CreateTask(create(7, name="other")))
    assert refused.reason is Reason.REQUEST_ID_REUSED
    assert refused.metadata["made"] == made.name


async def test_two_projects_may_use_the_same_request_id(
    place: Any, replica: Application, create: Create
) -> None:
    first = await place.tasks(replica.address).CreateTask(create(7))
    other = place.tasks(replica.address, "project/other/eve")
    second = await other.CreateTask(create(7, parent="projects/other"))
    assert first.name != second.name


async def test_items_of_a_batch_succeed_and_fail_each_by_itself(
    tasks: Any, create: Create, spec: Any
) -> None:
    bad = spec_to_pb(spec(run=RunSpec()))
    items = [
        pb.BatchCreateTasksItem(spec=create(1).spec, request_id=create(1).request_id),
        pb.BatchCreateTasksItem(spec=bad, request_id=create(2).request_id),
        pb.BatchCreateTasksItem(spec=create(3).spec, request_id="no uuid"),
        pb.BatchCreateTasksItem(spec=create(1).spec, request_id=create(1).request_id),
    ]
    request = pb.BatchCreateTasksRequest(parent=PARENT, requests=items)
    results = (await tasks.BatchCreateTasks(request)).results
    assert results[0].task == results[3].task != ""
    assert [error_of(result.status).fields[0].field for result in results[1:3]] == [
        "run",
        "request_id",
    ]
    again = (await tasks.BatchCreateTasks(request)).results
    assert again[0].task == results[0].task


async def test_a_batch_has_between_one_and_a_thousand_items(
    tasks: Any, create: Create, reason: ReasonOf
) -> None:
    empty = pb.BatchCreateTasksRequest(parent=PARENT)
    assert await reason(tasks.BatchCreateTasks(empty)) is Reason.INVALID_FIELD
    item = pb.BatchCreateTasksItem(spec=create(1).spec, request_id=create(1).request_id)
    many = pb.BatchCreateTasksRequest(parent=PARENT, requests=[item] * 1_001)
    assert await reason(tasks.BatchCreateTasks(many)) is Reason.TOO_LARGE


async def test_a_full_batch_is_durable_and_listed_whole(
    place: Any, replica: Application, create: Create
) -> None:
    tasks = place.tasks(replica.address)
    items = [
        pb.BatchCreateTasksItem(spec=create(n).spec, request_id=create(n).request_id)
        for n in range(1_000)
    ]
    request = pb.BatchCreateTasksRequest(parent=PARENT, requests=items)
    made = [result.task for result in (await tasks.BatchCreateTasks(request)).results]
    assert len(set(made)) == 1_000
    await replica.stop()
    second = await place.start()
    listed: list[str] = []
    token = ""
    while True:
        page = await place.tasks(second.address).ListTasks(
            pb.ListTasksRequest(parent=PARENT, page_size=300, page_token=token)
        )
        listed += [task.name for task in page.tasks]
        token = page.next_page_token
        if not token:
            break
    assert sorted(listed) == sorted(made)
    orders = [name.rpartition("/")[2][3:] for name in listed]
    assert orders == sorted(orders, reverse=True)


async def test_an_array_makes_its_tasks_at_once_with_one_spec(tasks: Any, create: Create) -> None:
    first = await tasks.CreateTask(create(array=4, name="sweep"))
    listed = await tasks.ListTasks(
        pb.ListTasksRequest(parent=PARENT, filter=f'group = "{first.group}"')
    )
    assert sorted(task.index for task in listed.tasks) == [0, 1, 2, 3]
    assert {task.spec.name for task in listed.tasks} == {"sweep"}


async def test_validate_only_checks_everything_and_creates_nothing(
    tasks: Any, create: Create, refusal: Refusal
) -> None:
    request = create(1)
    request.validate_only = True
    checked = await tasks.CreateTask(request)
    assert checked.name == ""
    assert checked.spec.run.command == ["true"]
    assert not (await tasks.ListTasks(pb.ListTasksRequest(parent=PARENT))).tasks
    request.fail_if_unmatched = True
    assert (await refusal(tasks.CreateTask(request))).reason is Reason.NO_MATCHING_REGION


@pytest.mark.parametrize(
    ("break_it", "reason", "field"),
    [
        (lambda r: r.spec.run.ClearField("command"), Reason.INVALID_FIELD, "run"),
        (lambda r: setattr(r.spec, "array", -1), Reason.INVALID_FIELD, "array"),
        (lambda r: setattr(r.spec, "project", "other"), Reason.INVALID_FIELD, "project"),
        (lambda r: setattr(r, "request_id", ""), Reason.INVALID_FIELD, "request_id"),
        (lambda r: setattr(r, "order", b"signed"), Reason.INVALID_FIELD, "order"),
        (lambda r: r.spec.run.env.update(A="x" * 300_000), Reason.TOO_LARGE, "run.env.A"),
        (lambda r: r.spec.run.command.append("y" * 200_000), Reason.TOO_LARGE, "run.command"),
        (lambda r: setattr(r.spec.run, "image", "busybox"), Reason.INVALID_FIELD, "run.image"),
    ],
    ids=["nothing-to-run", "array", "project", "no-id", "order", "env", "argv", "unserved"],
)
async def test_a_bad_request_is_refused_by_the_path_of_its_field(
    tasks: Any,
    create: Create,
    refusal: Refusal,
    break_it: Callable[[Any], None],
    reason: Reason,
    field: str,
) -> None:
    request = create(1)
    break_it(request)
    refused = await refusal(tasks.CreateTask(request))
    assert refused.reason is reason
    assert field in [violation.field for violation in refused.fields]


async def test_an_environment_of_ten_megabytes_is_refused_by_its_size(
    tasks: Any, create: Create, reason: ReasonOf
) -> None:
    request = create(1)
    request.spec.run.env.update({f"A{n}": "x" * 100_000 for n in range(100)})
    assert await reason(tasks.CreateTask(request)) is Reason.TOO_LARGE
    assert (await tasks.CreateTask(create(2))).name


async def test_an_enum_of_a_newer_version_is_refused_not_guessed(
    tasks: Any, create: Create, refusal: Refusal
) -> None:
    request = create(1)
    raw = request.spec.SerializeToString() + bytes([0x28, 0x63])  # kind = 99
    request.spec.CopyFrom(task_spec_pb2.TaskSpec.FromString(raw))
    refused = await refusal(tasks.CreateTask(request))
    assert refused.reason is Reason.INVALID_FIELD


# --- cancel ---------------------------------------------------------------------------------------


def cancel(name: str, request_id: str, **more: Any) -> pb.CancelTaskRequest:
    return pb.CancelTaskRequest(name=name, reason="enough", request_id=request_id, **more)


async def test_a_waiting_task_is_cancelled_and_stays_cancelled(
    tasks: Any, create: Create, request_id: Any
) -> None:
    made = await tasks.CreateTask(create())
    request = cancel(made.name, request_id(50))
    done = await tasks.CancelTask(request)
    assert done.state == states_pb2.TASK_STATE_CANCELLED
    assert (await tasks.CancelTask(request)).etag == done.etag
    assert (await tasks.CancelTask(cancel(made.name, request_id(51)))).etag == done.etag
    events = await tasks.ListTaskEvents(pb.ListTaskEventsRequest(parent=made.name))
    assert [event.reason for event in events.events] == ["SUBMITTED", "CANCEL"]


async def test_a_cancel_under_an_old_etag_is_refused(
    tasks: Any, create: Create, request_id: Any, reason: ReasonOf
) -> None:
    made = await tasks.CreateTask(create())
    assert (
        await reason(tasks.CancelTask(cancel(made.name, request_id(50), etag="77")))
        is Reason.ETAG_MISMATCH
    )


async def test_cancelling_what_does_not_exist_is_not_found(
    tasks: Any, request_id: Any, reason: ReasonOf
) -> None:
    name = f"{PARENT}/tasks/01-00000000-0000-7000-8000-000000000000"
    assert await reason(tasks.CancelTask(cancel(name, request_id(50)))) is Reason.NOT_FOUND
