"""`intertie schema ...`: JSON Schemas, for editors and validators."""

import typer

from intertie.billing.prices import prices_schema
from intertie.cli.options import Format
from intertie.cli.printing import structured
from intertie.sdk.policy.file import policy_schema
from intertie.sdk.taskschema import task_schema

app = typer.Typer(no_args_is_help=True, help="Print JSON Schemas.")


@app.command()
def task() -> None:
    """The schema of task files."""
    structured(task_schema(), Format.JSON)


@app.command()
def prices() -> None:
    """The schema of price lists."""
    structured(prices_schema(), Format.JSON)


@app.command()
def policy() -> None:
    """The schema of residency policies."""
    structured(policy_schema(), Format.JSON)
