"""Options that many commands share. Loads nothing but typer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How a command prints what it found."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Output = Annotated[
    Format,
    typer.Option("-o", "--output", help="table, wide, json, yaml, or name (one a line)."),
]

Project = Annotated[
    str, typer.Option("--project", help="The project; that of the identity if left out.")
]

TaskId = Annotated[
    str,
    typer.Argument(metavar="ID", help="Full name, id, display name, or a unique beginning of one."),
]


@dataclass(frozen=True, slots=True)
class Globals:
    """The options that stand before the command."""

    context: str = ""
    traceback: bool = False
