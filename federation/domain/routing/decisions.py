"""Decisions as rows: made again from what was kept, and compared with the world of now.

A decision is the same when the draw from its weights and its seed gives the regions that were
asked, and its lots stand in the order of choice. Both need nothing but the row.
"""

from collections.abc import Iterable, Mapping

from federation.domain.fleet import Member
from federation.domain.routing.draw import draw
from federation.domain.routing.expected.rank import ranked
from intertie.model.decision import Decision
from intertie.model.spec import Objective

DECISION = "decision"
"""Kind of the rows; in the shard of the first task, under `ID/RUN`."""
KEEP_MS = 7 * 24 * 3_600_000


def differences(decision: Decision) -> tuple[str, ...]:
    """What comes out otherwise when a decision is made again; empty = the same."""
    found: list[str] = []
    weights = [candidate.weight for candidate in decision.candidates]
    drawn = draw(weights, decision.seed, decision.count)
    again = tuple(decision.candidates[index].region for index in drawn)
    if again != decision.drawn:
        found.append(f"drawn: {_list(decision.drawn)} then, {_list(again)} now")
    order = ranked(decision.lots, Objective(decision.objective), decision.work_ms)
    if tuple(order) != decision.lots:
        then, now = (_list(lot.region for lot in lots) for lots in (decision.lots, order))
        found.append(f"order of offers: {then} then, {now} now")
    left = decision.units
    assert left >= 0, "tasks are counted"
    for lot in order:
        if lot.taken > min(lot.units, left):
            found.append(f"{lot.region}: {lot.taken} were taken of {min(lot.units, left)}")
        left -= lot.taken
    return tuple(found)


def since_then(decision: Decision, members: Mapping[str, Member], inputs: str) -> tuple[str, ...]:
    """Which inputs of a decision are others now: why it would not be made like that today."""
    found: list[str] = []
    for candidate in decision.candidates:
        member = members.get(candidate.region)
        if not candidate.region:
            continue
        summary = member.summary if member is not None else None
        if summary is None:
            found.append(f"{candidate.region}: summary {candidate.revision} then, none now")
        elif (summary.incarnation, summary.revision) != (candidate.incarnation, candidate.revision):
            found.append(
                f"{candidate.region}: summary {candidate.revision} then, {summary.revision} now"
            )
    if decision.inputs != inputs:
        found.append(f"{decision.inputs} then, {inputs} now")
    return tuple(found)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "nobody"
