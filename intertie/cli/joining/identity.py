"""`intertie identity ...`: what was issued, and the end of it."""

from typing import Annotated

import typer

from intertie.cli.calling import open_admin, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View
from intertie.cli.shown import instant
from intertie.sdk.membership.values import Ban, IssuedIdentity
from intertie.sdk.protojson import json_of

app = typer.Typer(no_args_is_help=True, help="See the identities that were issued, and ban them.")

IDENTITIES: View[IssuedIdentity] = View(
    "identities",
    (
        Column("ID", lambda found: found.subject),
        Column("SERIAL", lambda found: found.serial),
        Column("ISSUED", lambda found: instant(found.issued_ms)),
        Column("ENDS", lambda found: instant(found.expires_ms)),
        Column("BANNED", lambda found: "yes" if found.banned else "no"),
        Column("KEY", lambda found: found.key_sha256, wide=True),
    ),
    lambda found: found.subject,
    json_of,
)

BANS: View[Ban] = View(
    "bans",
    (
        Column("BANNED", lambda ban: ban.subject or f"serial {ban.serial}"),
        Column("SINCE", lambda ban: instant(ban.created_ms)),
        Column("BY", lambda ban: ban.banner),
        Column("WHY", lambda ban: ban.reason),
    ),
    lambda ban: ban.subject or ban.serial,
    json_of,
)


@app.callback()
def root() -> None:
    """See the identities that were issued, and ban them."""


@app.command("list")
def list_(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """List the identities that joined, with their newest certificates."""

    async def ask() -> list[IssuedIdentity]:
        async with open_admin(ctx) as client:
            return [found async for found in client.list_identities()]

    IDENTITIES.many(run(ask()), output)


@app.command()
def revoke(
    ctx: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="ID|SERIAL", help="A SPIFFE ID, for good; or one certificate's serial in hex."
        ),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    output: Output = Format.TABLE,
) -> None:
    """Ban an identity: open streams are cut within seconds, new calls refused at once."""
    is_id = what.startswith("spiffe://")

    async def ask() -> Ban:
        async with open_admin(ctx) as client:
            if is_id:
                return await client.revoke(subject=what, reason=reason)
            return await client.revoke(serial=what, reason=reason)

    BANS.one(run(ask()), output)
