"""Changes of a task file from the command line (`--set`), and the texts of the schema."""

import dataclasses
from typing import Any, get_args, get_type_hints

import pytest

from intertie.cli.docs.tasks import EXAMPLE
from intertie.errors import IntertieError
from intertie.model.money import Money
from intertie.model.spec import TaskSpec
from intertie.sdk.fieldtexts import FIELDS
from intertie.sdk.specfile import parse_spec

FILE = b"""
run:
  command: [python, train.py]
resources: {cpu: 1}
outputs: [{path: a}, {path: b}]
"""


def changed(**changes: str) -> TaskSpec:
    return parse_spec(FILE, changes={key.replace("__", "."): v for key, v in changes.items()})


def test_a_value_is_replaced_or_added_at_its_path() -> None:
    spec = changed(resources__cpu="2.5", run__env__NAME="x", resources__accelerators__count="0")
    assert spec.resources.cpu == 2500
    assert spec.run.env == {"NAME": "x"}


def test_an_entry_of_a_list_is_replaced_by_its_index() -> None:
    spec = parse_spec(FILE, changes={"outputs[1].path": "c", "run.command[0]": "python3"})
    assert [output.path for output in spec.outputs] == ["a", "c"]
    assert spec.run.command == ("python3", "train.py")


def test_a_list_or_group_may_be_given_whole() -> None:
    spec = parse_spec(FILE, changes={"run.command": "[echo, hi]", "tolerance": "{max_attempts: 7}"})
    assert spec.run.command == ("echo", "hi")
    assert spec.tolerance.max_attempts == 7


def test_an_empty_value_is_the_empty_text() -> None:
    assert changed(run__env__NAME="").run.env == {"NAME": ""}


@pytest.mark.parametrize(
    "path", ["", ".", "a..b", "outputs[7].path", "resources.cpu.x", "run.command[x]", "a]"]
)
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(IntertieError):
        parse_spec(FILE, changes={path: "1"})


def test_a_changed_value_is_checked_like_a_written_one() -> None:
    with pytest.raises(IntertieError, match=r"resources\.cpu"):
        changed(resources__cpu="NaN")
    with pytest.raises(IntertieError, match="did you mean"):
        changed(resorces__cpu="1")


def _fields(model: Any, found: set[str]) -> set[str]:
    for field in dataclasses.fields(model):
        found.add(f"{model.__name__}.{field.name}")
    for hint in get_type_hints(model).values():
        for inner in (hint, *get_args(hint)):
            if dataclasses.is_dataclass(inner) and f"{inner.__name__}." not in str(found):  # type: ignore[union-attr] # a class
                _fields(inner, found)
    return found


def test_each_field_of_a_task_has_one_text_and_no_text_is_left_over() -> None:
    fields = _fields(TaskSpec, set())
    fields |= {f"Money.{field.name}" for field in dataclasses.fields(Money)}
    assert fields == set(FIELDS)


def test_the_worked_example_of_the_page_is_a_valid_task() -> None:
    spec = parse_spec(EXAMPLE.encode())
    assert spec.checkpoint is not None
    assert spec.checkpoint.interval == 1000
