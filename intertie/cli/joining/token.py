"""`intertie token ...`: join tokens, for regions, people and nodes."""

from enum import StrEnum
from typing import Annotated

import typer

from intertie.cli.calling import open_admin, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import facts, lines, notice, structured
from intertie.cli.shown import instant
from intertie.errors import invalid
from intertie.model.units import parse_millis
from intertie.pki.join.strings import Purpose
from intertie.sdk.membership.values import JoinToken
from intertie.sdk.protojson import json_of

app = typer.Typer(no_args_is_help=True, help="Make the tokens by which regions and people join.")


class TokenRole(StrEnum):
    """What a token is for."""

    REGION = "region"
    NODE = "node"
    CLIENT = "client"
    ADMIN = "admin"
    BILLING = "billing"


@app.callback()
def root() -> None:
    """Make the tokens by which regions, nodes and people join."""


@app.command()
def create(
    ctx: typer.Context,
    role: Annotated[TokenRole, typer.Option("--role", help="What whoever has it becomes.")],
    region: Annotated[str, typer.Option("--region", help="Id of the region that joins.")] = "",
    project: Annotated[str, typer.Option("--project", help="Project of a client.")] = "",
    name: Annotated[
        str, typer.Option("--name", help="Name of the client, admin or billing system.")
    ] = "",
    ttl: Annotated[str, typer.Option("--ttl", help="How long it lives: 15m, 1h.")] = "1h",
    pre_approved: Annotated[
        bool, typer.Option("--pre-approved", help="A region needs no further approval.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Make a token and print it, once: only a hash of it is kept."""
    ttl_ms = parse_millis(ttl, "--ttl")
    if pre_approved and role is not TokenRole.REGION:
        raise invalid("--pre-approved", "is for regions; nobody else waits for approval.")

    async def ask() -> JoinToken:
        async with open_admin(ctx) as client:
            return await client.create_token(
                Purpose(role.value),
                region=region,
                project=project,
                member=name,
                ttl_ms=ttl_ms,
                pre_approved=pre_approved,
            )

    show(run(ask()), output)


def show(token: JoinToken, output: Format) -> None:
    """Print a new token with what its bearer is to do."""
    match output:
        case Format.JSON | Format.YAML:
            structured(json_of(token), output)
        case Format.NAME:
            lines([token.token])
        case _:
            facts(
                [
                    ("TOKEN", token.token),
                    ("FOR", token.subject or f"any node, up to {token.max_uses}"),
                    ("ENDS", instant(token.expires_ms)),
                ]
            )
            notice(f"It is shown once. On the other machine: {command(token)}")


def command(token: JoinToken) -> str:
    """What whoever has the token types."""
    at = token.endpoints[0] if token.endpoints else "HOST:PORT"
    more = {
        Purpose.REGION: " --dir DIR --jurisdiction CC/CC-XX/site",
        Purpose.NODE: " --dir DIR --node ID",
    }.get(token.purpose, "")
    return f"intertie join {token.token} --endpoint {at}{more}"
