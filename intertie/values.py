"""Frozen dataclasses that are made by the thousand a second: a faster constructor, and `changed`.

The constructor of a frozen dataclass calls `object.__setattr__` for each field, and
`dataclasses.replace` looks through all fields and then calls it. Here both are generated code that
fills the slots: half of the time to make a task, a third of it to change one (bench/submit.py). The
text is made of the names of our own fields only, as in `dataclasses` itself.

Only for slotted classes without a `__post_init__`. Imports nothing of Intertie.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

T = TypeVar("T")

_COPIES: dict[type[Any], Callable[[Any], Any]] = {}


def quick(made: type[T]) -> type[T]:
    """Give a frozen, slotted dataclass the faster constructor; stands above `@dataclass`."""
    assert not hasattr(made, "__post_init__"), "a class that checks itself keeps its constructor"
    listed = fields(made)  # type: ignore[arg-type] # asked of dataclasses alone
    if not listed:
        return made
    scope: dict[str, Any] = {"MISSING": MISSING}
    for field in listed:
        assert field.init, "each field is an argument"
        scope[f"set_{field.name}"] = getattr(made, field.name).__set__
        scope[f"default_{field.name}"] = field.default
        scope[f"make_{field.name}"] = field.default_factory
    _run(_constructor(listed), made, scope)
    scope["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    setattr(made, "__init__", scope["__init__"])  # noqa: B010 - mypy forbids it as an assignment
    return made


def changed(value: T, **changes: object) -> T:
    """A copy with other values of some fields; faster than `dataclasses.replace`."""
    of = type(value)
    copy = _COPIES.get(of)
    if copy is None:
        copy = _COPIES[of] = _make_copy(of)
    made: T = copy(value)
    for name, new in changes.items():
        getattr(of, name).__set__(made, new)
    return made


def _constructor(listed: tuple[Field[Any], ...]) -> Iterator[str]:
    plain = [field for field in listed if not field.kw_only]
    named = [field for field in listed if field.kw_only]
    arguments = ["self", *map(_argument, plain), *(["*"] if named else []), *map(_argument, named)]
    yield f"def __init__({', '.join(arguments)}):"
    for field in listed:
        if field.default_factory is not MISSING:
            yield f"    if {field.name} is MISSING: {field.name} = make_{field.name}()"
        yield f"    set_{field.name}(self, {field.name})"


def _argument(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=MISSING"
    return field.name if field.default is MISSING else f"{field.name}=default_{field.name}"


def _make_copy(of: type[Any]) -> Callable[[Any], Any]:
    assert not hasattr(of, "__post_init__"), "a class that checks itself is made by its constructor"
    scope: dict[str, Any] = {"new": object.__new__, "Class": of}
    for field in fields(of):
        slot = getattr(of, field.name)
        scope[f"set_{field.name}"] = slot.__set__
    lines = [f"    set_{field.name}(made, old.{field.name})" for field in fields(of)]
    _run(["def copy(old):", "    made = new(Class)", *lines, "    return made"], of, scope)
    copy: Callable[[Any], Any] = scope["copy"]
    return copy


def _run(lines: Iterable[str], of: type[Any], scope: dict[str, Any]) -> None:
    code = compile("\n".join(lines), f"<values of {of.__name__}>", "exec")
    exec(code, scope)  # noqa: S102 - names of our own fields only, see the module's text
