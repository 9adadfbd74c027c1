"""`intertie token ...`: join tokens, for regions, people and nodes."""

from enum import StrEnum
from typing import Annotated

import typer

from intertie.cli.calling import open_admin, open_operator, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, facts, lines, notice, structured
from intertie.cli.shown import age, instant
from intertie.clock import SystemClock
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


TOKENS: View[JoinToken] = View(
    "tokens",
    (
        Column("TOKEN", lambda token: token.id),
        Column("FOR", lambda token: token.subject or "any node"),
        Column("USES", lambda token: f"{token.uses}/{token.max_uses}"),
        Column("ENDS", lambda token: instant(token.expires_ms)),
        Column("STATE", lambda token: _state(token)),
        Column("NETWORKS", lambda token: ", ".join(token.networks)),
        Column("CREATOR", lambda token: token.creator, wide=True),
        Column("AGE", lambda token: age(token.created_ms), wide=True),
    ),
    lambda token: token.id,
    json_of,
)


def _state(token: JoinToken) -> str:
    if token.revoked:
        return "revoked"
    if token.expires_ms <= SystemClock().now().utc_ms:
        return "expired"
    return "used" if token.uses >= token.max_uses else "good"


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
        str,
        typer.Option("--name", help="Of the client, admin or billing system; of the only node."),
    ] = "",
    ttl: Annotated[str, typer.Option("--ttl", help="How long it lives: 15m, 1h.")] = "1h",
    pre_approved: Annotated[
        bool, typer.Option("--pre-approved", help="A region needs no further approval.")
    ] = False,
    max_uses: Annotated[
        int, typer.Option("--max-uses", help="How many nodes may join by a node token.")
    ] = 1,
    networks: Annotated[
        list[str] | None,
        typer.Option("--network", help="CIDR that nodes may join from. Repeatable."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Make a token and print it, once: only a hash of it is kept.

    Tokens of nodes are made by their region, under its operator's context.
    """
    ttl_ms = parse_millis(ttl, "--ttl")
    if pre_approved and role is not TokenRole.REGION:
        raise invalid("--pre-approved", "is for regions; nobody else waits for approval.")
    if (max_uses != 1 or networks) and role is not TokenRole.NODE:
        raise invalid("--max-uses", "and --network are for node tokens.")
    if role is TokenRole.NODE:
        show(run(_of_node(ctx, max_uses, networks or [], ttl_ms, name)), output)
        return

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


async def _of_node(
    ctx: typer.Context, max_uses: int, networks: list[str], ttl_ms: int, node: str
) -> JoinToken:
    async with open_operator(ctx) as client:
        return await client.create_node_token(
            max_uses=max_uses, networks=networks, ttl_ms=ttl_ms, node=node
        )


@app.command("list")
def list_(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """List the node tokens of the context's region."""

    async def ask() -> list[JoinToken]:
        async with open_operator(ctx) as client:
            return [token async for token in client.list_node_tokens()]

    TOKENS.many(run(ask()), output)


@app.command()
def revoke(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="ID", help="Id of the node token.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    output: Output = Format.TABLE,
) -> None:
    """Take a node token back; nodes that joined by it stay."""

    async def ask() -> JoinToken:
        async with open_operator(ctx) as client:
            return await client.revoke_node_token(token, reason)

    TOKENS.one(run(ask()), output)


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
