"""The converters of one pair as Python source: straight-line code, one or two lines per field.

Every submitted task, run update and list entry passes here, and a call per field would cost more
than the field. The text is made of identifiers of our own classes and descriptors only, as in
`dataclasses` itself; no value of a message gets into it.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from typing import Any, NoReturn, Protocol

from intertie.errors import CallerError
from intertie.wire.matching import Match, Override, Sort, enum_numbers, unset_is_default
from intertie.wire.scalars import (
    FaultError,
    fill_duration,
    fill_timestamp,
    ms_of_duration,
    ms_of_timestamp,
)

Read = Callable[[Any], Any]
"""Message in, value out; raises FaultError."""

Write = Callable[[Any, Any], None]
"""Value and an empty message to fill; raises FaultError."""


class _Container(Protocol):
    """A repeated field of messages."""

    def add(self) -> object: ...

    def __len__(self) -> int: ...


class EnumTable(dict[int, Any]):
    """Member by number; a number that this version does not know is a fault, not a guess."""

    def __missing__(self, number: int) -> NoReturn:
        if number == 0:
            raise FaultError("must be given")
        raise FaultError(f"has the value {number}, which this version does not know")


def generate(
    model: type[Any],
    matches: Sequence[Match],
    overrides: Sequence[Override],
    inner: Callable[[Match], tuple[Read, Write]],
) -> tuple[Read, Write]:
    """Make the two converters of a pair; `inner` gives those of the messages inside."""
    scope: dict[str, Any] = {
        "Model": model,
        "new": object.__new__,
        "FaultError": FaultError,
        "CallerError": CallerError,
        "refused": _refused,
        "read_each": _read_each,
        "fill_each": _fill_each,
        "missing": _missing,
        "ms_of_duration": ms_of_duration,
        "ms_of_timestamp": ms_of_timestamp,
        "fill_duration": fill_duration,
        "fill_timestamp": fill_timestamp,
    }
    for field in dataclasses.fields(model):
        scope[f"s_{field.name}"] = getattr(model, field.name).__set__
    for match in matches:
        _bind(scope, match, inner)
    for i, override in enumerate(overrides):
        scope[f"read_{i}"], scope[f"write_{i}"] = override.read, override.write
    source = "\n".join(
        (*_read_source(model, matches, overrides), *_write_source(model, matches, overrides))
    )
    code = compile(source, f"<wire of {model.__name__}>", "exec")
    exec(code, scope)  # noqa: S102 - own identifiers only, see the module's text
    return scope["read"], scope["write"]


def _bind(
    scope: dict[str, Any], match: Match, inner: Callable[[Match], tuple[Read, Write]]
) -> None:
    name = match.name
    scope[f"d_{name}"] = match.fallback
    if match.sort in (Sort.MESSAGE, Sort.MESSAGES):
        scope[f"r_{name}"], scope[f"w_{name}"] = inner(match)
    if match.sort is Sort.ENUM:
        assert match.inner is not None, name
        assert match.descriptor.enum_type is not None, name
        numbers = enum_numbers(match.inner, match.descriptor.enum_type)
        table = EnumTable({number: member for member, number in numbers.items()})
        if match.fallback is not MISSING or match.optional:
            table[0] = None if match.fallback is MISSING else match.fallback
        scope[f"e_{name}"], scope[f"n_{name}"] = table, numbers


# --- message -> value ----------------------------------------------------------------------------


def _read_source(
    model: type[Any], matches: Sequence[Match], overrides: Sequence[Override]
) -> Iterable[str]:
    values: dict[str, str] = {}
    yield "def read(pb):"
    yield "    f = ''"
    yield "    try:"
    yield "        has = pb.HasField"
    for match in matches:
        expression, can_fail = _read(match, zero_is_unset=unset_is_default(model))
        if can_fail:
            yield f"        f = {match.name!r}; v_{match.name} = {expression}"
            expression = f"v_{match.name}"
        values[match.name] = expression
    for i, override in enumerate(overrides):
        targets = "".join(f"v_{name}, " for name in override.fields)
        yield f"        f = {override.pb!r}; {targets} = read_{i}(pb.{override.pb})"
        values |= {name: f"v_{name}" for name in override.fields}
    yield from _make_source(model, values)
    yield "    except FaultError as fault: raise fault.under(f) from None"
    yield "    except CallerError as error: raise refused(error) from None"
    yield "    except ValueError as error: raise FaultError(str(error), f) from None"


def _make_source(model: type[Any], values: Mapping[str, str]) -> Iterable[str]:
    """Make the value: set its slots, in half the time that a frozen dataclass's `__init__` takes.

    All fields are known here. A model that checks itself is made by its constructor.
    """
    if hasattr(model, "__post_init__"):
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        yield f"        f = ''; return Model({arguments})"
        return
    yield "        made = new(Model)"
    for name, value in values.items():
        yield f"        s_{name}(made, {value})"
    yield "        return made"


def _read(match: Match, *, zero_is_unset: bool) -> tuple[str, bool]:
    """The expression for one field, and whether it can fail."""
    name, value, has = match.name, f"pb.{match.pb}", f"has({match.pb!r})"
    unset = f"d_{name}"
    if match.fallback is MISSING:
        unset = "None" if match.optional else "missing()"
    time = "0" if match.fallback is MISSING else unset  # 0 = not yet, none
    match match.sort:
        case Sort.SCALAR if match.optional:
            return f"{value} if {has} else None", False
        case Sort.SCALAR if zero_is_unset and match.fallback is not MISSING and match.fallback:
            return f"{value} or d_{name}", False
        case Sort.SCALAR:
            return value, False
        case Sort.ENUM:
            return f"e_{name}[{value}]", True
        case Sort.MESSAGE:
            return f"r_{name}({value}) if {has} else {unset}", True
        case Sort.DURATION:
            return f"ms_of_duration({value}) if {has} else {time}", True
        case Sort.TIMESTAMP:
            return f"ms_of_timestamp({value}) if {has} else {time}", True
        case Sort.SCALARS:
            return f"tuple(r[:]) if (r := {value}) else ()", False
        case Sort.MESSAGES:
            return f"read_each(r_{name}, r) if (r := {value}) else ()", True
        case Sort.MAP:
            return f"dict(r.items()) if (r := {value}) else {{}}", False


def _refused(error: CallerError) -> FaultError:
    """What the model itself refuses when a value is made of the fields."""
    first = error.fields[0]
    return FaultError(first.description, first.field)


def _missing() -> NoReturn:
    raise FaultError("must be given")


def _read_each(read: Read, container: Sequence[Any]) -> tuple[Any, ...]:
    done: list[Any] = []
    try:
        done.extend(map(read, container))
    except FaultError as fault:
        raise fault.under(f"[{len(done)}]") from None
    return tuple(done)


# --- value -> message ----------------------------------------------------------------------------


def _write_source(
    model: type[Any], matches: Sequence[Match], overrides: Sequence[Override]
) -> Iterable[str]:
    yield "def write(m, pb):"
    yield "    f = ''"
    yield "    try:"
    for match in matches:
        yield f"        f = {match.name!r}; v = m.{match.name}"
        for line in _write(match, zero_is_unset=unset_is_default(model)):
            yield f"        {line}"
    for i, override in enumerate(overrides):
        yield f"        f = {override.pb!r}; pb.{override.pb} = write_{i}(m)"
    yield "    except FaultError as fault: raise fault.under(f) from None"
    yield "    except (TypeError, ValueError) as error: raise FaultError(str(error), f) from None"


def _write(match: Match, *, zero_is_unset: bool) -> Sequence[str]:
    """The statements for one field, its value being in `v`.

    Where an unset field means its default, a default is left out: half of a usual spec.
    """
    name, target = match.name, f"pb.{match.pb}"
    given = "if v is not None: " if match.optional else ""
    match match.sort:
        case Sort.SCALAR:
            return (f"{given or 'if v: '}{target} = v",)
        case Sort.ENUM:
            return (f"{given}{target} = n_{name}[v]",)
        case Sort.MESSAGE if zero_is_unset and match.fallback is not MISSING:
            fill = f"s = {target}; s.SetInParent(); w_{name}(v, s)"
            return (f"if v is not d_{name} and v != d_{name}: {fill}",)
        case Sort.MESSAGE:
            return (f"{given}s = {target}; s.SetInParent(); w_{name}(v, s)",)
        case Sort.DURATION if match.fallback:
            return (f"{target}.SetInParent(); fill_duration(v, {target})",)
        case Sort.DURATION:
            return (f"if v: fill_duration(v, {target})",)
        case Sort.TIMESTAMP:
            return (f"if v: fill_timestamp(v, {target})",)
        case Sort.SCALARS:
            return (f"if v: {target}.extend(v)",)
        case Sort.MESSAGES:
            return (f"if v: fill_each(w_{name}, v, {target})",)
        case Sort.MAP:
            return (f"if v: {target}.update(v)",)


def _fill_each(write: Write, values: Iterable[Any], container: _Container) -> None:
    try:
        for value in values:
            write(value, container.add())
    except FaultError as fault:
        raise fault.under(f"[{len(container) - 1}]") from None
