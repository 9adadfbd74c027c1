"""`intertie join TOKEN`: become a region, a node, or a member, as the token says."""

import platform
import sys
from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.calling import run
from intertie.cli.joining.checks import Wish, check_join
from intertie.cli.joining.node import default_node, join_node
from intertie.cli.joining.people import join_person
from intertie.cli.joining.region import RegionPlan, join_region
from intertie.errors import invalid
from intertie.model.jurisdiction import Jurisdiction
from intertie.pki.join.strings import Purpose, parse_join_string
from intertie.sdk.membership.joiner import Joiner

STDIN = "-"
INTERRUPTED = "The request stands. Run the same command again to go on."

Token = Annotated[
    str,
    typer.Argument(
        metavar="TOKEN", help="The join string; - reads it from stdin, unseen by other users."
    ),
]
Endpoint = Annotated[
    str, typer.Option("--endpoint", metavar="HOST:PORT", help="Where those who join are served.")
]
Directory = Annotated[
    Path | None, typer.Option("--dir", metavar="DIR", help="Where everything is written.")
]
Check = Annotated[
    bool, typer.Option("--check", help="Only check reachability, clocks, versions and the name.")
]
Place = Annotated[str, typer.Option("--jurisdiction", help="Of a region's site: DE/DE-HE/fra1.")]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--host", help="Under which nodes dial the region; this machine's name if left out."
    ),
]
Listen = Annotated[
    str, typer.Option("--listen", metavar="HOST:PORT", help="Where the region will serve.")
]
JoinListen = Annotated[
    str, typer.Option("--join-listen", metavar="HOST:PORT", help="And nodes that join it.")
]
NodeId = Annotated[
    str, typer.Option("--node", help="Id of the node; this machine's name if left out.")
]


def join(
    token: Token,
    endpoint: Endpoint,
    directory: Directory = None,
    check: Check = False,
    jurisdiction: Place = "",
    hosts: Hosts = None,
    listen: Listen = "0.0.0.0:7171",
    join_listen: JoinListen = "0.0.0.0:7172",
    node: NodeId = "",
    context: Annotated[str, typer.Option("--context", help="Name of the new context.")] = "",
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Do not wait for a region's approval.")
    ] = False,
) -> None:
    """Join with a token. The same command may be run again: nothing is done twice."""
    token = sys.stdin.readline() if token == STDIN else token
    shown = parse_join_string(token, "TOKEN")
    if shown.purpose in (Purpose.REGION, Purpose.NODE) and directory is None and not check:
        raise invalid("--dir", f"must be given for a {shown.purpose}.")
    if shown.purpose is Purpose.REGION:
        Jurisdiction.parse(jurisdiction, "--jurisdiction")
    named, node = tuple(hosts or (platform.node().lower(),)), node or default_node()
    wish = Wish(jurisdiction=jurisdiction, hosts=named, node=node, directory=directory)

    async def go() -> None:
        async with await Joiner.open(endpoint, token) as joiner:
            if check:
                await check_join(joiner, endpoint, wish)
            elif directory is not None and shown.purpose is Purpose.NODE:
                await join_node(joiner, directory, node)
            elif directory is not None and shown.purpose is Purpose.REGION:
                plan = RegionPlan(
                    directory=directory,
                    jurisdiction=jurisdiction,
                    hosts=named,
                    listen=listen,
                    join_listen=join_listen,
                    wait=not no_wait,
                )
                await join_region(joiner, plan)
            else:
                await join_person(joiner, directory, context)

    run(go(), lambda: INTERRUPTED)
