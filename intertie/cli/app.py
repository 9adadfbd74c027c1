"""The root of the command line: the table of commands, global options, and how errors end.

Each command is in a module of its own, named here and imported when it is called.
"""

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.main import get_command

from intertie.cli.failures import tell, tell_fault
from intertie.cli.lazy import Entry, LazyGroup
from intertie.cli.options import Globals
from intertie.errors import IntertieError

_TASKS, _POOLS, _MONEY, _SETUP = "Tasks", "Regions and pools", "Metering", "Setup"

COMMANDS: Mapping[str, Entry] = {
    "plan": Entry(
        "intertie.cli.tasks.plan", "plan", "Say where a task could run, and why.", _TASKS
    ),
    "submit": Entry("intertie.cli.tasks.submit", "submit", "Submit a task.", _TASKS),
    "task": Entry("intertie.cli.tasks.task", "app", "See, watch, explain and end tasks.", _TASKS),
    "version": Entry("intertie.cli.setup.version", "version", "Print the version.", _SETUP),
}
"""Every command: its module, its function or group, and its line in the help."""


class Root(LazyGroup):
    """All commands; an error of the catalogue becomes text and an exit code."""

    entries = COMMANDS

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as in typer
        """Run the command."""
        try:
            return super().invoke(ctx)
        except IntertieError as problem:
            if isinstance(ctx.obj, Globals) and ctx.obj.traceback:
                raise
            raise typer.Exit(tell(problem)) from None
        except BrokenPipeError:
            # Whoever read our output has gone; Python's own flush at exit must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None


app = typer.Typer(
    name="intertie",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


@app.callback()
def root(
    ctx: typer.Context,
    context: Annotated[
        str,
        typer.Option(envvar="INTERTIE_CONTEXT", help="Which federation and identity to use."),
    ] = "",
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where in the program an error came from.")
    ] = False,
) -> None:
    """Submit AI tasks to a federation of computing power, and check what they cost."""
    ctx.obj = Globals(context=context, traceback=traceback)


def run() -> None:
    """Run with the arguments of the process."""
    if "--traceback" not in sys.argv:
        sys.excepthook = tell_fault
    get_command(app)()
