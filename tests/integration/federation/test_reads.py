"""Reads: lists, filters, tokens, watches, and who may see what."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from federation.app import Application
from intertie.api.federation.v1 import region_service_pb2, states_pb2
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.region_service_pb2_grpc import RegionServiceStub
from intertie.errors import IntertieError, Reason
from intertie.testing.fake_region import FakeRegion
from intertie.testing.waiting import eventually

PARENT = "projects/demo"
Create = Callable[..., pb.CreateTaskRequest]
ReasonOf = Callable[[Any], Awaitable[Reason]]
Refusal = Callable[[Any], Awaitable[IntertieError]]
WITHIN_S = 10.0


async def names(tasks: Any, **more: Any) -> list[str]:
    listed = await tasks.ListTasks(pb.ListTasksRequest(parent=PARENT, **more))
    return [task.spec.name for task in listed.tasks]


async def test_lists_show_the_newest_first_whether_live_or_done(
    tasks: Any, create: Create, request_id: Any
) -> None:
    made = [await tasks.CreateTask(create(n, name=f"t{n}")) for n in range(6)]
    for n in (0, 2, 4):
        request = pb.CancelTaskRequest(name=made[n].name, request_id=request_id(90 + n))
        await tasks.CancelTask(request)
    assert await names(tasks) == ["t5", "t4", "t3", "t2", "t1", "t0"]
    assert await names(tasks, filter="state = CANCELLED") == ["t4", "t2", "t0"]
    assert await names(tasks, filter='state != "CANCELLED"') == ["t5", "t3", "t1"]


async def test_pages_follow_each_other_without_gap_or_repeat(tasks: Any, create: Create) -> None:
    for n in range(7):
        await tasks.CreateTask(create(n, name=f"t{n}"))
    seen: list[str] = []
    token = ""
    sizes = []
    while True:
        page = await tasks.ListTasks(
            pb.ListTasksRequest(parent=PARENT, page_size=3, page_token=token)
        )
        seen += [task.spec.name for task in page.tasks]
        sizes.append(len(page.tasks))
        token = page.next_page_token
        if not token:
            break
    assert sizes == [3, 3, 1]
    assert seen == [f"t{n}" for n in reversed(range(7))]


async def test_filters_join_labels_names_and_states(tasks: Any, create: Create) -> None:
    await tasks.CreateTask(create(1, name="a", labels={"team": "vision"}))
    await tasks.CreateTask(create(2, name="b", labels={"team": "speech"}))
    assert await names(tasks, filter='labels.team = "vision"') == ["a"]
    assert await names(tasks, filter='state = "PENDING" AND display_name = b') == ["b"]
    assert await names(tasks, filter='labels.none = "x"') == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("stat = PENDING", "Did you mean state?"),
        ("state = PENDIN", "Did you mean PENDING?"),
        ("state > PENDING", "'>' is not served"),
        ("state = PENDING OR state = FAILED", "expected AND"),
        ("state =", "not complete"),
        ("(state = PENDING)", "'(' is not served"),
    ],
    ids=["field", "value", "operator", "or", "short", "parenthesis"],
)
async def test_a_filter_beyond_what_is_served_is_refused_by_its_place(
    tasks: Any, refusal: Refusal, text: str, part: str
) -> None:
    refused = await refusal(tasks.ListTasks(pb.ListTasksRequest(parent=PARENT, filter=text)))
    assert refused.reason is Reason.INVALID_FIELD
    assert part in str(refused)
    assert "at character" in str(refused)


async def test_a_page_token_works_for_the_same_question_only(
    tasks: Any, create: Create, reason: ReasonOf
) -> None:
    for n in range(3):
        await tasks.CreateTask(create(n))
    page = await tasks.ListTasks(pb.ListTasksRequest(parent=PARENT, page_size=1))
    token = page.next_page_token
    for request in (
        pb.ListTasksRequest(parent=PARENT, page_size=1, page_token=token, filter="state = FAILED"),
        pb.ListTasksRequest(parent=PARENT, page_size=1, page_token=token[:-2] + "AA"),
        pb.ListTasksRequest(parent=PARENT, page_size=1, page_token="x" * 9_000),
        pb.ListTasksRequest(parent=PARENT, page_size=1, page_token="not base64!"),
    ):
        assert await reason(tasks.ListTasks(request)) is Reason.TOKEN_INVALID
    events = pb.ListTaskEventsRequest(parent=page.tasks[0].name, page_token=token)
    assert await reason(tasks.ListTaskEvents(events)) is Reason.TOKEN_INVALID


async def test_runs_and_events_are_read_by_name(
    tasks: Any, create: Create, eu: FakeRegion, reason: ReasonOf
) -> None:
    made = await tasks.CreateTask(create())
    await eu.run_of(made.name)

    async def running() -> Any:
        run = await tasks.GetRun(pb.GetRunRequest(name=f"{made.name}/runs/1"))
        return run if run.state == states_pb2.RUN_STATE_RUNNING else None

    async def begun() -> bool:
        return bool((await tasks.ListRuns(pb.ListRunsRequest(parent=made.name))).runs)

    await eventually(begun, WITHIN_S)
    run = await eventually(running, WITHIN_S)
    assert (run.region, run.node) == ("eu", "n1")
    assert await reason(tasks.GetRun(pb.GetRunRequest(name=f"{made.name}/runs/2"))) is (
        Reason.NOT_FOUND
    )
    seen = []
    token = ""
    while True:
        page = await tasks.ListTaskEvents(
            pb.ListTaskEventsRequest(parent=made.name, page_size=1, page_token=token)
        )
        seen += [event.reason for event in page.events]
        token = page.next_page_token
        if not token:
            break
    assert seen == ["SUBMITTED", "ASSIGNED", "QUEUED", "RUNNING"]


# --- watching -------------------------------------------------------------------------------------


async def events_of(stream: Any, count: int) -> tuple[list[str], str]:
    """The first changes of a watch as `task:reason`, and the token after them."""
    seen: list[str] = []
    token = ""
    async with asyncio.timeout(WITHIN_S):
        async for response in stream:
            seen += [f"{event.task}:{event.reason}" for event in response.events]
            token = response.resume_token
            if len(seen) >= count:
                break
    stream.cancel()
    return seen, token


async def test_a_watch_shows_each_change_with_the_present_state(tasks: Any, create: Create) -> None:
    stream = tasks.WatchTasks(pb.WatchTasksRequest(parent=PARENT))
    first: asyncio.Task[Any] = asyncio.ensure_future(anext(aiter(stream)))
    made = await tasks.CreateTask(create())

    async def came() -> bool:
        if not first.done():
            await tasks.CreateTask(create(2))
        return first.done()

    await eventually(came, WITHIN_S)
    response = first.result()
    assert response.events[0].reason == "SUBMITTED"
    assert response.tasks[0].state == states_pb2.TASK_STATE_PENDING
    assert response.tasks[0].name in {made.name, response.events[0].task}
    stream.cancel()


async def test_a_watch_that_resumes_misses_nothing_and_repeats_nothing(
    place: Any, replica: Application, tasks: Any, create: Create
) -> None:
    await tasks.CreateTask(create(0))
    stream = tasks.WatchTasks(pb.WatchTasksRequest(parent=PARENT, tasks=[], send_initial=True))
    first = await anext(aiter(stream))
    token = first.resume_token
    stream.cancel()
    made = [(await tasks.CreateTask(create(n))).name for n in range(1, 30)]
    seen: list[str] = []
    while len(seen) < 29:
        resumed = tasks.WatchTasks(pb.WatchTasksRequest(parent=PARENT, resume_token=token))
        more, token = await events_of(resumed, min(7, 29 - len(seen)))
        seen += more
    assert sorted(seen) == sorted(f"{name}:SUBMITTED" for name in made)


async def test_a_watch_resumes_after_a_restart_of_the_replica(
    place: Any, replica: Application, tasks: Any, create: Create
) -> None:
    stream = tasks.WatchTasks(pb.WatchTasksRequest(parent=PARENT, send_initial=True))
    token = (await anext(aiter(stream))).resume_token
    stream.cancel()
    made = [(await tasks.CreateTask(create(n))).name for n in range(5)]
    await replica.stop()
    second = await place.start()
    again = place.tasks(second.address)
    resumed = again.WatchTasks(pb.WatchTasksRequest(parent=PARENT, resume_token=token))
    seen, _ = await events_of(resumed, 5)
    assert sorted(seen) == sorted(f"{name}:SUBMITTED" for name in made)


async def test_a_watch_of_one_task_sends_its_state_first_and_then_only_its_changes(
    tasks: Any, create: Create, request_id: Any
) -> None:
    made = await tasks.CreateTask(create(1))
    await tasks.CreateTask(create(2))
    stream = tasks.WatchTasks(
        pb.WatchTasksRequest(parent=PARENT, tasks=[made.name], send_initial=True)
    )
    responses: AsyncIterator[Any] = aiter(stream)
    first = await anext(responses)
    assert [task.name for task in first.tasks] == [made.name]
    await tasks.CreateTask(create(3))
    await tasks.CancelTask(pb.CancelTaskRequest(name=made.name, request_id=request_id(9)))
    second = await anext(responses)
    assert [event.reason for event in second.events] == ["CANCEL"]
    assert second.tasks[0].state == states_pb2.TASK_STATE_CANCELLED
    stream.cancel()


async def test_a_watch_token_is_bound_to_what_is_watched(
    tasks: Any, create: Create, reason: ReasonOf
) -> None:
    made = await tasks.CreateTask(create(1))
    stream = tasks.WatchTasks(pb.WatchTasksRequest(parent=PARENT, send_initial=True))
    token = (await anext(aiter(stream))).resume_token
    stream.cancel()
    other = pb.WatchTasksRequest(parent=PARENT, tasks=[made.name], resume_token=token)
    assert await reason(tasks.WatchTasks(other)) is Reason.TOKEN_INVALID
    altered = pb.WatchTasksRequest(parent=PARENT, resume_token=token[:-3] + "AAA")
    assert await reason(tasks.WatchTasks(altered)) is Reason.TOKEN_INVALID


# --- who may --------------------------------------------------------------------------------------


async def test_another_projects_task_is_invisible_in_every_call(
    place: Any, replica: Application, tasks: Any, create: Create, request_id: Any, reason: ReasonOf
) -> None:
    made = await tasks.CreateTask(create())
    eve = place.tasks(replica.address, "project/other/eve")
    name = made.name
    for call in (
        eve.GetTask(pb.GetTaskRequest(name=name)),
        eve.CancelTask(pb.CancelTaskRequest(name=name, request_id=request_id(9))),
        eve.ListTasks(pb.ListTasksRequest(parent=PARENT)),
        eve.ListTaskEvents(pb.ListTaskEventsRequest(parent=name)),
        eve.ExplainTask(pb.ExplainTaskRequest(name=name)),
        eve.ListRuns(pb.ListRunsRequest(parent=name)),
        eve.WatchTasks(pb.WatchTasksRequest(parent=PARENT)),
        eve.ReadTaskLogs(pb.ReadTaskLogsRequest(name=name)),
        eve.CreateTask(create(2)),
    ):
        assert await reason(call) is Reason.PERMISSION_DENIED
    own = f"projects/other/tasks/{name.rpartition('/')[2]}"
    assert await reason(eve.GetTask(pb.GetTaskRequest(name=own))) is Reason.NOT_FOUND
    watch = pb.WatchTasksRequest(parent="projects/other", tasks=[name])
    assert await reason(eve.WatchTasks(watch)) is Reason.INVALID_FIELD


@pytest.mark.parametrize("identity", ["billing/bob", "eu:operator/joe", "eu:node/n1"])
async def test_roles_that_have_no_business_with_tasks_are_refused(
    place: Any, replica: Application, create: Create, reason: ReasonOf, identity: str
) -> None:
    stub = place.tasks(replica.address, identity)
    assert await reason(stub.CreateTask(create())) is Reason.PERMISSION_DENIED
    listing = stub.ListTasks(pb.ListTasksRequest(parent=PARENT))
    assert await reason(listing) is Reason.PERMISSION_DENIED


async def test_an_admin_reads_every_project_and_submits_in_none(
    place: Any, replica: Application, tasks: Any, create: Create, reason: ReasonOf
) -> None:
    made = await tasks.CreateTask(create())
    admin = place.tasks(replica.address, "admin/root")
    assert (await admin.GetTask(pb.GetTaskRequest(name=made.name))).name == made.name
    assert await reason(admin.CreateTask(create(2))) is Reason.PERMISSION_DENIED


async def test_an_operator_reads_its_own_region_only(
    place: Any, replica: Application, eu: FakeRegion, reason: ReasonOf
) -> None:
    stub: Any = RegionServiceStub(place.channel(replica.address, "us:operator/joe"))
    request = region_service_pb2.GetRegionRequest(name="regions/eu")
    assert await reason(stub.GetRegion(request)) is Reason.PERMISSION_DENIED


async def test_a_call_without_a_known_task_or_with_a_broken_name_says_which(
    tasks: Any, reason: ReasonOf
) -> None:
    missing = f"{PARENT}/tasks/01-00000000-0000-7000-8000-000000000000"
    assert await reason(tasks.GetTask(pb.GetTaskRequest(name=missing))) is Reason.NOT_FOUND
    broken = pb.GetTaskRequest(name=f"{PARENT}/tasks/ff-x")
    assert await reason(tasks.GetTask(broken)) is Reason.INVALID_FIELD
    other_shard = f"{PARENT}/tasks/ff-00000000-0000-7000-8000-000000000000"
    assert await reason(tasks.GetTask(pb.GetTaskRequest(name=other_shard))) is Reason.NOT_FOUND
