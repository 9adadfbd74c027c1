"""`intertie pool lending|lend|reclaim|reclaims|give-back`: what the owner lends and takes back."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from intertie.cli.calling import open_pool, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, progress_is_shown
from intertie.cli.shown import age, cores, duration, instant, size
from intertie.errors import invalid
from intertie.model.lending import WHOLE, Hours, Lending, Quantity, Reclaim, ReclaimState
from intertie.model.units import format_milli, parse_bytes, parse_milli, parse_millis
from intertie.sdk.pool import PoolClient
from intertie.sdk.protojson import json_of
from intertie.sdk.specfile import load_value

ASK_EVERY_S = 0.5
MOST_INT32, MOST_INT64 = 2**31 - 1, 2**63 - 1
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_Why = Annotated[str, typer.Option("--reason", help="Why, for the record.")]


def amount(quantity: Quantity) -> str:
    """An amount of a pool, for people."""
    parts = (
        f"{quantity.devices} devices" if quantity.devices else "",
        f"{cores(quantity.cpu)} cpu" if quantity.cpu else "",
        f"{size(quantity.memory)} memory" if quantity.memory else "",
    )
    return ", ".join(part for part in parts if part) or "nothing"


def _times(hours: tuple[Hours, ...]) -> str:
    def at(minute: int) -> str:
        return f"{minute // 60:02d}:{minute % 60:02d}"

    spans = (
        f"{' '.join(DAYS[d] for d in span.days)} {at(span.start_minute)}-{at(span.end_minute)}"
        for span in hours
    )
    return "; ".join(spans) + " UTC" if hours else "always"


LENDING: View[Lending] = View(
    "policies",
    (
        Column("LENDS", lambda policy: "yes" if policy.lends else "no"),
        Column("SHARE", lambda policy: format_milli(policy.share)),
        Column("FLOOR", lambda policy: amount(policy.floor)),
        Column("DEVICES", lambda policy: ", ".join(policy.models) or "all"),
        Column("PROJECTS", lambda policy: ", ".join(policy.projects) or "all"),
        Column(
            "CAPS", lambda policy: "; ".join(f"{c.project}: {amount(c.most)}" for c in policy.caps)
        ),
        Column("KINDS", lambda policy: ", ".join(policy.kinds) or "all"),
        Column("DATA", lambda policy: ", ".join(policy.data_classes) or "all"),
        Column("HOURS", lambda policy: _times(policy.hours)),
        Column("LONGEST RUN", lambda policy: duration(policy.longest_run) or "no bound"),
        Column("NOTICE", lambda policy: duration(policy.notice) or "none"),
        Column("REVISION", lambda policy: str(policy.revision)),
    ),
    lambda policy: str(policy.revision),
    json_of,
)
RECLAIMS: View[Reclaim] = View(
    "reclaims",
    (
        Column("RECLAIM", lambda reclaim: reclaim.name),
        Column("STATE", lambda reclaim: reclaim.state.value),
        Column("AMOUNT", lambda reclaim: amount(reclaim.quantity)),
        Column("GUESTS LEFT", lambda reclaim: f"{reclaim.guests_left}/{reclaim.guests}"),
        Column("DEADLINE", lambda reclaim: duration(reclaim.deadline_ms)),
        Column("AGE", lambda reclaim: age(reclaim.created_ms)),
        Column("UNTIL", lambda reclaim: instant(reclaim.until_ms) or "given back"),
        Column("WHY", lambda reclaim: reclaim.reason),
        Column("RECLAIMED", lambda reclaim: instant(reclaim.reclaimed_ms), wide=True),
        Column("RETURNED", lambda reclaim: instant(reclaim.returned_ms), wide=True),
    ),
    lambda reclaim: reclaim.name,
    json_of,
)


def add_to(app: typer.Typer) -> None:
    """Put the commands into the group of the pool."""
    app.command()(lending)
    app.command()(lend)
    app.command()(reclaim)
    app.command()(reclaims)
    app.command("give-back")(give_back)


def lending(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Show what the region lends."""

    async def ask() -> Lending:
        async with open_pool(ctx) as client:
            return await client.get_lending_policy()

    LENDING.one(run(ask()), output)


def lend(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The policy, as YAML.")],
    reason: _Why,
    etag: Annotated[str, typer.Option("--etag", help="Only if it is still at this revision.")] = "",
    output: Output = Format.TABLE,
) -> None:
    """Set what the region lends; guests above it are given notice.

    docs/operators.md describes the file.
    """
    policy = load_value(file, Lending)
    if not 0 <= policy.share <= WHOLE:
        raise invalid(
            "share",
            f"{format_milli(policy.share)} is not between 0 and 1",
            remedy="0.75 lends three quarters of the pool.",
        )

    async def ask() -> Lending:
        async with open_pool(ctx) as client:
            return await client.set_lending_policy(policy, reason, etag)

    LENDING.one(run(ask()), output)


def reclaim(
    ctx: typer.Context,
    reason: Annotated[str, typer.Option("--reason", help="Why; guests are told.")],
    devices: Annotated[int, typer.Option("--devices", min=0, help="How many devices.")] = 0,
    cpu: Annotated[str, typer.Option("--cpu", help="How many cores: 4, 0.5.")] = "",
    memory: Annotated[str, typer.Option("--memory", help="How much memory: 64GiB.")] = "",
    deadline: Annotated[
        str, typer.Option("--deadline", help="How long guests may still hold it.")
    ] = "2m",
    lasts: Annotated[
        str, typer.Option("--for", help="Lend it again after this time; by give-back if absent.")
    ] = "",
    detach: Annotated[bool, typer.Option("--detach", help="Return at once.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Take capacity back from guests: they get notice, save their work, and run elsewhere.

    Ctrl-C leaves the reclaim running; `intertie pool reclaims` shows it.
    """
    quantity = Quantity(
        cpu=parse_milli(cpu, "--cpu") if cpu else 0,
        memory=parse_bytes(memory, "--memory") if memory else 0,
        devices=devices,
    )
    _check(quantity)
    deadline_ms = parse_millis(deadline, "--deadline")
    lasts_ms = parse_millis(lasts, "--for") if lasts else 0

    async def go() -> Reclaim:
        async with open_pool(ctx) as client:
            begun = await client.create_reclaim(
                quantity, reason, deadline_ms=deadline_ms, lasts_ms=lasts_ms
            )
            return begun if detach else await _followed(client, begun)

    RECLAIMS.one(run(go(), lambda: "The reclaim goes on: intertie pool reclaims"), output)


def _check(quantity: Quantity) -> None:
    if quantity == Quantity():
        raise invalid(
            "--devices, --cpu, --memory",
            "none of them takes anything back",
            remedy="Say how much, for example --devices 4.",
        )
    for option, value, most in (
        ("--devices", quantity.devices, MOST_INT32),
        ("--cpu", quantity.cpu, MOST_INT32),
        ("--memory", quantity.memory, MOST_INT64),
    ):
        if value > most:
            raise invalid(option, "is more than any pool has")


async def _followed(client: PoolClient, begun: Reclaim) -> Reclaim:
    """Ask until the guests have gone, showing how many have."""
    columns = (TextColumn("guests gone"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not progress_is_shown()
    ) as progress:
        bar = progress.add_task("", total=begun.guests)
        now = begun
        while now.state is ReclaimState.RECLAIMING:
            progress.update(bar, completed=max(0, now.guests - now.guests_left))
            await asyncio.sleep(ASK_EVERY_S)
            now = await client.get_reclaim(begun.name)
    return now


def reclaims(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """List reclaims, the newest first."""

    async def ask() -> list[Reclaim]:
        async with open_pool(ctx) as client:
            return [found async for found in client.list_reclaims()]

    RECLAIMS.many(run(ask()), output)


def give_back(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="RECLAIM", help="Its name, as listed.")],
    output: Output = Format.TABLE,
) -> None:
    """Lend again what a reclaim took back."""
    full = name if name.startswith("reclaims/") else f"reclaims/{name}"

    async def ask() -> Reclaim:
        async with open_pool(ctx) as client:
            return await client.cancel_reclaim(full)

    RECLAIMS.one(run(ask()), output)
