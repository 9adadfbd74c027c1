"""`intertie region requests|approve|reject|cordon|uncordon|remove`: what administrators decide."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from intertie.cli.calling import open_admin, run
from intertie.cli.options import Format, Output
from intertie.cli.pools.drains import cancel_drain, drain, drains
from intertie.cli.pools.views import REGIONS
from intertie.cli.printing import Column, View
from intertie.cli.shown import age
from intertie.errors import Reason, error, invalid
from intertie.pki.join.requests import JoinState
from intertie.sdk.membership.admin import AdminClient
from intertie.sdk.membership.values import Join
from intertie.sdk.protojson import json_of
from intertie.sdk.resources import Region

RegionId = Annotated[str, typer.Argument(metavar="ID", help="Id of the region.")]
RequestId = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the request, or of the region that asks.")
]
Why = Annotated[str, typer.Option("--reason", help="Why, for the record.")]

JOINS: View[Join] = View(
    "joins",
    (
        Column("REQUEST", lambda join: join.id),
        Column("REGION", lambda join: join.region),
        Column("STATE", lambda join: join.state.value if join.state else ""),
        Column("JURISDICTION", lambda join: join.jurisdiction),
        Column("FROM", lambda join: join.address),
        Column("AGE", lambda join: age(join.created_ms)),
        Column("INVITED BY", lambda join: join.inviter),
        Column("HOSTS", lambda join: ", ".join(join.hosts), wide=True),
        Column("KEY", lambda join: join.key_sha256, wide=True),
        Column("SOFTWARE", lambda join: join.software, wide=True),
        Column("DECIDED BY", lambda join: join.decider, wide=True),
        Column("REASON", lambda join: join.reason, wide=True),
    ),
    lambda join: join.id,
    json_of,
)


def add_to(app: typer.Typer) -> None:
    """Put the commands into the group of regions."""
    app.command()(requests)
    app.command()(approve)
    app.command()(reject)
    app.command()(cordon)
    app.command()(uncordon)
    app.command()(drain)
    app.command()(drains)
    app.command("cancel-drain")(cancel_drain)
    app.command()(remove)


def requests(
    ctx: typer.Context,
    decided: Annotated[bool, typer.Option("--all", help="Those decided, too.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """List the regions that ask to join."""

    async def ask() -> list[Join]:
        async with open_admin(ctx) as client:
            return [join async for join in client.list_joins(decided=decided)]

    JOINS.many(run(ask()), output)


def approve(
    ctx: typer.Context,
    request: RequestId,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")] = "",
    output: Output = Format.TABLE,
) -> None:
    """Let a region in: its CA is certified, and it may attach."""

    async def ask() -> Join:
        async with open_admin(ctx) as client:
            return await client.approve(await _meant(client, request), reason)

    JOINS.one(run(ask()), output)


def reject(
    ctx: typer.Context, request: RequestId, reason: Why, output: Output = Format.TABLE
) -> None:
    """Refuse a region; its name is free again."""

    async def ask() -> Join:
        async with open_admin(ctx) as client:
            return await client.reject(await _meant(client, request), reason)

    JOINS.one(run(ask()), output)


def cordon(
    ctx: typer.Context, region: RegionId, reason: Why, output: Output = Format.TABLE
) -> None:
    """Send a region no new tasks; what runs there goes on."""
    _decide(ctx, output, lambda client: client.cordon(region, reason))


def uncordon(
    ctx: typer.Context, region: RegionId, reason: Why, output: Output = Format.TABLE
) -> None:
    """Send a region tasks again."""
    _decide(ctx, output, lambda client: client.uncordon(region, reason))


def remove(
    ctx: typer.Context,
    region: RegionId,
    reason: Why,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Forget a region for ever: its link is cut, and its name is never given again."""
    if not yes:
        typer.confirm(f"Remove {region} for good? Its name can never be used again", abort=True)
    _decide(ctx, output, lambda client: client.remove(region, reason))


def _decide(
    ctx: typer.Context, output: Format, decide: Callable[[AdminClient], Awaitable[Region]]
) -> None:
    async def ask() -> Region:
        async with open_admin(ctx) as client:
            return await decide(client)

    REGIONS.one(run(ask()), output)


async def _meant(client: AdminClient, text: str) -> str:
    """The id of the request that is meant: its own, or that of the region that waits."""
    known = [join async for join in client.list_joins(decided=True)]
    if any(join.id == text for join in known):
        return text
    waiting = [
        join.id for join in known if join.region == text and join.state is JoinState.REQUESTED
    ]
    if not waiting:
        raise error(
            Reason.NOT_FOUND,
            f"No region {text!r} waits for a decision.",
            remedy="List them: intertie region requests.",
        )
    if len(waiting) > 1:
        raise invalid("ID", f"{text!r} asks more than once: {', '.join(waiting)}.")
    return waiting[0]
