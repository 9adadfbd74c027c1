"""How long until a task has succeeded: wait, transfer, the work on that hardware, and rework.

    E = wait + transfer + (work / speed) * (1 + lambda * (tau/2 + restart))      (routing.md)

lambda in failures an hour, tau the checkpoint interval (the whole work without checkpoints), both
in hours inside the bracket. What is assumed is named, so that a plan can print it.
"""

import math
from dataclasses import dataclass

from federation.domain.routing.demand import Demand, bytes_to_move
from federation.domain.routing.facts import Facts
from intertie.model.pool import NodeClass

ASSUMED_BANDWIDTH = 125_000_000.0
"""Bytes a second towards a region that nobody measured or declared: one Gbit/s."""
RESTART_MS = 30_000
HOUR_MS = 3_600_000.0


@dataclass(frozen=True, slots=True)
class Expected:
    """The parts of E in ms, and what of them is assumed."""

    transfer_ms: float
    run_ms: float
    rework: float
    assumed: tuple[str, ...]

    def total_ms(self, wait_ms: float) -> float:
        """E for a wait."""
        assert wait_ms >= 0, "no wait is shorter than none"
        return wait_ms + self.transfer_ms + self.run_ms * self.rework

    def miss(self, wait_ms: float, deadline_ms: float) -> float:
        """P(deadline miss): a log-normal around E whose spread grows with what is assumed."""
        if deadline_ms <= 0:
            return 0.0
        spread = 0.5 if self.assumed else 0.25
        score = math.log(self.total_ms(wait_ms) / deadline_ms) / (spread * math.sqrt(2.0))
        return 0.5 * (1.0 + math.erf(score))


def bandwidth_of(region: str, facts: Facts) -> tuple[float, bool]:
    """Bytes a second, and whether that is only assumed."""
    known = facts.latencies.bandwidth(region)
    return (known, False) if known else (ASSUMED_BANDWIDTH, True)


def speed_of(demand: Demand, node: NodeClass | None, facts: Facts) -> tuple[float, bool]:
    """How fast the work runs there, 1 = as the estimate says; whether that is only assumed.

    From finished runs of this kind of work on both device models, never from their data sheets: a
    recommender can run faster on the older card (routing.md).
    """
    model = node.model if node is not None else ""
    if not model or not demand.shapes[0].devices or demand.work.on == model:
        return 1.0, False
    there = facts.history.speed(demand.kind, model)
    here = facts.history.speed(demand.kind, demand.work.on) if demand.work.on else None
    if there is None or (demand.work.on and here is None):
        return 1.0, True
    return there.value / (here.value if here is not None else 1.0), False


def expected(demand: Demand, region: str, node: NodeClass | None, facts: Facts) -> Expected:
    """What is expected of a run at a region, on a class of its nodes."""
    assumed: list[str] = []
    moved = bytes_to_move(demand.inputs, region)
    bandwidth, is_assumed = bandwidth_of(region, facts)
    if moved and is_assumed:
        assumed.append("bandwidth 1 Gbit/s")
    speed, is_assumed = speed_of(demand, node, facts)
    if is_assumed:
        assumed.append("speed as anywhere")
    if demand.work.source == "assumed":
        assumed.append(f"duration {demand.work.ms // 60_000} min")
    run_ms = demand.work.ms / speed
    assert run_ms > 0, "work takes time"
    interval_ms = demand.checkpoint_ms or run_ms
    rate = facts.history.failure_rate(region, demand.kind, facts.now.utc_ms)
    rework = 1.0 + rate * (interval_ms / 2 + RESTART_MS) / HOUR_MS
    assert rework >= 1.0, "failures do not save time"
    return Expected(moved / bandwidth * 1000.0, run_ms, rework, tuple(assumed))
