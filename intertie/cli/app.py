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
    "region": Entry("intertie.cli.pools.region", "app", "See the federation's regions.", _POOLS),
    "node": Entry("intertie.cli.pools.pool", "nodes", "See the nodes of your region.", _POOLS),
    "run": Entry("intertie.cli.pools.pool", "runs", "See and evict runs in your region.", _POOLS),
    "pool": Entry("intertie.cli.pools.pool", "pool", "Run tasks of your region's own.", _POOLS),
    "metering": Entry(
        "intertie.cli.money.metering", "app", "Pull metering logs, verify them offline.", _MONEY
    ),
    "bill": Entry("intertie.cli.money.bill", "app", "Say what is owed.", _MONEY),
    "demo": Entry(
        "intertie.cli.demo.command", "demo", "Run real tasks here and verify the bill.", _SETUP
    ),
    "dev": Entry(
        "intertie.cli.dev.commands", "app", "Run a whole federation on this machine.", _SETUP
    ),
    "context": Entry(
        "intertie.cli.setup.context", "app", "Choose federation and identity.", _SETUP
    ),
    "join": Entry(
        "intertie.cli.joining.join", "join", "Join as a region, a node or a member.", _SETUP
    ),
    "rejoin": Entry(
        "intertie.cli.joining.rejoin", "rejoin", "Have a region certified again.", _SETUP
    ),
    "token": Entry("intertie.cli.joining.token", "app", "Make join tokens.", _SETUP),
    "identity": Entry(
        "intertie.cli.joining.identity", "app", "See what was issued; ban identities.", _SETUP
    ),
    "whoami": Entry("intertie.cli.joining.whoami", "whoami", "Say who we are.", _SETUP),
    "ca": Entry("intertie.cli.setup.ca", "app", "Make CAs and identities.", _SETUP),
    "federation": Entry(
        "intertie.cli.setup.serve", "federation", "Run a replica of the federation.", _SETUP
    ),
    "regional": Entry("intertie.cli.setup.serve", "regional", "Run a regional scheduler.", _SETUP),
    "agent": Entry(
        "intertie.cli.setup.serve", "agent", "Run an agent, or look at this machine.", _SETUP
    ),
    "policy": Entry(
        "intertie.cli.policy.commands", "app", "See, set and test the residency policy.", _SETUP
    ),
    "schema": Entry("intertie.cli.setup.schema", "app", "Print JSON Schemas.", _SETUP),
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
