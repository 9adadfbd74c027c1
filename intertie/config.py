"""Configuration of a process: TOML file < environment < flags, checked once at start.

A service declares one `Settings` class: every field with its unit, default and meaning. Unknown
keys are errors that name the nearest key; all faults are told at once, as CONFIG_INVALID. Must not
know any service, nor decide what a value means.
"""

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    SettingsConfigDict,
)

from intertie.errors import FieldViolation, IntertieError, Reason, error
from intertie.model.units import parse_bytes, parse_millis

NESTED = "__"
"""Between the parts of a key in the environment: INTERTIE_FEDERATION_TIMING__LEASE."""


def _reader(parse: Any) -> BeforeValidator:  # noqa: ANN401 - any of the parsers of units
    def read(value: object) -> object:
        if not isinstance(value, str | int | float):
            return value
        try:
            return parse(value)
        except IntertieError as fault:
            raise ValueError(fault.fields[0].description) from None

    return BeforeValidator(read)


Millis = Annotated[int, _reader(parse_millis)]
"""A duration as people write it (`90s`), in milliseconds."""

Bytes = Annotated[int, _reader(parse_bytes)]
"""A size as people write it (`4MiB`), in bytes."""


def of_text(duration: str) -> int:
    """The milliseconds of a default, written as people write it."""
    return parse_millis(duration)


class Section(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Settings(BaseSettings):
    """All of a process's configuration, made by `load`. Subclasses set their `env_prefix`."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, env_nested_delimiter=NESTED)


S = TypeVar("S", bound=Settings)


def load(
    settings: type[S],
    *,
    file: Path | None = None,
    flags: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> S:
    """Read and check a configuration.

    Args:
        settings: the class.
        file: a TOML file; paths in it are taken as they are.
        flags: `key=value` or `section.key=value`, the strongest source.
        environment: the process's own if absent.

    Raises:
        IntertieError: CONFIG_INVALID with every fault.
    """
    environment = os.environ if environment is None else environment
    prefix = str(settings.model_config.get("env_prefix", ""))
    _refuse_unknown_variables(settings, prefix, environment)
    merged = _read_toml(file) if file is not None else {}
    _merge(merged, _from_environment(settings, environment))
    for flag in flags:
        _merge(merged, _from_flag(flag))
    try:
        return settings.model_validate(merged, by_name=True)
    except ValidationError as faults:
        raise _told(settings, faults, file) from None


def _from_environment(settings: type[Settings], environment: Mapping[str, str]) -> dict[str, Any]:
    source = EnvSettingsSource(settings)
    source.env_vars = {k.lower(): v for k, v in environment.items()}
    return source()


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise _invalid(f"{file} cannot be read: {problem.strerror}.", "Check the path.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise _invalid(f"{file} is no TOML: {problem}.", "Mend the line that it names.") from None


def _from_flag(flag: str) -> dict[str, Any]:
    key, equals, text = flag.partition("=")
    if not equals or not key:
        raise _invalid(f"{flag[:80]!r} is not KEY=VALUE.", "Write timing.lease=20s for instance.")
    try:
        value: Any = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text
    for part in reversed(key.split(".")):
        value = {part: value}
    assert isinstance(value, dict), "a key has at least one part"
    return value


def _merge(into: dict[str, Any], stronger: Mapping[str, Any]) -> None:
    for key, value in stronger.items():
        weaker = into.get(key)
        if isinstance(weaker, dict) and isinstance(value, Mapping):
            _merge(weaker, value)
        else:
            into[key] = value


def _refuse_unknown_variables(
    settings: type[Settings], prefix: str, environment: Mapping[str, str]
) -> None:
    known = {f"{prefix}{key}".upper() for key in _keys(settings, NESTED)}
    for name in sorted(environment):
        if name.startswith(prefix.upper()) and name not in known:
            raise _invalid(f"{name} is no setting{_nearest(name, known)}.", "Correct or unset it.")


def _keys(model: type[BaseModel], joint: str, before: str = "") -> Iterable[str]:
    for name, field in model.model_fields.items():
        yield before + name
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _keys(inner, joint, before + name + joint)


def _told(settings: type[Settings], faults: ValidationError, file: Path | None) -> IntertieError:
    known = list(_keys(settings, "."))
    fields: list[FieldViolation] = []
    for fault in faults.errors(include_url=False, include_context=False):
        key = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            fields.append(FieldViolation(key, f"is no setting{_nearest(key, known)}"))
        else:
            text = fault["msg"].removeprefix("Value error, ")
            fields.append(FieldViolation(key, text[:1].lower() + text[1:]))
    message = "; ".join(f"{f.field}: {f.description}" if f.field else f.description for f in fields)
    where = f"{file}: " if file is not None else ""
    return error(
        Reason.CONFIG_INVALID,
        f"{where}{message}.",
        remedy="Correct the configuration and check it with --check.",
        fields=fields,
    )


def _nearest(key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    return f"; the nearest is {near[0]}" if near else ""


def _invalid(message: str, remedy: str) -> IntertieError:
    return error(Reason.CONFIG_INVALID, message, remedy=remedy)
