"""Watching tasks: no change is missed, whatever breaks in between.

Every response says where to go on. A stream that ends is opened again from there; a token that the
server no longer takes (its store was restored) starts anew from the present states.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing

from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.task_service_pb2_grpc import TaskServiceStub
from intertie.errors import IntertieError, Reason
from intertie.model.states import TaskState
from intertie.model.task import Task
from intertie.sdk.calls.together import together
from intertie.sdk.connection import Connection
from intertie.sdk.resources import WatchBatch
from intertie.wire.tasks import event_from_pb, task_from_pb

MAX_NAMED = 1_000

OnTask = Callable[[Task], None]


async def watch(
    connection: Connection,
    parent: str,
    *,
    tasks: Sequence[str] = (),
    resume_token: str = "",
    send_initial: bool = False,
) -> AsyncGenerator[WatchBatch, None]:
    """Stream changes for ever.

    Args:
        connection: to the federation.
        parent: `projects/{project}`.
        tasks: full names, at most 1,000; empty = all of the project.
        resume_token: of an earlier batch; empty = from now on.
        send_initial: begin with the present states of the named tasks.

    Yields:
        Batches with changes, and a first one, perhaps empty, from which on nothing is missed.
    """
    token = resume_token

    async def reopen() -> AsyncGenerator[pb.WatchTasksResponse, None]:
        request = pb.WatchTasksRequest(
            parent=parent, resume_token=token, tasks=tasks, send_initial=not token
        )
        async with aclosing(connection.stream(TaskServiceStub, "WatchTasks", request)) as stream:
            async for response in stream:
                yield response

    begun = bool(resume_token)
    while True:
        try:
            async with aclosing(connection.resumed(reopen, endless=True)) as stream:
                async for response in stream:
                    token = response.resume_token
                    batch = _batch(response, with_tasks=begun or send_initial)
                    if batch.events or batch.tasks or not begun:
                        yield batch
                    begun = True
        except IntertieError as problem:
            restored = problem.reason is Reason.TOKEN_INVALID and tasks and token != resume_token
            if not restored:
                raise
            token = ""


def _batch(response: pb.WatchTasksResponse, *, with_tasks: bool) -> WatchBatch:
    events = tuple(event_from_pb(event) for event in response.events)
    tasks = tuple(task_from_pb(task) for task in response.tasks) if with_tasks else ()
    return WatchBatch(events, tasks, response.resume_token)


def is_settled(task: Task) -> bool:
    """Whether nothing more happens to a task by itself: it is final, or waits for a person."""
    return task.is_final or task.state is TaskState.PARKED


async def wait_all(
    connection: Connection, parent: str, names: Iterable[str], on_task: OnTask | None = None
) -> dict[str, Task]:
    """Wait until every named task is settled; `on_task` sees each state that is told."""
    listed = list(dict.fromkeys(names))
    parts = [listed[at : at + MAX_NAMED] for at in range(0, len(listed), MAX_NAMED)]
    settled: dict[str, Task] = {}
    for done in await together(_wait(connection, parent, part, on_task) for part in parts):
        settled |= done
    return {name: settled[name] for name in listed}


async def _wait(
    connection: Connection, parent: str, names: Sequence[str], on_task: OnTask | None
) -> dict[str, Task]:
    settled: dict[str, Task] = {}
    batches = watch(connection, parent, tasks=names, send_initial=True)
    async with aclosing(batches) as stream:
        async for batch in stream:
            for task in batch.tasks:
                if on_task is not None:
                    on_task(task)
                name = str(task.name)
                if is_settled(task):
                    settled[name] = task
                else:
                    settled.pop(name, None)
            if len(settled) == len(names):
                return settled
    raise AssertionError("a watch never ends by itself")
