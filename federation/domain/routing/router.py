"""The router: everything that finds regions for classes of tasks, behind one object.

Holds what was learned and what is remembered; the regions themselves are the fleet's. Questions
change nothing but caches; `learned` and `refused` are told by those who know.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from federation.domain.fleet import Fleet, Member, Timing
from federation.domain.routing import draw, fitting
from federation.domain.routing.demand import Classes, Demand
from federation.domain.routing.expected.duration import expected
from federation.domain.routing.expected.quote import quote
from federation.domain.routing.facts import Facts
from federation.domain.routing.known.history import History
from federation.domain.routing.known.latency import UNMEASURED, Latencies
from federation.domain.routing.known.prices import Prices
from federation.domain.routing.known.rejections import Rejections
from federation.domain.routing.supposing import NOTHING, WhatIf
from federation.domain.routing.table.candidates import Candidates, CandidateSet
from federation.domain.routing.table.columns import Columns
from federation.domain.routing.table.slices import BIT
from federation.domain.routing.verdicts import verdict
from intertie.model.decision import Candidate, Lot
from intertie.model.link import Offer
from intertie.model.spec import Objective
from intertie.model.task import Task, Verdict
from intertie.ports import Now
from intertie.residency import NONE, Policy

KEPT_CANDIDATES = 64
"""Candidates of a decision that are kept one by one; of more, only the drawn ones are."""
NEAR_CHEAPEST = 1.05
"""Quotes up to this multiple of the least are as cheap as it."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Who was drawn for a class, from whom, and the seed that makes it again."""

    seed: int
    regions: tuple[str, ...]
    candidates: tuple[Candidate, ...]


class Router:
    """See the module's text."""

    def __init__(self, fleet: Fleet, timing: Timing, rng: random.Random) -> None:
        self.history = History()
        self.latencies: Latencies = UNMEASURED
        self.prices = Prices()
        self.policy: Policy = NONE
        self.rejections = Rejections()
        self.classes = Classes(self.history)
        self._fleet = fleet
        self._timing = timing
        self._rng = rng
        self._columns = Columns(timing.summary_max_age_ms)
        self.candidates = Candidates(self._columns)

    # --- questions -------------------------------------------------------------------------------

    @property
    def regions(self) -> list[str]:
        """The regions in the order of the rows of candidate sets."""
        return self._columns.regions

    def facts(self, now: Now, what_if: WhatIf = NOTHING) -> Facts:
        """What verdicts rest on now, or if things were otherwise."""
        return Facts(
            now=now,
            timing=self._timing,
            history=self.history,
            latencies=self.latencies,
            prices=self.prices,
            policy=what_if.policy or self.policy,
            down=what_if.regions_down,
        )

    def verdicts(self, demand: Demand, now: Now) -> list[Verdict]:
        """The verdict of every region, in the order of their ids."""
        facts = self.facts(now)
        return [verdict(demand, member, facts) for _, member in sorted(self._fleet.members.items())]

    def nearest(self, demand: Demand, now: Now, count: int) -> list[Verdict]:
        """The verdicts of the regions that fail the fewest filters, for telling why a class waits.

        A large federation is not told of one by one every time that a class finds nothing.
        """
        found = self.set_of(demand, now)
        members, facts = self._fleet.members, self.facts(now)
        fails = zip(found.fails.tolist(), self._columns.regions, strict=False)
        order = sorted((bits.bit_count(), region) for bits, region in fails if region in members)
        return [verdict(demand, members[region], facts) for _, region in order[:count]]

    def set_of(self, demand: Demand, now: Now) -> CandidateSet:
        """The candidate set of a class, true at this moment."""
        touched, loaded = self._fleet.take_touched()
        if touched:
            self._columns.update(self._fleet.members, touched)
        if loaded:
            self._columns.load(self._fleet.members, loaded)
        return self.candidates.of(demand, self.facts(now))

    def could_ever(self, demand: Demand, now: Now) -> bool:
        """Whether any region could run it, were it reachable and free."""
        return bool(((self.set_of(demand, now).fails & ~BIT["reachable"]) == 0).any())

    # --- draws -----------------------------------------------------------------------------------

    def draw(
        self,
        demand: Demand,
        now: Now,
        *,
        preferred: bool = False,
        closed: Collection[str] = (),
    ) -> Drawn:
        """Draw regions for a round.

        Args:
            demand: the class.
            now: the time.
            preferred: only among those that the class prefers, if any of them can take it.
            closed: regions that may not be asked now (they have no credit left).
        """
        found, index = self.set_of(demand, now), self._columns.index
        rows, ends = found.rows, found.ends
        factors = dict(self.rejections.factors(demand, now.boot_ns))
        factors |= dict.fromkeys(closed, 0.0)
        if preferred:
            wanted = self._preferred(demand, rows.tolist(), now)
            rows = np.array(wanted, np.int64) if wanted else rows
        if factors or rows is not found.rows:
            weight = found.weight.copy()
            for region, factor in factors.items():
                if region in index and index[region] < len(weight):
                    weight[index[region]] *= factor
            rows = rows[weight[rows] > 0.0]
            ends = np.cumsum(weight[rows]).tolist()
        seed = self._rng.getrandbits(draw.SEED_BITS)
        drawn = draw.draw_cumulated(ends, seed, demand.draws)
        names = tuple(self.regions[rows[at]] for at in drawn)
        return Drawn(seed, names, self._kept(rows.tolist(), ends, drawn))

    def has_preference(self, demand: Demand) -> bool:
        """Whether a class tries some regions before the others."""
        return bool(demand.prefer) or demand.objective is Objective.COST

    def _preferred(self, demand: Demand, rows: Sequence[int], now: Now) -> list[int]:
        regions = self._columns.regions
        if demand.prefer:
            wanted = frozenset(demand.prefer)
            return [row for row in rows if regions[row] in wanted]
        if demand.objective is not Objective.COST:
            return []
        facts = self.facts(now)
        costs = {row: self._cost(demand, regions[row], facts) for row in rows}
        least = min(costs.values(), default=0)
        return [row for row, cost in costs.items() if cost <= least * NEAR_CHEAPEST]

    def _cost(self, demand: Demand, region: str, facts: Facts) -> int:
        summary = self._fleet.members[region].summary
        classes = summary.classes if summary is not None else ()
        variant, node = fitting.chosen(demand.shapes, classes)
        run_ms = expected(demand, region, node, facts).run_ms
        return quote(demand.shapes[max(variant, 0)], facts.prices.of(region), run_ms).nanos

    def _kept(
        self, rows: Sequence[int], ends: Sequence[float], drawn: Sequence[int]
    ) -> tuple[Candidate, ...]:
        """The candidates of a decision, of a large pool only what the draw can be made again by."""
        kept: list[Candidate] = []
        shown = range(len(rows)) if len(rows) <= KEPT_CANDIDATES else sorted(drawn)
        told = 0.0
        for at in shown:
            before = ends[at - 1] if at else 0.0
            if before > told:
                kept.append(Candidate(region="", weight=before - told))
            kept.append(self._candidate(rows[at], ends[at] - before))
            told = ends[at]
        if ends and ends[-1] > told:
            kept.append(Candidate(region="", weight=ends[-1] - told))
        return tuple(kept)

    def _candidate(self, row: int, weight: float) -> Candidate:
        region = self._columns.regions[row]
        summary = self._fleet.members[region].summary
        return Candidate(
            region=region,
            weight=weight,
            incarnation=summary.incarnation if summary is not None else "",
            revision=summary.revision if summary is not None else 0,
        )

    # --- offers ----------------------------------------------------------------------------------

    def lots(self, demand: Demand, member: Member, offer: Offer, now: Now) -> list[Lot]:
        """An offer in its two lots: what starts now, and what would wait there.

        A region that starts some at once tells no wait for the others: theirs is a whole run.
        """
        if offer.units <= 0:
            return []
        region, facts = member.hello.region, self.facts(now)
        classes = member.summary.classes if member.summary is not None else ()
        variant = max(offer.variant, 0)
        _, node = fitting.chosen(demand.shapes[variant : variant + 1], classes)
        ahead = expected(demand, region, node, facts)
        price = quote(demand.shapes[variant], facts.prices.of(region), ahead.run_ms)
        over = _over(demand, price.nanos)
        success, _ = self.history.success(region, demand.kind, now.utc_ms)
        queued_ms = offer.expected_wait_ms or round(ahead.run_ms)
        parts = ((min(offer.units_now, offer.units), 0), (offer.units - offer.units_now, queued_ms))
        return [
            Lot(
                region=region,
                units=units,
                wait_ms=wait_ms,
                expected_ms=round(ahead.total_ms(wait_ms)),
                success=success,
                miss=ahead.miss(wait_ms, demand.deadline_ms),
                cost_nanos=price.nanos,
                over_nanos=over,
            )
            for units, wait_ms in parts
            if units > 0
        ]

    def inputs(self) -> str:
        """The revisions of what a decision rests on beside summaries."""
        return (
            f"prices {self.prices.revision}; latencies {self.latencies.revision};"
            f" history {self.history.revision}; policy {self.policy.sha256[:12]}"
        )

    # --- learning --------------------------------------------------------------------------------

    def learned(self, task: Task, now: Now) -> None:
        """The newest run of a task has ended."""
        run, spec = task.run, task.spec
        if run is None or run.outcome is None or spec is None:
            return
        model = self._model(run.region, self.classes.of(spec), run.variant)
        self.history.ended(run, kind=spec.kind, name=spec.name, model=model, now_ms=now.utc_ms)
        self._fleet.touch(run.region)

    def _model(self, region: str, demand: Demand, variant: int) -> str:
        member = self._fleet.members.get(region)
        summary = member.summary if member is not None else None
        index = max(variant, 0)
        if summary is None or index >= len(demand.shapes) or not demand.shapes[index].devices:
            return ""
        fitting_models = {c.model for c in summary.classes if fitting.fits(demand.shapes[index], c)}
        return fitting_models.pop() if len(fitting_models) == 1 else ""

    def stats(self) -> Mapping[str, int]:
        """For metrics and benchmarks."""
        return {
            "classes": self.classes.made,
            "sets": len(self.candidates),
            "asked": self.candidates.asked,
            "hits": self.candidates.hits,
        }


def _over(demand: Demand, nanos: int) -> int:
    return max(0, nanos - demand.total.total_nanos) if demand.total is not None else 0
