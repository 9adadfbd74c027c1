"""`intertie node ...`, `run ...` and `pool ...`: for a region's operator, on its own server."""

from typing import Annotated

import typer

from intertie.cli.calling import open_pool, run
from intertie.cli.options import Format, Output
from intertie.cli.pools import lending, native
from intertie.cli.pools.views import NODES, RUNS
from intertie.cli.printing import notice
from intertie.errors import Reason, error, invalid
from intertie.sdk.resources import Node, PoolRun

nodes = typer.Typer(no_args_is_help=True, help="See the nodes of the context's region.")
runs = typer.Typer(no_args_is_help=True, help="See and evict runs of the context's region.")
pool = typer.Typer(no_args_is_help=True, help="The pool of the context's region.")
native.add_to(pool)
lending.add_to(pool)


@nodes.command("list")
def list_nodes(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """List the nodes of the region."""

    async def ask() -> list[Node]:
        async with open_pool(ctx) as client:
            return [node async for node in client.list_nodes()]

    NODES.many(run(ask()), output)


@nodes.command("show")
def show_node(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(metavar="ID")],
    output: Output = Format.TABLE,
) -> None:
    """Show one node."""

    async def ask() -> Node:
        async with open_pool(ctx) as client:
            return await client.get_node(node)

    NODES.one(run(ask()), output)


@nodes.command("remove")
def remove_node(
    ctx: typer.Context,
    node: Annotated[str, typer.Argument(metavar="ID")],
    reason: Annotated[str, typer.Option("--reason", help="How it is known, for the record.")],
    dead: Annotated[
        bool,
        typer.Option("--it-is-dead", help="The machine is off, or was started anew; required."),
    ] = False,
) -> None:
    """Declare that a node is dead, so that what ran there may run elsewhere.

    If a task still runs there, it will run twice: only its effects are fenced.
    """
    if not dead:
        raise invalid(
            "--it-is-dead",
            "is missing",
            remedy="Switch the machine off, or start it anew, and say so with --it-is-dead.",
        )

    async def ask() -> int:
        async with open_pool(ctx) as client:
            return await client.remove_node(node, reason)

    notice(f"{node} is removed; {run(ask())} runs were there")


@runs.command("list")
def list_runs(
    ctx: typer.Context,
    live: Annotated[bool, typer.Option("--live", help="Only those that have not ended.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """List the runs in the pool, native and guest, newest first."""

    async def ask() -> list[PoolRun]:
        async with open_pool(ctx) as client:
            return [found async for found in client.list_runs(live_only=live)]

    RUNS.many(run(ask()), output)


@runs.command()
def evict(
    ctx: typer.Context,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Full name, or its unique end.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    output: Output = Format.TABLE,
) -> None:
    """Stop a run; a guest's returns to the federation."""

    async def ask() -> PoolRun:
        async with open_pool(ctx) as client:
            live = [found.task async for found in client.list_runs(live_only=True)]
            return await client.evict_run(_meant(task, live), reason)

    RUNS.one(run(ask()), output)


def _meant(text: str, live: list[str]) -> str:
    found = sorted({task for task in live if text in (task, task.rpartition("/")[2])})
    found = found or sorted({t for t in live if t.rpartition("/")[2].startswith(text)})
    if not found:
        raise error(
            Reason.NOT_FOUND,
            f"No live run is of a task {text!r}.",
            remedy="List them: intertie run list --live.",
        )
    if len(found) > 1:
        raise invalid("TASK", f"{text!r} is not unique: {', '.join(found[:8])}")
    return found[0]
