"""`intertie region drain`: begin a drain and follow it; the drain goes on without us."""

import asyncio
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from intertie.cli.calling import open_admin, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, lines, notice
from intertie.cli.shown import age, instant
from intertie.model.units import parse_millis
from intertie.sdk.membership.admin import AdminClient
from intertie.sdk.membership.values import Drain, DrainState
from intertie.sdk.protojson import json_of

ASK_EVERY_S = 1.0

DRAINS: View[Drain] = View(
    "drains",
    (
        Column("REGION", lambda drain: drain.region),
        Column("DRAIN", lambda drain: drain.id),
        Column("STATE", lambda drain: drain.state.value),
        Column("LEFT", lambda drain: f"{drain.guests_left}/{drain.guests}"),
        Column("WAITED FOR", lambda drain: str(drain.guests_waited_for)),
        Column("DEADLINE", lambda drain: instant(drain.deadline_ms) or "none"),
        Column("LEAVE", lambda drain: "yes" if drain.leave else "no"),
        Column("AGE", lambda drain: age(drain.created_ms)),
        Column("WHY", lambda drain: drain.reason),
        Column("BY", lambda drain: drain.creator, wide=True),
        Column("ENDED", lambda drain: instant(drain.ended_ms), wide=True),
    ),
    lambda drain: drain.name,
    json_of,
)

_Region = Annotated[str, typer.Argument(metavar="ID", help="Id of the region.")]


def drain(
    ctx: typer.Context,
    region: _Region,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    deadline: Annotated[
        str,
        typer.Option(
            "--deadline", help="After which runs that may not be interrupted move too: 2h."
        ),
    ] = "",
    leave: Annotated[
        bool, typer.Option("--leave", help="Leave the federation once it is empty.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Return at once.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Send a region no new tasks, and move away or wait for what runs there.

    Ctrl-C leaves the drain running; `intertie region drains ID` shows it.
    """
    wait_ms = parse_millis(deadline, "--deadline") if deadline else 0

    async def go() -> Drain:
        async with open_admin(ctx) as client:
            begun = await client.create_drain(region, reason, deadline_ms=wait_ms, leave=leave)
            return begun if detach else await _followed(client, begun)

    ended = run(go(), lambda: f"The drain goes on: intertie region drains {region}")
    DRAINS.one(ended, output)


def drains(ctx: typer.Context, region: _Region, output: Output = Format.TABLE) -> None:
    """List the drains of a region, the newest first."""

    async def ask() -> list[Drain]:
        async with open_admin(ctx) as client:
            return [found async for found in client.list_drains(region)]

    DRAINS.many(run(ask()), output)


def cancel_drain(
    ctx: typer.Context,
    region: _Region,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    output: Output = Format.TABLE,
) -> None:
    """End the drain that runs; the region stays cordoned."""

    async def go() -> Drain | None:
        async with open_admin(ctx) as client:
            async for found in client.list_drains(region):
                if found.state is DrainState.RUNNING:
                    return await client.cancel_drain(found.name, reason)
            return None

    ended = run(go())
    if ended is None:
        lines([f"no drain of {region} runs"])
    else:
        DRAINS.one(ended, output)


async def _followed(client: AdminClient, drain: Drain) -> Drain:
    """The drain once it has ended; shows how far it is."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task(f"draining {drain.region}", total=max(1, drain.guests), told="")
        told = ""
        while drain.state is DrainState.RUNNING:
            text = _told(drain)
            gone = max(0, drain.guests - drain.guests_left)
            progress.update(bar, completed=gone, told=text)
            if not console.is_terminal and text != told:
                notice(f"draining {drain.region}: {text}")
            told = text
            await asyncio.sleep(ASK_EVERY_S)
            drain = await client.get_drain(drain.name)
    return drain


def _told(drain: Drain) -> str:
    waiting = f", {drain.guests_waited_for} waited for" if drain.guests_waited_for else ""
    return f"{drain.guests_left} of {drain.guests} left{waiting}"
