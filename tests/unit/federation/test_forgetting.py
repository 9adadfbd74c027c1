"""Final tasks are forgotten, live ones and what they share never."""

from typing import Any

import pytest

from federation.domain.core import DONE, GRANT, LIVE, SPEC
from federation.domain.forgetting import ForgetTasks, created_ms_of
from intertie.drive.effects import Erase, Reply
from intertie.model.spec import RunSpec, TaskSpec


def forget(room: Any, *, tasks: tuple[str, ...] = (), specs: tuple[str, ...] = ()) -> Any:
    return room.give(ForgetTasks(ticket=1, shard=1, tasks=tasks, specs=specs))


def test_a_final_task_goes_and_its_grant_stays(room: Any, pick: Any) -> None:
    task = room.running()
    room.end(task)
    effects = forget(room, tasks=(task.id,))
    assert pick.one(effects, Erase).kind == DONE
    assert pick.one(effects, Reply).value == 1
    assert [kind for kind, _ in room.rows if kind == GRANT]


def test_a_live_task_is_never_forgotten(room: Any) -> None:
    task = room.submit()
    with pytest.raises(AssertionError, match="live"):
        forget(room, tasks=(task.id,))
    assert (LIVE, task.id) in room.rows


def test_a_shared_spec_goes_when_no_live_task_shares_it(room: Any, pick: Any) -> None:
    first = room.submit(TaskSpec(run=RunSpec(command=("true",)), array=2))
    room.cancel(first)
    assert not pick.some(forget(room, specs=(first.spec_ref,)), Erase)
    (second,) = room.core.tasks.values()
    room.cancel(second)
    assert pick.one(forget(room, specs=(first.spec_ref,)), Erase).kind == SPEC


def test_an_id_says_when_its_task_was_made(room: Any) -> None:
    task = room.submit()
    assert created_ms_of(task.id) == task.created_ms
    array = room.submit(TaskSpec(run=RunSpec(command=("true",)), array=2))
    assert created_ms_of(array.spec_ref) == array.created_ms
