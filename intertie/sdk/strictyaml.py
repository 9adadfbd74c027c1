"""A small, strict part of YAML 1.2: one document, no tags, no duplicate keys, bounded, with lines.

`NO`, `on`, `1:30` and dates stay text (YAML 1.1 made them false, true, 90 and dates); numbers with
a point stay exact. Aliases are allowed and counted as what they expand to. Makes no object of a
file's choosing.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml

from intertie.errors import IntertieError, Reason, error, invalid

MAX_BYTES = 1 << 20
MAX_NODES = 100_000
MAX_DEPTH = 32

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})")
_OCTAL = re.compile(r"0o[0-7]{1,20}")
_DECIMAL = re.compile(r"[-+]?[0-9]{1,19}\.[0-9]{1,19}")
_WORDS = {
    word: value
    for text, value in (("null", None), ("true", True), ("false", False))
    for word in (text, text.title(), text.upper())
} | {"": None, "~": None}
_STR_TAGS = (None, "!", "tag:yaml.org,2002:str")

_Tagged = yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent
_Event = _Tagged | yaml.AliasEvent
Scalar = str | int | bool | Decimal | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value with the line (from 1) where it begins; `weight` counts all nodes in it."""

    value: "Scalar | list[Node] | dict[str, Node]"
    line: int
    weight: int = 1


def parse(data: bytes, source: str) -> Node:
    """Read one document; INVALID_FIELD or TOO_LARGE names `source` and the line."""
    if len(data) > MAX_BYTES:
        raise error(
            Reason.TOO_LARGE, f"{source}: {len(data)} bytes; the limit of a spec is {MAX_BYTES}."
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise _fault(source, line, f"byte {problem.start} is not valid UTF-8") from None
    loader = _LOADER(text)
    try:
        return _Reader(loader, source).document()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        last = text.count("\n") + 1
        line = min(mark.line + 1, last) if mark else 1
        raise _fault(source, line, problem.problem or "is no YAML") from None
    except yaml.YAMLError as problem:
        raise _fault(source, 1, str(problem).replace("\n", " ")) from None
    finally:
        loader.dispose()


def plain(value: object, path: str = "spec") -> Node:
    """Python data, as a caller or a JSON file gives it, as nodes without lines (0)."""
    match value:
        case dict():
            inner = {str(key): plain(item, f"{path}.{key}") for key, item in value.items()}
            return Node(inner, 0)
        case list() | tuple():
            return Node([plain(item, f"{path}[{i}]") for i, item in enumerate(value)], 0)
        case float():
            text = repr(value)
            return Node(Decimal(text) if _DECIMAL.fullmatch(text) else text, 0)
        case str() | int() | Decimal() | None:
            return Node(value, 0)
    raise invalid(path, f"is a {type(value).__name__}, not plain data")


def _fault(source: str, line: int, text: str) -> IntertieError:
    return error(Reason.INVALID_FIELD, f"{source}:{line}: {text}.", metadata={"line": str(line)})


class _Reader:
    """Builds nodes from parser events, by its own bounded recursion."""

    def __init__(self, loader: Any, source: str) -> None:  # noqa: ANN401 - PyYAML's C or Python loader
        self._loader = loader
        self._source = source
        self._anchors: dict[str, Node] = {}
        self._count = 0

    def document(self) -> Node:
        self._loader.get_event()
        event = self._loader.get_event()
        if isinstance(event, yaml.StreamEndEvent):
            raise _fault(self._source, 1, "the file is empty")
        root = self._node(self._loader.get_event(), 0)
        self._loader.get_event()
        event = self._loader.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            line = event.start_mark.line + 1
            raise _fault(self._source, line, "a second document begins; one spec is one document")
        return root

    def _node(self, event: _Event, depth: int) -> Node:
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise _fault(self._source, line, f"is nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            node = self._anchors.get(event.anchor)
            if node is None:
                raise _fault(self._source, line, f"there is no anchor {event.anchor!r} before")
            self._add(node.weight, line)
            return Node(node.value, line, node.weight)
        self._add(1, line)
        before = self._count
        if isinstance(event, yaml.ScalarEvent):
            value: Scalar | list[Node] | dict[str, Node] = self._scalar(event, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._plain_tag(event, line)
            value = self._list(depth)
        else:
            self._plain_tag(event, line)
            value = self._dict(depth)
        node = Node(value, line, self._count - before + 1)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _list(self, depth: int) -> list[Node]:
        items = []
        while not isinstance(event := self._loader.get_event(), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _dict(self, depth: int) -> dict[str, Node]:
        items: dict[str, Node] = {}
        while not isinstance(event := self._loader.get_event(), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise _fault(self._source, line, "a key must be plain text")
            if event.value in items:
                first = items[event.value].line
                raise _fault(
                    self._source, line, f"{event.value[:80]!r} was given before, in line {first}"
                )
            items[event.value] = self._node(self._loader.get_event(), depth + 1)
        return items

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        text: str = event.value
        if not event.implicit[0] or event.tag is not None:
            self._plain_tag(event, line)
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return int(text)
        if _OCTAL.fullmatch(text):
            return int(text, 8)
        return Decimal(text) if _DECIMAL.fullmatch(text) else text

    def _plain_tag(self, event: _Tagged, line: int) -> None:
        allowed = _STR_TAGS if isinstance(event, yaml.ScalarEvent) else (None, "!")
        if event.tag not in allowed:
            raise _fault(self._source, line, f"the tag {event.tag!r} is not allowed")

    def _add(self, weight: int, line: int) -> None:
        self._count += weight
        if self._count > MAX_NODES:
            raise _fault(self._source, line, f"has more than {MAX_NODES} values, aliases counted")
