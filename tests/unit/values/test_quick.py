"""The faster constructor and `changed` do what dataclasses do."""

import dataclasses
from dataclasses import dataclass, field

import pytest

from intertie.model.states import TaskState
from intertie.model.task import Task
from intertie.values import changed, quick


@quick
@dataclass(frozen=True, slots=True)
class Point:
    """Positional, with a default and a factory."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)


@quick
@dataclass(frozen=True, slots=True)
class Nothing:
    """Without fields."""


def test_arguments_defaults_and_factories_are_those_of_the_dataclass() -> None:
    assert Point(1) == Point(x=1, y=2, tags=[])
    assert Point(1).tags is not Point(1).tags
    assert Point(1, 3, ["a"]) == Point(tags=["a"], y=3, x=1)
    assert Nothing() == Nothing()


def test_a_missing_or_unknown_argument_is_refused() -> None:
    for wrong in ({}, {"x": 1, "z": 2}):
        with pytest.raises(TypeError):
            Point(**wrong)  # type: ignore[arg-type] # the point of the test
    with pytest.raises(TypeError):
        Task("bench", "id", None)  # type: ignore[misc] # all are named


def test_a_value_stays_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc] # the point of the test


def test_changed_does_what_replace_does() -> None:
    task = Task(project="bench", id="1", spec=None)
    changes = {"state": TaskState.CANCELLED, "version": 4}
    assert changed(task, **changes) == dataclasses.replace(
        task, state=TaskState.CANCELLED, version=4
    )
    assert task.version == 0
    with pytest.raises(AttributeError):
        changed(task, no_such_field=1)
