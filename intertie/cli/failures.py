"""How an error is told on the terminal, and which exit code it gives."""

from types import TracebackType

import typer

from intertie.errors import IntertieError


def tell(problem: IntertieError) -> int:
    """Print an error with its remedy to stderr; the exit code of the catalogue."""
    lines = [f"error: {problem.message}"]
    if problem.remedy:
        lines.append(f"remedy: {problem.remedy}")
    typer.echo("\n".join(lines), err=True)
    return problem.entry.exit


def tell_fault(kind: type[BaseException], problem: BaseException, _: TracebackType | None) -> None:
    """Print a fault of our own in one line, for `sys.excepthook`."""
    typer.echo(
        f"error: a fault of intertie itself: {kind.__name__}: {problem}\n"
        "remedy: Run it again as `intertie --traceback ...` and report what it prints.",
        err=True,
    )
