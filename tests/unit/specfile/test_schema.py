"""The published JSON Schema says what the reader of task files does."""

import dataclasses
import json
import re
from typing import Any

import pytest

from intertie.model import spec as spec_model
from intertie.model.spec import TaskSpec
from intertie.sdk.taskschema import task_schema

SCHEMA = task_schema()
DEFINITIONS: dict[str, Any] = SCHEMA["$defs"]


def test_every_dataclass_of_the_model_is_defined_with_all_its_fields() -> None:
    models = [
        m for m in vars(spec_model).values() if isinstance(m, type) and dataclasses.is_dataclass(m)
    ]
    for model in models:
        properties = DEFINITIONS[model.__name__]["properties"]
        assert list(properties) == [field.name for field in dataclasses.fields(model)]
        assert DEFINITIONS[model.__name__]["additionalProperties"] is False
        assert DEFINITIONS[model.__name__]["description"]


def test_the_root_is_the_task_spec_and_only_run_is_required() -> None:
    assert SCHEMA["$ref"] == "#/$defs/TaskSpec"
    assert DEFINITIONS[TaskSpec.__name__]["required"] == ["run"]
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_numbers_with_units_are_text_or_numbers_and_defaults_are_printed() -> None:
    properties = DEFINITIONS["Resources"]["properties"]
    assert properties["memory"]["default"] == "512MiB"
    assert properties["cpu"]["default"] == "1"
    assert DEFINITIONS["Tolerance"]["properties"]["move_after"]["default"] == "10m"


@pytest.mark.parametrize(
    ("model", "field", "good", "bad"),
    [
        ("Resources", "memory", ["512MiB", "1.5GiB", "2 GB", "7"], ["512Mib", "-1", "1e3", ""]),
        ("RunSpec", "timeout", ["90s", "1h30m", "250ms", "0"], ["90", "5min", "", "-5s"]),
        ("Resources", "cpu", ["1", "0.5", "1500m"], ["1.5k", "-1", ""]),
    ],
)
def test_the_pattern_of_a_unit_accepts_what_the_reader_accepts(
    model: str, field: str, good: list[str], bad: list[str]
) -> None:
    _, text = DEFINITIONS[model]["properties"][field]["anyOf"]
    pattern = re.compile(text["pattern"])
    assert all(pattern.search(value) for value in good)
    assert not any(pattern.search(value) for value in bad)
