"""Options that many commands share. Loads nothing but typer."""

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
