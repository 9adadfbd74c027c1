"""From a command to a client: the context that was chosen, retries told once, Ctrl-C in good order.

Must not know any command.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import typer

from intertie.cli.options import Globals
from intertie.cli.printing import notice
from intertie.errors import IntertieError
from intertie.sdk.client import Client
from intertie.sdk.connection import OnRetry
from intertie.sdk.membership.admin import AdminClient
from intertie.sdk.membership.operator import OperatorClient
from intertie.sdk.policy.client import PolicyClient
from intertie.sdk.pool import PoolClient

T = TypeVar("T")

INTERRUPTED = 130


def open_client(ctx: typer.Context, project: str = "") -> Client:
    """The client of the chosen context."""
    return Client.from_context(_context(ctx), project=project, on_retry=_tell_once())


def open_pool(ctx: typer.Context) -> PoolClient:
    """The client of the chosen context's region."""
    return PoolClient.from_context(_context(ctx), on_retry=_tell_once())


def open_admin(ctx: typer.Context) -> AdminClient:
    """The client of the chosen context for tokens, identities and regions."""
    return AdminClient.from_context(_context(ctx), on_retry=_tell_once())


def open_policy(ctx: typer.Context) -> PolicyClient:
    """The client of the chosen context for the residency policy."""
    return PolicyClient.from_context(_context(ctx), on_retry=_tell_once())


def open_operator(ctx: typer.Context) -> OperatorClient:
    """The client of the chosen context's region for node tokens."""
    return OperatorClient.from_context(_context(ctx), on_retry=_tell_once())


def run(coroutine: Coroutine[Any, Any, T], interrupted: Callable[[], str] | None = None) -> T:
    """Run a command to its end; Ctrl-C ends it with 130 and says what goes on.

    Args:
        coroutine: the command.
        interrupted: makes the text for Ctrl-C.
    """
    try:
        return asyncio.run(coroutine)
    except KeyboardInterrupt:
        text = interrupted() if interrupted is not None else ""
        if text:
            notice(text)
        raise typer.Exit(INTERRUPTED) from None


def _context(ctx: typer.Context) -> str:
    chosen = ctx.find_object(Globals)
    return chosen.context if chosen is not None else ""


def _tell_once() -> OnRetry:
    told: set[str] = set()

    def tell(problem: IntertieError) -> None:
        if problem.reason not in told:
            told.add(problem.reason)
            notice(f"notice: {problem.message.rstrip('.')}; trying again.")

    return tell
