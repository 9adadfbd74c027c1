"""`intertie whoami`: who the federation takes us for."""

import typer

from intertie.cli.calling import open_admin, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View
from intertie.cli.shown import instant
from intertie.sdk.membership.values import WhoAmI
from intertie.sdk.protojson import json_of

_VIEW: View[WhoAmI] = View(
    "identities",
    (
        Column("ID", lambda who: who.subject),
        Column("ROLE", lambda who: who.role),
        Column("PROJECT", lambda who: who.project),
        Column("REGION", lambda who: who.region),
        Column("SERIAL", lambda who: who.serial),
        Column("ENDS", lambda who: instant(who.expires_ms)),
    ),
    lambda who: who.subject,
    json_of,
)


def whoami(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Ask the federation who we are to it."""

    async def ask() -> WhoAmI:
        async with open_admin(ctx) as client:
            return await client.who_am_i()

    _VIEW.one(run(ask()), output)
