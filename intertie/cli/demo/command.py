"""The command `intertie demo`."""

import asyncio
import shutil
from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.demo.story import Story
from intertie.cli.demo.telling import Telling
from intertie.cli.dev.cluster import Cluster
from intertie.cli.dev.configs import isolation


def demo(
    state: Annotated[
        Path, typer.Option("--state", help="Directory of the demo's federation; made anew.")
    ] = Path(".dev/demo"),
    examples: Annotated[
        Path, typer.Option("--examples", help="Folder of the example tasks.")
    ] = Path("examples"),
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the federation running at the end.")
    ] = False,
) -> None:
    """Run real tasks through a federation on this machine, break it, and verify the bill."""
    telling = Telling()
    cluster = Cluster(state, telling.fact)
    if cluster.layout.description_file.exists():
        cluster.down()
        shutil.rmtree(cluster.layout.root)
    telling.heading("Start: etcd, a federation replica, a region, two agents; mTLS everywhere")
    try:
        cluster.up()
        if note := isolation():
            telling.fact(f"[yellow]note[/yellow]  {note}")
        asyncio.run(Story(cluster, examples, telling).run())
    finally:
        if not keep:
            cluster.down()
    telling.heading(f"All {telling.checks} claims hold, {telling.seconds():.0f} s in all.")
    if keep:
        telling.fact(f"use it: export INTERTIE_CONFIG={cluster.layout.context_file}")
        telling.fact(f"stop it: intertie dev down --state {state}")
