"""`intertie policy get|set|test|history|rehearse`: the residency policy of the federation."""

from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.calling import open_policy, run
from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, lines, notice, structured
from intertie.cli.shown import instant
from intertie.clock import SystemClock
from intertie.residency import day_of
from intertie.sdk.policy.client import PolicyChange, PolicyClient, PolicyVersion
from intertie.sdk.policy.file import Judged, dump_policy, judge, load_cases, load_policy
from intertie.sdk.protojson import json_of

app = typer.Typer(no_args_is_help=True, help="See, set and test the residency policy.")

_JUDGED: View[Judged] = View(
    "cases",
    (
        Column("CASE", lambda judged: str(judged.number)),
        Column("NAME", lambda judged: judged.case.name),
        Column("PLACE OR MOVE", lambda judged: _where(judged)),
        Column("EXPECTED", lambda judged: judged.case.expect),
        Column("VERDICT", lambda judged: _verdict(judged)),
        Column("HOLDS", lambda judged: "yes" if judged.holds else "no"),
        Column("RULE", lambda judged: judged.ruling.rule),
        Column("WHY", lambda judged: judged.ruling.reason, wide=True),
    ),
    lambda judged: str(judged.number),
    lambda judged: {
        "case": judged.number,
        "name": judged.case.name,
        "expected": judged.case.expect,
        "verdict": _verdict(judged),
        "holds": judged.holds,
        "rule": judged.ruling.rule,
        "reason": judged.ruling.reason,
    },
)


_VERSIONS: View[PolicyVersion] = View(
    "policies",
    (
        Column("REVISION", lambda version: str(version.revision)),
        Column("SHA256", lambda version: version.sha256),
        Column("SET", lambda version: instant(version.created_ms)),
        Column("BY", lambda version: version.creator),
        Column("WHY", lambda version: version.reason),
    ),
    lambda version: version.sha256,
    json_of,
)
_CHANGES: View[PolicyChange] = View(
    "changes",
    (
        Column("TASK", lambda change: change.task),
        Column("REGION", lambda change: change.region),
        Column("IS THERE", lambda change: "yes" if change.assigned else "no"),
        Column("NOW", lambda change: _said(change.allowed_now)),
        Column("THEN", lambda change: _said(change.allowed_then)),
        Column("RULE", lambda change: change.rule),
        Column("WHY", lambda change: change.reason, wide=True),
    ),
    lambda change: change.task,
    json_of,
)


def _where(judged: Judged) -> str:
    case = judged.case
    if not case.place:
        return f"{case.source} -> {case.to}"
    return f"{case.source} => {case.place}" if case.source else case.place


def _verdict(judged: Judged) -> str:
    return _said(judged.ruling.allowed)


def _said(allowed: bool) -> str:
    return "allowed" if allowed else "refused"


@app.command()
def get(
    ctx: typer.Context,
    sha256: Annotated[
        str, typer.Argument(metavar="[SHA256]", help="A version; else the one that holds.")
    ] = "",
    output: Output = Format.YAML,
) -> None:
    """Print the policy as a file that can be set again; -o json adds who set it and its etag."""

    async def ask(client: PolicyClient) -> PolicyVersion:
        async with client:
            return await client.get(sha256)

    version = run(ask(open_policy(ctx)))
    if output is Format.JSON:
        shown = json_of(version)
        shown.pop("body", None)
        structured(shown | {"policy": version.policy.to_fields()}, output)
    elif output is Format.NAME:
        lines([version.sha256])
    else:
        notice(f"revision {version.revision}, sha256 {version.sha256}")
        typer.echo(dump_policy(version.policy).rstrip("\n"))


@app.command("set")
def replace(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A policy file.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")],
    etag: Annotated[
        str, typer.Option("--etag", help="The version that you edited; else the one of now.")
    ] = "",
    output: Output = Format.TABLE,
) -> None:
    """Make a policy hold; administrators only. Says which live tasks it treats otherwise."""
    policy = load_policy(file)

    async def change(client: PolicyClient) -> PolicyVersion:
        async with client:
            standing = etag or (await client.get()).etag
            rehearsal = await client.rehearse(policy)
            here = sum(each.assigned and not each.allowed_then for each in rehearsal.changes)
            if rehearsal.total:
                notice(
                    f"{rehearsal.total} verdicts about {rehearsal.tasks} live tasks change; {here} "
                    "tasks are where they may not be any more: what waits there is sent back, what "
                    "runs there goes on (intertie policy rehearse)."
                )
            return await client.set(policy, etag=standing, reason=reason)

    _VERSIONS.one(run(change(open_policy(ctx))), output)


@app.command()
def rehearse(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A policy file.")],
    output: Output = Format.TABLE,
) -> None:
    """Say which live tasks another policy would treat otherwise; changes nothing."""
    policy = load_policy(file)

    async def ask(client: PolicyClient) -> None:
        async with client:
            rehearsal = await client.rehearse(policy)
        _CHANGES.many(rehearsal.changes, output)
        notice(f"{rehearsal.total} verdicts about {rehearsal.tasks} live tasks change.")

    run(ask(open_policy(ctx)))


@app.command()
def history(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """List the versions of the policy, the newest first."""

    async def ask(client: PolicyClient) -> list[PolicyVersion]:
        async with client:
            return [version async for version in client.history()]

    _VERSIONS.many(run(ask(open_policy(ctx))), output)


@app.command("test")
def run_cases(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A file of cases.")],
    policy: Annotated[Path, typer.Option("--policy", metavar="FILE", help="A policy file.")],
    output: Output = Format.TABLE,
) -> None:
    """Judge readable cases by a policy file; 1 if a verdict is not the expected one. Offline."""
    today = day_of(SystemClock().now().utc_ms)
    judged = judge(load_policy(policy), load_cases(cases), today)
    _JUDGED.many(judged, output)
    failed = sum(not each.holds for each in judged)
    notice(f"{len(judged) - failed} of {len(judged)} cases hold.")
    if failed:
        for each in judged:
            if not each.holds:
                notice(f"case {each.number}: {each.ruling.rule}: {each.ruling.reason}")
        raise typer.Exit(1)
