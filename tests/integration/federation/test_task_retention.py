"""Final tasks of a real replica after their time: what goes, what stays, what readers are told."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from federation.adapters import task_retention
from federation.adapters.task_retention import TaskRetention
from federation.app import Application
from federation.domain.core import DONE, SPEC
from intertie.api.federation.v1 import states_pb2
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.ports import Now

DAY_MS = 86_400_000
Create = Callable[..., pb.CreateTaskRequest]
Refusal = Callable[..., Awaitable[IntertieError]]


class Later(SystemClock):
    """The real clock, some days later by the wall."""

    def __init__(self, days: float) -> None:
        super().__init__()
        self._ms = round(days * DAY_MS)

    def now(self) -> Now:
        now = super().now()
        return replace(now, utc_ms=now.utc_ms + self._ms)


def sweeper(replica: Application, days: float) -> TaskRetention:
    assert replica._pump is not None
    return TaskRetention(replica._pump, Later(days), 90 * DAY_MS)


async def kept(replica: Application, kind: str) -> int:
    assert replica._pump is not None
    store = replica._pump.store
    return sum([1 for shard in range(64) async for _ in store.scan(shard, kind)])


async def cancelled(tasks: Any, request: pb.CreateTaskRequest, request_id: str) -> Any:
    made = await tasks.CreateTask(request)
    await tasks.CancelTask(pb.CancelTaskRequest(name=made.name, request_id=request_id))
    return made


async def test_a_final_task_is_forgotten_after_its_time_and_a_live_one_is_not(
    replica: Application, tasks: Any, create: Create, request_id: Any, refusal: Refusal
) -> None:
    ended = await cancelled(tasks, create(1), request_id(91))
    live = await tasks.CreateTask(create(2))
    assert await sweeper(replica, 89.9).sweep() == 0
    assert (await tasks.GetTask(pb.GetTaskRequest(name=ended.name))).name == ended.name
    assert await sweeper(replica, 90.1).sweep() == 1
    for call in (
        tasks.GetTask(pb.GetTaskRequest(name=ended.name)),
        tasks.ListTaskEvents(pb.ListTaskEventsRequest(parent=ended.name)),
    ):
        assert (await refusal(call)).reason is Reason.NOT_FOUND
    assert (await tasks.GetTask(pb.GetTaskRequest(name=live.name))).name == live.name
    listed = await tasks.ListTasks(pb.ListTasksRequest(parent="projects/demo"))
    assert [task.name for task in listed.tasks] == [live.name]


async def test_a_watcher_that_comes_back_late_gets_the_changes_of_forgotten_tasks(
    replica: Application, tasks: Any, create: Create, request_id: Any
) -> None:
    token = await _token(tasks)
    ended = await cancelled(tasks, create(1), request_id(91))
    await sweeper(replica, 91).sweep()
    watch = tasks.WatchTasks(pb.WatchTasksRequest(parent="projects/demo", resume_token=token))
    async for message in watch:
        if message.events:
            break
    watch.cancel()
    assert {event.task for event in message.events} == {ended.name}
    assert not message.tasks


async def test_the_shared_spec_of_an_array_goes_a_sweep_after_its_last_task(
    replica: Application, tasks: Any, create: Create, request_id: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(task_retention, "STEP", 2)
    first = await tasks.CreateTask(create(1, array=3))
    listed = await tasks.ListTasks(pb.ListTasksRequest(parent="projects/demo"))
    for number, task in enumerate(listed.tasks):
        if task.name != first.name:
            request = pb.CancelTaskRequest(name=task.name, request_id=request_id(90 + number))
            await tasks.CancelTask(request)
    assert await sweeper(replica, 91).sweep() == 2
    assert await sweeper(replica, 91).sweep() == 0, "a live task shares the spec"
    done = await tasks.CancelTask(pb.CancelTaskRequest(name=first.name, request_id=request_id(80)))
    assert done.state == states_pb2.TASK_STATE_CANCELLED
    assert await sweeper(replica, 91).sweep() == 1
    assert await kept(replica, SPEC) == 1
    assert await sweeper(replica, 91).sweep() == 1
    assert await kept(replica, SPEC) == await kept(replica, DONE) == 0


async def _token(tasks: Any) -> str:
    """Where the changes of the project stand now."""
    watch = tasks.WatchTasks(pb.WatchTasksRequest(parent="projects/demo", send_initial=True))
    async for message in watch:
        watch.cancel()
        return str(message.resume_token)
    raise AssertionError("no answer")
