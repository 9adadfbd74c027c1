"""`intertie plan`: what would happen to a task, now or if things were otherwise."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.calling import open_client, run
from intertie.cli.options import Format, Output, Project
from intertie.cli.tasks.plan_view import show_plan
from intertie.cli.tasks.specs import Changes, TaskFile, read_task
from intertie.model.task import Plan
from intertie.sdk.policy.file import load_policy

WhatIf = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if",
        metavar="CHANGE",
        help="Suppose region-down=ID, reclaim=ID:DEVICES or policy=FILE; repeatable.",
    ),
]


@dataclass(slots=True)
class Supposed:
    """What the options suppose."""

    regions_down: list[str] = field(default_factory=list)
    reclaims: dict[str, int] = field(default_factory=dict)
    policy: bytes = b""


def read_supposed(texts: list[str]) -> Supposed:
    """Read `--what-if`. Raises BadParameter (exit code 2) naming the one at fault."""
    supposed = Supposed()
    for text in texts:
        name, _, value = text.partition("=")
        region, _, devices = value.rpartition(":")
        if name == "region-down" and value:
            supposed.regions_down.append(value)
        elif name == "reclaim" and region and devices.isdigit() and int(devices) > 0:
            supposed.reclaims[region] = supposed.reclaims.get(region, 0) + int(devices)
        elif name == "policy" and value:
            supposed.policy = load_policy(Path(value)).canonical
        else:
            raise typer.BadParameter(
                f"{text!r} is none of region-down=ID, reclaim=ID:DEVICES, policy=FILE",
                param_hint="--what-if",
            )
    return supposed


def plan(
    ctx: typer.Context,
    file: TaskFile,
    changes: Changes = None,
    project: Project = "",
    what_if: WhatIf = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="Every factor too; the same as -o wide.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Say per region whether a task could run, when, at what price, and why (not).

    Nothing is submitted.
    """
    given = read_task(file, changes)
    supposed = read_supposed(what_if or [])

    async def ask() -> Plan:
        async with open_client(ctx, project) as client:
            return await client.plan_task(
                given.spec,
                base=given.base,
                regions_down=supposed.regions_down,
                reclaims=supposed.reclaims,
                policy=supposed.policy,
            )

    show_plan(run(ask()), Format.WIDE if wide else output)
