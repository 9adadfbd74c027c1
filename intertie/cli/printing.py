"""How results are written to stdout: aligned columns, JSON, YAML, or one name a line.

Columns are cut to the width of a terminal and to nothing when piped, where there is no colour
either; NO_COLOR is honoured. What people should know beside the result goes to stderr (`notice`).
"""

import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from intertie.cli.options import Format

T = TypeVar("T")

_PIPED_WIDTH = 100_000
_STYLES = {
    "SUCCEEDED": "green",
    "RUNNING": "cyan",
    "FAILED": "red",
    "PARKED": "yellow",
    "UNKNOWN": "yellow",
    "CANCELLED": "dim",
    "REACHABLE": "green",
    "OUT_OF_TOUCH": "red",
    "yes": "green",
    "no": "red",
}


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column: its title, what it shows of a value, and whether only `-o wide` shows it."""

    title: str
    text: Callable[[T], str]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class View(Generic[T]):
    """How values of one kind are printed.

    Args:
        plural: key of the list in JSON.
        columns: of the table.
        name: what `-o name` prints.
        json: the JSON object of one value.
    """

    plural: str
    columns: Sequence[Column[T]]
    name: Callable[[T], str]
    json: Callable[[T], dict[str, Any]]

    def many(self, values: Sequence[T], output: Format) -> None:
        """Print a list."""
        match output:
            case Format.JSON | Format.YAML:
                structured({self.plural: [self.json(value) for value in values]}, output)
            case Format.NAME:
                lines(self.name(value) for value in values)
            case _:
                shown = [c for c in self.columns if output is Format.WIDE or not c.wide]
                rows = [[column.text(value) for column in shown] for value in values]
                table([column.title for column in shown], rows)

    def one(self, value: T, output: Format) -> None:
        """Print one value: all columns, one a line, as a table."""
        match output:
            case Format.JSON | Format.YAML:
                structured(self.json(value), output)
            case Format.NAME:
                lines([self.name(value)])
            case _:
                facts([(c.title, c.text(value)) for c in self.columns])


def structured(value: object, output: Format) -> None:
    """Print JSON or YAML."""
    if output is Format.YAML:
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True).rstrip("\n")
    else:
        text = json.dumps(value, indent=2, ensure_ascii=False)
    typer.echo(text)


def json_line(value: object) -> None:
    """Print one JSON object on a line of its own: an element of a stream."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def lines(texts: Iterable[str]) -> None:
    """Print lines."""
    for text in texts:
        typer.echo(text)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns under their titles."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        grid.add_column(title, no_wrap=not sys.stdout.isatty(), overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    _render(grid)


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print `name  value` lines; those without a value are left out."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, value in pairs:
        if value:
            grid.add_row(name.lower(), Text(value, style=_STYLES.get(value, "")))
    _render(grid)


def notice(text: str) -> None:
    """Tell something beside the result, on stderr."""
    typer.echo(text, err=True)


def progress_is_shown() -> bool:
    """Whether somebody looks at stderr."""
    return sys.stderr.isatty()


def _render(grid: Table) -> None:
    if sys.stdout.isatty():
        Console().print(grid)
        return
    console = Console(file=io.StringIO(), width=_PIPED_WIDTH, no_color=True, legacy_windows=False)
    with console.capture() as captured:
        console.print(grid)
    lines(line.rstrip() for line in captured.get().splitlines())
