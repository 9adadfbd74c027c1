"""Values of every dataclass that travels, made by hypothesis from the same hints as the mappers."""

import dataclasses
import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import strategies as st

from intertie.model.money import Money
from intertie.model.spec import Unit
from intertie.model.task import Task
from intertie.model.token import Epoch
from intertie.wire.matching import unset_is_default

TEXT = st.text(max_size=8)
INT32 = st.integers(-(2**31), 2**31 - 1)
DURATION = st.integers(0, 10**12)
INSTANT = st.integers(-(10**12), 10**13)
TASK_ID = st.uuids().map(lambda u: f"2a-{u}")
MONEY = st.builds(
    Money, st.sampled_from(("EUR", "CNY")), st.integers(0, 2**40), st.integers(0, 999_999_999)
)


def _field(model: type[Any], field: "dataclasses.Field[Any]", hint: Any) -> st.SearchStrategy[Any]:
    if (model, field.name) == (Task, "project"):
        return st.sampled_from(("vision", "a-1"))
    if (model, field.name) == (Task, "id"):
        return TASK_ID
    if (model, field.name) == (Task, "version"):
        return st.integers(0, 10**9)
    values = _of(hint, instant=field.name.endswith("_ms"))
    if unset_is_default(model) and field.default is not dataclasses.MISSING and field.default:
        return values.map(lambda value: value or field.default)
    return values


def _of(hint: Any, *, instant: bool = False) -> st.SearchStrategy[Any]:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return st.none() | _of(get_args(hint)[0])
    if origin is Annotated:
        return DURATION if get_args(hint)[1] is Unit.MILLIS else st.integers(0, 2**31 - 1)
    if origin is tuple:
        return st.lists(_of(get_args(hint)[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(_of(get_args(hint)[0]), _of(get_args(hint)[1]), max_size=3)
    if hint is Money:
        return MONEY
    if dataclasses.is_dataclass(hint):
        return values_of(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    if hint is int and instant:
        return DURATION
    scalars: Mapping[Any, st.SearchStrategy[Any]] = {
        str: TEXT,
        bytes: st.binary(max_size=8),
        bool: st.booleans(),
        int: INT32,
        float: st.floats(allow_nan=False),
    }
    return scalars[hint]


def values_of(model: Any) -> st.SearchStrategy[Any]:
    """Values of a dataclass with every field drawn."""
    if model is Epoch:
        return st.builds(Epoch, INT32, INT32)
    hints = get_type_hints(model, include_extras=True)
    return st.builds(
        model, **{f.name: _field(model, f, hints[f.name]) for f in dataclasses.fields(model)}
    )


@pytest.fixture(scope="session")
def values() -> Callable[[Any], st.SearchStrategy[Any]]:
    """The strategy of a dataclass."""
    return values_of
