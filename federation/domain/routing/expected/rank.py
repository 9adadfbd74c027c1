"""The order in which offers are taken: the expected time to success first, price only to break ties
(routing.md), unless the task's objective says otherwise.

    success   E / S + over budget + deadline        S: low estimate of the share that succeeds
    time      E     + over budget + deadline
    cost      the quote, then E

An offer is ranked in two lots: what starts now, and what would wait there first. Values within two
percent of each other are a tie.
"""

import math
from collections.abc import Iterable

from intertie.model.decision import Lot
from intertie.model.spec import Objective

LAMBDA = 0.5
"""What a unit of cost over the budget weighs, as a share of the work's own time."""
MU = 10.0
"""What a certainly missed deadline weighs, as a multiple of the work's own time."""
_STEP = math.log(1.02)


def ranked(lots: Iterable[Lot], objective: Objective, work_ms: int) -> list[Lot]:
    """The lots, the best first."""
    return sorted(lots, key=lambda lot: key_of(lot, objective, work_ms))


def key_of(lot: Lot, objective: Objective, work_ms: int) -> tuple[float, ...]:
    """What a lot is compared by; less is better. The last part makes the order total."""
    score = score_ms(lot, objective, work_ms)
    name = float(int.from_bytes(lot.region.encode()[:6].ljust(6, b"\0")))
    if objective is Objective.COST:
        return (float(lot.cost_nanos), _step(score), -float(lot.units), name)
    return (_step(score), float(lot.cost_nanos), -float(lot.units), name)


def score_ms(lot: Lot, objective: Objective, work_ms: int) -> float:
    """What a lot costs in time, with what is feared of it."""
    assert work_ms > 0, "work takes time"
    assert 0.0 <= lot.success <= 1.0, "a share of runs"
    assert 0.0 <= lot.miss <= 1.0, "a probability"
    ahead = float(max(lot.expected_ms, 1))
    if objective is Objective.SUCCESS:
        ahead /= max(lot.success, 1e-3)
    over = LAMBDA * work_ms * (lot.over_nanos / lot.cost_nanos) if lot.cost_nanos > 0 else 0.0
    return ahead + over + MU * work_ms * lot.miss


def _step(value: float) -> float:
    return float(round(math.log(max(value, 1.0)) / _STEP))
