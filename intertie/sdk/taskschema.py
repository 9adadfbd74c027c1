"""JSON Schema of task files, from the same type hints that `intertie.sdk.specfile` walks over."""

import dataclasses
import inspect
import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from intertie.model.spec import TaskSpec, Unit
from intertie.model.units import SIZES, TIMES, format_bytes, format_milli, format_millis
from intertie.sdk.fieldtexts import FIELDS

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_NUMBER = r"[0-9]+(\.[0-9]+)?"
_UNITS: Mapping[Unit, dict[str, Any]] = {
    Unit.BYTES: {
        "description": "A size, for example 512MiB; a bare number is bytes.",
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": rf"^{_NUMBER} ?({'|'.join(SIZES)})?$"},
        ],
    },
    Unit.MILLIS: {
        "description": "A duration, for example 90s or 1h30m.",
        "anyOf": [
            {"const": 0},
            {"type": "string", "pattern": rf"^(0|({_NUMBER}({'|'.join(TIMES)}))+)$"},
        ],
    },
    Unit.MILLI: {
        "description": "A number, for example 0.5 or 1500m.",
        "anyOf": [
            {"type": "number", "minimum": 0},
            {"type": "string", "pattern": rf"^{_NUMBER}m?$"},
        ],
    },
}
_PRINT = {Unit.BYTES: format_bytes, Unit.MILLIS: format_millis, Unit.MILLI: format_milli}
_SCALARS: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer"}


def task_schema() -> dict[str, Any]:
    """The schema; `intertie schema task` prints it, editors complete task files with it."""
    definitions: dict[str, Any] = {}
    root = _schema(TaskSpec, definitions)
    return {
        "$schema": DRAFT,
        "$id": "urn:intertie:schema:task",
        "title": "Intertie task",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a type hint
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(get_args(hint)[0], definitions), {"type": "null"}]}
    if origin is Annotated:
        return _UNITS[get_args(hint)[1]]
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(hint)[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(get_args(hint)[1], definitions)}
    if dataclasses.is_dataclass(hint):
        return _reference(hint, definitions)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"description": inspect.getdoc(hint), "enum": [member.value for member in hint]}
    return {"type": _SCALARS[hint]}


def _reference(model: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a class
    name = model.__name__
    if name not in definitions:
        definitions[name] = {}
        definitions[name] = _object(model, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object(model: Any, definitions: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a class
    hints = get_type_hints(model, include_extras=True)
    properties: dict[str, Any] = {}
    required = []
    for field in dataclasses.fields(model):
        hint = hints[field.name]
        properties[field.name] = _schema(hint, definitions)
        if field.default is not dataclasses.MISSING:
            _add_default(properties, field.name, hint, field.default)
        elif field.default_factory is dataclasses.MISSING:
            required.append(field.name)
        text = FIELDS[f"{model.__name__}.{field.name}"]
        unit = properties[field.name].get("description", "")
        if "$ref" not in properties[field.name] and get_origin(hint) is Annotated:
            text = f"{text} {unit}"
        properties[field.name] = properties[field.name] | {"description": text}
    if model.__name__ == "RunSpec":
        command = properties["command"]
        properties["command"] = {
            "description": command.pop("description"),
            "anyOf": [command, {"type": "string"}],
        }
    body = {
        "description": inspect.getdoc(model),
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    return body | ({"required": required} if required else {})


def _add_default(properties: dict[str, Any], name: str, hint: Any, default: Any) -> None:  # noqa: ANN401 - any field
    if get_origin(hint) is Annotated:
        printed = _PRINT[get_args(hint)[1]](default)
        properties[name] = properties[name] | {"default": printed}
    elif isinstance(default, str | bool | int) and default != "":
        properties[name] = properties[name] | {"default": default}
