"""A group of commands that are imported when they are called, not when they are listed.

`intertie --help` and `intertie version` must be quick, and most commands need gRPC. So the root has
a table of names with one line of help each; the module behind a name is loaded when it is run.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group


@dataclass(frozen=True, slots=True)
class Entry:
    """One name: where its command is, and its line in the help.

    `attribute` of `module` is a `typer.Typer` (a group) or a function (a command).
    """

    module: str
    attribute: str
    help: str
    panel: str

    def load(self, name: str) -> Any:  # noqa: ANN401 - typer's own copy of click has no public name
        """Import the command."""
        found = getattr(import_module(self.module), self.attribute)
        if isinstance(found, typer.Typer):
            found.rich_markup_mode = None
            command: Any = get_group(found)
        else:
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(name)(found)
            command = get_command(single)
        command.name = name
        return command


class LazyGroup(TyperGroup):
    """See the module's text. A subclass sets `entries`."""

    entries: Mapping[str, Entry] = {}
    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - as in typer
        """All names, in the order of the table."""
        del ctx
        return list(self.entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - as in typer
        """The command; while names are listed only its name and help."""
        del ctx
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=entry.help)
        return entry.load(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as in typer
        """Write the help without importing the commands."""
        with self._only_listing():
            super().format_help(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as in typer
        """Write the names under the headings of the table."""
        del ctx
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.entries.items():
            panels.setdefault(entry.panel, []).append((name, entry.help))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:  # noqa: ANN401 - as in typer
        """Complete names without importing the commands."""
        with self._only_listing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _only_listing(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False
