"""Plans and decisions as people read them: the answer first, then what it rests on."""

from collections.abc import Iterator

from intertie.cli.options import Format
from intertie.cli.printing import facts, lines, structured, table
from intertie.cli.shown import coarse, instant
from intertie.model.decision import Decision
from intertie.model.task import Check, Plan, Verdict, Weight
from intertie.sdk.protojson import json_of


def show_plan(plan: Plan, output: Format) -> None:
    """Print a verdict per region, every check, and what would change the answer."""
    match output:
        case Format.JSON | Format.YAML:
            structured(json_of(plan), output)
            return
        case Format.NAME:
            lines([plan.chosen] if plan.chosen else [])
            return
    if plan.decision is not None:
        _show_decision(plan, plan.decision)
        return
    if plan.state is not None:
        _show_state(plan)
    if plan.verdicts:
        titles = ["", "REGION", "VERDICT", "START", "SUCCESS", "QUOTE", "UNITS", "REASON"]
        table(titles, [_verdict(verdict, plan.chosen) for verdict in plan.verdicts])
        lines([""])
        table(["REGION", "CHECK", "NEED", "HAVE", "HOLDS"], list(_checks(plan)))
    if output is Format.WIDE and any(verdict.weights for verdict in plan.verdicts):
        lines([""])
        table(["REGION", "FACTOR", "VALUE", "KNOWN BY"], list(_weights(plan)))
    assumed = [f"{v.region}: {'; '.join(v.assumed)}" for v in plan.verdicts if _tells(v)]
    if assumed:
        lines(["", *(f"assumed for {text}" for text in assumed)])
    if plan.remedy:
        lines(["", f"remedy: {plan.remedy}"])


def _tells(v: Verdict) -> bool:
    return bool(v.assumed) and v.feasible


def _show_state(plan: Plan) -> None:
    assert plan.state is not None, "asked for where there is one"
    told = [("state", plan.state.value)]
    if plan.wait is not None:
        why = f"{plan.wait.reason}: {plan.wait.detail}".removesuffix(": ")
        told += [("why", why), ("next", plan.wait.next)]
    facts([*told, ("region", plan.chosen)])
    lines([""])


def _verdict(verdict: Verdict, chosen: str) -> list[str]:
    return [
        "*" if verdict.region == chosen else "",
        verdict.region,
        "can run" if verdict.feasible else "cannot",
        _start(verdict),
        _success(verdict),
        "-" if verdict.cost is None else f"{verdict.cost}",
        str(verdict.units_now),
        verdict.reason.value if verdict.reason else "",
    ]


def _start(verdict: Verdict) -> str:
    if not verdict.feasible:
        return "-"
    if verdict.units_now > 0:
        return "now"
    wait_ms = verdict.expected_wait_ms
    return "later" if wait_ms is None else f"in about {coarse(wait_ms)}"


def _success(verdict: Verdict) -> str:
    """When it is expected to have succeeded; in brackets if how long it takes is only assumed."""
    if not verdict.feasible or not verdict.success_ms:
        return "-"
    ahead = f"in {coarse(verdict.success_ms + (verdict.expected_wait_ms or 0))}"
    return f"({ahead})" if any("duration" in text for text in verdict.assumed) else ahead


def _checks(plan: Plan) -> Iterator[list[str]]:
    for verdict in plan.verdicts:
        for check in verdict.checks:
            yield [verdict.region, check.name, check.need, check.have, _holds(check)]


def _holds(check: Check) -> str:
    return "yes" if check.holds else "no"


def _weights(plan: Plan) -> Iterator[list[str]]:
    for verdict in plan.verdicts:
        for weight in verdict.weights:
            yield [verdict.region, weight.name, f"{weight.value:.4g}", _known_by(weight)]


def _known_by(weight: Weight) -> str:
    return "assumed" if weight.assumed else "report"


# --- decisions -----------------------------------------------------------------------------------


def _show_decision(plan: Plan, decision: Decision) -> None:
    facts(
        [
            ("decision", decision.id),
            ("time", instant(decision.at_ms)),
            ("made again", "different" if plan.differences else "same"),
            ("seed", str(decision.seed)),
            ("tasks", str(decision.units)),
            ("objective", decision.objective),
            ("rested on", decision.inputs),
        ]
    )
    lines(["", *(f"differs: {text}" for text in plan.differences)])
    drawn = frozenset(decision.drawn)
    table(
        ["REGION", "WEIGHT", "SUMMARY", "DRAWN"],
        [
            [c.region or "(others)", f"{c.weight:.4g}", str(c.revision), _mark(c.region in drawn)]
            for c in decision.candidates
        ],
    )
    lines([""])
    table(
        ["REGION", "UNITS", "START", "SUCCESS", "S", "TAKEN"],
        [
            [
                lot.region,
                str(lot.units),
                f"in about {coarse(lot.wait_ms)}" if lot.wait_ms else "now",
                f"in {coarse(lot.expected_ms)}",
                f"{lot.success:.3g}",
                str(lot.taken),
            ]
            for lot in decision.lots
        ],
    )
    if plan.since_then:
        lines(["", *(f"since then: {text}" for text in plan.since_then)])


def _mark(is_drawn: bool) -> str:
    return "yes" if is_drawn else ""
