"""How an error is told on the terminal, and which exit code it gives."""

import typer

from intertie.errors import IntertieError


def tell(problem: IntertieError) -> int:
    """Print an error with its remedy to stderr; the exit code of the catalogue."""
    lines = [f"error: {problem.message}"]
    if problem.remedy:
        lines.append(f"remedy: {problem.remedy}")
    typer.echo("\n".join(lines), err=True)
    return problem.entry.exit
