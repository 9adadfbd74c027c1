"""The task file of `plan` and `submit`, with what the command line changes in it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from intertie.errors import invalid
from intertie.model.spec import TaskSpec
from intertie.sdk.specfile import load_spec, parse_spec
from intertie.sdk.strictyaml import MAX_BYTES

TaskFile = Annotated[
    str, typer.Argument(metavar="TASK.yaml", help="The task file; - reads it from stdin.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set a field: resources.cpu=2. Repeatable."),
]


@dataclass(frozen=True, slots=True)
class Given:
    """A spec and the folder that its paths are relative to."""

    spec: TaskSpec
    base: Path


def read_task(file: str, changes: Sequence[str] | None) -> Given:
    """Read and check a task file."""
    pairs = dict(_pair(change) for change in changes or ())
    if file == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        return Given(parse_spec(data, "stdin", pairs), Path())
    path = Path(file)
    return Given(load_spec(path, pairs), path.parent)


def _pair(change: str) -> tuple[str, str]:
    key, equals, value = change.partition("=")
    if not equals or not key:
        raise invalid("--set", f"{change[:80]!r} is not KEY=VALUE", remedy="Write resources.cpu=2.")
    return key, value
