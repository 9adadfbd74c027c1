"""Task files: YAML (or the same as Python data) to TaskSpec.

A walk over the type hints of the dataclasses, so that the file format is the model: units are
parsed where a field is marked with one, an unknown field names the nearest, and every fault names
its path and line. All faults are collected. What fields mean together is judged by
`intertie.model.validate`.
"""

import dataclasses
import difflib
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from intertie.errors import CallerError, FieldViolation, Reason, error, invalid
from intertie.model.spec import TaskSpec, Unit
from intertie.model.units import parse_bytes, parse_milli, parse_millis
from intertie.model.validate import validate
from intertie.model.validate.violations import Violations
from intertie.sdk.strictyaml import MAX_BYTES, Node, parse, plain

RESERVED = frozenset(
    {"run.secrets", "run.network", "data.credentials", "model_weights.credentials"}
)
"""Fields that the contract names and no version serves yet."""

_UNITS: Mapping[Unit, Callable[..., int]] = {
    Unit.BYTES: parse_bytes,
    Unit.MILLIS: parse_millis,
    Unit.MILLI: parse_milli,
}
T = TypeVar("T")

_INVALID = object()
"""Stands for a value whose fault was noted."""


def load_spec(path: Path, changes: Mapping[str, str] | None = None) -> TaskSpec:
    """Read and check a task file. `run.workdir` and `run.files` are as written, not yet packed.

    Args:
        path: the file.
        changes: YAML values by field path (`resources.cpu`, `run.command[1]`) that replace or add
            to what is written.
    """
    return parse_spec(_read(path), str(path), changes)


def load_value(path: Path, model: type[T]) -> T:
    """A value of any other dataclass of the model, from a YAML file of the same form."""
    root, found = parse(_read(path), str(path)), Violations()
    value = _Walk(found).value(model, root, "")
    try:
        found.raise_if_any()
    except CallerError as fault:
        raise located(fault, root, str(path)) from None
    assert isinstance(value, model), "a walk without a fault made it"
    return value


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise error(Reason.NOT_FOUND, f"{path}: {problem.strerror}.") from None


def parse_spec(
    data: bytes, source: str = "task.yaml", changes: Mapping[str, str] | None = None
) -> TaskSpec:
    """The spec of a YAML text; CallerError with all faults, each with its path and line."""
    root = parse(data, source)
    for path, text in (changes or {}).items():
        root = _changed(root, path, parse(text.encode() or b'""', f"--set {path}"))
    return _spec(root, source)


def spec_of(data: Mapping[str, Any], source: str = "spec") -> TaskSpec:
    """The spec of Python data of the same form as a file."""
    return _spec(plain(dict(data)), source)


def _spec(root: Node, source: str) -> TaskSpec:
    found = Violations()
    if isinstance(root.value, dict):
        _one_string_for_a_shell(root.value.get("run"))
    spec = _Walk(found).value(TaskSpec, root, "")
    try:
        found.raise_if_any()
        assert isinstance(spec, TaskSpec)
        validate(spec, packed=False)
    except CallerError as fault:
        raise located(fault, root, source) from None
    return spec


def _one_string_for_a_shell(run: Node | None) -> None:
    """Let people write `command: one string` where `shell: true` says so."""
    if run is None or not isinstance(run.value, dict):
        return
    command, shell = run.value.get("command"), run.value.get("shell")
    if command and shell and shell.value is True and isinstance(command.value, str):
        run.value["command"] = Node([command], command.line)


def _changed(root: Node, path: str, value: Node) -> Node:
    """The tree with a value put where a path points; groups on the way are made."""
    steps = re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)
    spelled = "".join(f".{name}" if name else f"[{index}]" for name, index in steps)
    if not steps or spelled.removeprefix(".") != path:
        raise invalid(path, "is no path of a field", remedy="Write resources.cpu, for instance.")
    return _put(root, steps, value, path)


def _put(node: Node, steps: Sequence[tuple[str, str]], value: Node, path: str) -> Node:
    if not steps:
        return Node(value.value, node.line)
    (name, index), rest = steps[0], steps[1:]
    inside = {} if node.value is None else node.value
    if name and isinstance(inside, dict):
        below = inside.get(name, Node(None, node.line))
        return Node({**inside, name: _put(below, rest, value, path)}, node.line)
    if index and isinstance(inside, list) and int(index) < len(inside):
        at = int(index)
        below = _put(inside[at], rest, value, path)
        return Node([*inside[:at], below, *inside[at + 1 :]], node.line)
    raise invalid(path, "there is nothing to set at this path")


# --- lines ---------------------------------------------------------------------------------------


def located(fault: CallerError, root: Node, source: str) -> CallerError:
    """The same fault with lines, those of the nearest value that is written in the file."""
    told = []
    lines = []
    for violation in fault.fields:
        line = _line(root, violation.field)
        place = f"{source}:{line}" if line else source
        told.append(f"{place}: {violation.field}: {violation.description}")
        lines.append(line)
    fields = [
        FieldViolation(v.field, f"line {line}: {v.description}" if line else v.description)
        for v, line in zip(fault.fields, lines, strict=True)
    ]
    return CallerError(
        fault.reason,
        "; ".join(told[:5]) + (f"; and {len(told) - 5} more." if len(told) > 5 else "."),
        remedy=fault.remedy,
        fields=fields,
        metadata={"line": str(lines[0])},
    )


def _line(root: Node, path: str) -> int:
    node = root
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        inner: Node | None = None
        if name and isinstance(node.value, dict):
            inner = node.value.get(name)
        elif index and isinstance(node.value, list) and int(index) < len(node.value):
            inner = node.value[int(index)]
        if inner is None:
            break
        node = inner
    return node.line


# --- values --------------------------------------------------------------------------------------


@cache
def _hints(model: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(model, include_extras=True)


class _Walk:
    """Turns nodes into values of the hinted types and notes what does not fit."""

    def __init__(self, found: Violations) -> None:
        self._found = found

    def value(self, hint: Any, node: Node, path: str) -> Any:  # noqa: ANN401 - as the hint says
        origin = get_origin(hint)
        if origin in (Union, types.UnionType):
            if node.value is None:
                return None
            return self.value(get_args(hint)[0], node, path)
        if node.value is None:
            return self._fault(path, "has no value: give one or leave the field out")
        if origin is Annotated:
            return self._unit(get_args(hint)[1], node, path)
        if origin is tuple:
            return self._tuple(get_args(hint)[0], node, path)
        if origin is Mapping:
            return self._mapping(get_args(hint)[1], node, path)
        if dataclasses.is_dataclass(hint):
            return self._dataclass(hint, node, path)
        if isinstance(hint, type) and issubclass(hint, StrEnum):
            return self._enum(hint, node, path)
        return self._scalar(hint, node, path)

    def _fault(self, path: str, text: str, reason: Reason = Reason.INVALID_FIELD) -> object:
        self._found.add(path or "spec", text, reason)
        return _INVALID

    def _unit(self, unit: Unit, node: Node, path: str) -> object:
        if isinstance(node.value, list | dict):
            return self._fault(path, "must be one value")
        given = node.value if isinstance(node.value, bool | int) else str(node.value)
        try:
            return _UNITS[unit](given, path)
        except CallerError as fault:
            self._found.add(path, fault.fields[0].description, remedy=fault.remedy)
            return _INVALID

    def _tuple(self, item: Any, node: Node, path: str) -> object:  # noqa: ANN401 - a type hint
        if not isinstance(node.value, list):
            if path.endswith("run.command"):
                return self._fault(path, "must be a list: [python, train.py]; or set shell: true")
            return self._fault(path, f"must be a list: [{_shown(node)}]")
        values = [self.value(item, inner, f"{path}[{i}]") for i, inner in enumerate(node.value)]
        return tuple(values)

    def _mapping(self, item: Any, node: Node, path: str) -> object:  # noqa: ANN401 - a type hint
        if not isinstance(node.value, dict):
            return self._fault(path, "must be names with values")
        return {key: self.value(item, v, f"{path}.{key[:80]}") for key, v in node.value.items()}

    def _dataclass(self, model: Any, node: Node, path: str) -> object:  # noqa: ANN401 - a class
        if not isinstance(node.value, dict):
            return self._fault(path, "must have fields, one a line")
        hints = _hints(model)
        given = {}
        for name, inner in node.value.items():
            below = f"{path}.{name[:80]}" if path else name[:80]
            if name in hints:
                given[name] = self.value(hints[name], inner, below)
            else:
                self._unknown(below, name, hints)
        for field in dataclasses.fields(model):
            if field.name not in given and _is_required(field):
                below = f"{path}.{field.name}" if path else field.name
                given[field.name] = self._fault(below, "must be given")
        if any(value is _INVALID for value in given.values()):
            return _INVALID
        try:
            return model(**given)
        except CallerError as fault:
            first = fault.fields[0]
            return self._fault(f"{path}.{first.field}", first.description)

    def _unknown(self, path: str, name: str, known: Iterable[str]) -> None:
        if re.sub(r"\[\d+\]", "", path) in RESERVED:
            self._fault(path, "is reserved and not served by this version")
            return
        near = difflib.get_close_matches(name, list(known), n=1)
        hint = f"did you mean {near[0]}?" if near else f"fields are {', '.join(known)}"
        self._fault(path, f"there is no such field; {hint}", Reason.UNKNOWN_FIELD)

    def _enum(self, enum: type[StrEnum], node: Node, path: str) -> object:
        values = [member.value for member in enum]
        if isinstance(node.value, str) and node.value in values:
            return enum(node.value)
        near = difflib.get_close_matches(str(node.value).lower(), values, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(values)}"
        return self._fault(path, f"{_shown(node)} is not allowed; {hint}")

    def _scalar(self, hint: type[Any], node: Node, path: str) -> object:
        if type(node.value) is hint:
            return node.value
        if hint is str:
            if isinstance(node.value, list | dict):
                return self._fault(path, "must be text")
            return self._fault(path, f'must be text: write "{_shown(node)}" in quotes')
        wanted = {bool: "true or false", int: "a whole number"}[hint]
        return self._fault(path, f"{_shown(node)} is not {wanted}")


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _shown(node: Node) -> str:
    if isinstance(node.value, list):
        return "a list"
    if isinstance(node.value, dict):
        return "a group of fields"
    if isinstance(node.value, bool):
        return str(node.value).lower()
    return str(node.value)[:80]
