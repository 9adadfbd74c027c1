"""`intertie policy get|set|test|history|rehearse`: the residency policy of the federation."""

from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, notice
from intertie.clock import SystemClock
from intertie.residency import day_of
from intertie.sdk.policyfile import Judged, judge, load_cases, load_policy

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


def _where(judged: Judged) -> str:
    case = judged.case
    if not case.place:
        return f"{case.source} -> {case.to}"
    return f"{case.source} => {case.place}" if case.source else case.place


def _verdict(judged: Judged) -> str:
    return "allowed" if judged.ruling.allowed else "refused"


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
