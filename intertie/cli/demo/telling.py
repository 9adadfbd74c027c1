"""How the demo speaks: headings, facts, tables, and checks that end it if they do not hold.

Must not decide anything; every figure comes from whoever calls.
"""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from intertie.clock import SystemClock
from intertie.errors import Reason, error

WIDTH = 160
"""Columns where the output is no terminal."""


def is_tty() -> bool:
    """Whether a person looks on directly."""
    return sys.stdout.isatty()


class Telling:
    """Prints the story with the time since its beginning."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, soft_wrap=True, width=None if is_tty() else WIDTH)
        self._clock = SystemClock()
        self._start_ns = self._clock.now().boot_ns
        self.checks = 0

    def seconds(self) -> float:
        """Time since the beginning."""
        return (self._clock.now().boot_ns - self._start_ns) / 1e9

    def heading(self, text: str) -> None:
        """Begin a part of the story."""
        self.console.print(f"\n[bold]{text}[/bold]")

    def fact(self, text: str) -> None:
        """Something that was read from the system."""
        self.console.print(f"[dim]{self.seconds():6.1f} s[/dim]  {text}")

    def command(self, text: str) -> None:
        """The command by which a reader sees the same."""
        self.console.print(f"          [dim]$ {text}[/dim]")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows under a line of names."""
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for column in columns:
            table.add_column(column, no_wrap=True)
        for row in rows:
            table.add_row(*(str(cell) for cell in row))
        self.console.print(table, crop=False)

    def check(self, holds: object, text: str) -> None:
        """A claim of the demo: it holds, or the demo ends with an error."""
        if not holds:
            raise error(Reason.INTERNAL, f"The demo's claim does not hold: {text}.")
        self.checks += 1
        self.fact(f"[green]ok[/green]  {text}")
