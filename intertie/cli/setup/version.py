"""`intertie version`: what is installed."""

import json
import platform
from importlib import metadata

import typer

from intertie.cli.options import Format, Output


def version(output: Output = Format.TABLE) -> None:
    """Print the version of this program."""
    installed = metadata.version("intertie")
    if output is Format.JSON:
        told = {"version": installed, "python": platform.python_version()}
        typer.echo(json.dumps(told, indent=2))
    else:
        typer.echo(installed if output is Format.NAME else f"intertie {installed}")
