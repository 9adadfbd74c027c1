"""`intertie plan`: what would happen to a task now, region by region."""

from typing import Annotated

import typer

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output, Project
from intertie.cli.tasks.specs import Changes, TaskFile, read_task
from intertie.cli.tasks.views import show_plan
from intertie.model.task import Plan


def plan(
    ctx: typer.Context,
    file: TaskFile,
    changes: Changes = None,
    project: Project = "",
    wide: Annotated[bool, typer.Option("--wide", help="Weights too; the same as -o wide.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Say per region whether a task could run, when, and why (not). Nothing is submitted."""
    given = read_task(file, changes)

    async def ask() -> Plan:
        async with open_client(ctx, project) as client:
            return await client.plan_task(given.spec, base=given.base)

    show_plan(run(ask()), Format.WIDE if wide else output)
