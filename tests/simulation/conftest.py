"""A world of one region, a plain spec, and what submits it."""

from collections.abc import Callable

import pytest

from federation.domain.events import CreateTask
from intertie.model.names import task_id
from intertie.model.spec import RunSpec, TaskSpec
from intertie.model.task import Task
from intertie.twin.world import World

Submit = Callable[[TaskSpec], Task]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def spec() -> TaskSpec:
    return TaskSpec(run=RunSpec(command=("true",)))


def _id(n: int) -> str:
    return task_id(3, f"01890000-0000-7000-8000-{n:012x}")


@pytest.fixture
def submit(world: World) -> Submit:
    made = iter(range(1, 1000))

    def _submit(spec: TaskSpec) -> Task:
        n = next(made)
        count = max(1, spec.array)
        ids = tuple(_id(n * 1000 + i) for i in range(count))

        def event(ticket: int) -> CreateTask:
            return CreateTask(
                ticket=ticket,
                project="vision",
                ids=ids,
                spec=spec,
                spec_sha256="0" * 64,
                principal="p",
                actor="p",
                request_id=str(n),
                request_digest="d",
            )

        answer = world.ask(event)
        assert isinstance(answer, Task)
        return answer

    return _submit
