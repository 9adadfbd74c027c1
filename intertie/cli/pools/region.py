"""`intertie region ...`: the regions of the federation."""

from typing import Annotated

import typer

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output
from intertie.cli.pools import region_admin
from intertie.cli.pools.rtt import show_rtts
from intertie.cli.pools.views import REGIONS
from intertie.sdk.resources import Region, Rtt

app = typer.Typer(no_args_is_help=True, help="See the regions of the federation, admit and end.")
region_admin.add_to(app)


@app.command("list")
def list_(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """List the regions."""

    async def ask() -> list[Region]:
        async with open_client(ctx) as client:
            return [region async for region in client.list_regions()]

    REGIONS.many(run(ask()), output)


@app.command()
def show(
    ctx: typer.Context,
    region: Annotated[str, typer.Argument(metavar="ID")],
    output: Output = Format.TABLE,
) -> None:
    """Show one region."""

    async def ask() -> Region:
        async with open_client(ctx) as client:
            return await client.get_region(region)

    REGIONS.one(run(ask()), output)


@app.command()
def rtt(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Show round trips between regions, from each (a row) to each, in milliseconds.

    The table has 95th percentiles, which `latency.max_rtt` is held against; `wide` and `json` have
    all that was measured.
    """

    async def ask() -> list[Rtt]:
        async with open_client(ctx) as client:
            return [pair async for pair in client.list_rtts()]

    show_rtts(run(ask()), output)
