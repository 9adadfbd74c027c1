"""Candidate sets: the filters and the weight of all regions for one class of tasks, in columns.

A set is made once and then follows the journal of the columns: only rows that changed are judged
again. It says the same as `verdicts` says of each region alone (a property test holds them
together); what is here and not there is speed.
"""

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from federation.domain.routing import weights
from federation.domain.routing.demand import Demand, bytes_to_move, unreachable
from federation.domain.routing.expected.duration import expected
from federation.domain.routing.expected.quote import quote
from federation.domain.routing.facts import Facts
from federation.domain.routing.known.latency import Estimated
from federation.domain.routing.known.lent import refusal
from federation.domain.routing.table.columns import NO_KIND, Columns
from federation.domain.routing.table.ratings import Ratings
from federation.domain.routing.table.slices import BIT, Bits, Flags, Rows, Slice
from federation.domain.routing.weights import Floats
from intertie.model.money import Money
from intertie.residency import Want, day_of, decide

KEPT_CELLS = 8_000_000
"""Regions times classes whose sets are kept; the set that was used longest ago goes first."""


class CandidateSet:
    """All regions for one class: `fails` has a bit for each filter that does not hold."""

    def __init__(self, demand: Demand) -> None:
        self.demand = demand
        self.position = -1
        self.revisions: tuple[object, ...] = ()
        self.fails: Bits = np.zeros(0, np.uint16)
        self.loads = -1
        self.weight: Floats = np.zeros(0)
        self.factor: Floats = np.zeros(0)
        self.capacity: Floats = np.zeros(0)
        self.free: Floats = np.zeros(0)
        self.variant: NDArray[np.int16] = np.zeros(0, np.int16)
        self.slot: NDArray[np.int16] = np.zeros(0, np.int16)
        self.rows: Rows = np.zeros(0, np.int64)
        self.ends: list[float] = []

    def resize(self, count: int) -> None:
        """Room for so many regions; what is there is kept."""
        for name in ("fails", "factor", "free", "capacity", "variant", "slot"):
            old = getattr(self, name)
            new = np.zeros(count, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def close(self, columns: Columns) -> None:
        """After rows were judged or tasks sent: who can be drawn, and the sums of their weights."""
        count = len(self.factor)
        assert count <= len(columns), "a row of no region"
        room = weights.room(self.free, columns.inflight[:count], self.capacity)
        self.weight = room * self.factor
        self.loads = columns.loads
        self.rows = np.flatnonzero(self.weight > 0.0)
        self.ends = np.cumsum(self.weight[self.rows]).tolist()


class Candidates:
    """The sets of all classes that were asked for lately."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._sets: OrderedDict[Demand, CandidateSet] = OrderedDict()
        self._places: dict[Want, list[bool]] = {}
        self._placed_by = ("", "")
        self._ratings = Ratings(columns)
        self._shared: tuple[tuple[int, int], Slice] | None = None
        self.hits = 0
        self.asked = 0

    def __len__(self) -> int:
        return len(self._sets)

    def of(self, demand: Demand, facts: Facts) -> CandidateSet:
        """The set of a class, true at this moment."""
        columns = self._columns
        columns.advance(facts.now)
        self.asked += 1
        found = self._sets.get(demand)
        if found is None:
            found = self._sets[demand] = CandidateSet(demand)
            while len(self._sets) > max(64, KEPT_CELLS // max(1, len(columns))):
                self._sets.popitem(last=False)
        else:
            self._sets.move_to_end(demand)
        day = day_of(facts.now.utc_ms)  # rules of the policy expire
        known = (facts.latencies.revision, facts.prices.revision)
        revisions = (*known, facts.policy.sha256, day)
        changed = columns.since(found.position) if found.revisions == revisions else None
        if changed == []:
            self.hits += 1
            if found.loads != columns.loads:
                found.close(columns)
            return found
        if len(found.fails) < len(columns):
            found.resize(len(columns))
        full = changed is None or len(changed) * 2 > len(columns)
        rows = np.arange(len(columns)) if full or changed is None else np.array(changed)
        self._judge(found, self._slice(-1 if full else found.position, rows, facts), facts)
        found.close(columns)
        found.position, found.revisions = columns.position, revisions
        return found

    def _slice(self, start: int, rows: Rows, facts: Facts) -> Slice:
        """The rows that changed since a position; sets that stood there together share it."""
        key = (start, self._columns.position)
        if self._shared is None or self._shared[0] != key:
            self._shared = key, Slice(self._columns, rows, facts)
        return self._shared[1]

    def _judge(self, into: CandidateSet, part: Slice, facts: Facts) -> None:
        columns, demand, rows = self._columns, into.demand, part.rows
        room = part.room(demand.shapes)
        assert len(room.free) == len(rows), "room is counted for every row"
        fails = part.fails | np.where(room.variant >= 0, np.uint16(0), BIT["capability"])
        for name, holds in self._slow(into, rows, room.variant, room.slot, facts):
            fails |= np.where(holds, np.uint16(0), BIT[name])
        into.fails[rows], into.free[rows], into.capacity[rows] = fails, room.free, room.capacity
        into.variant[rows], into.slot[rows] = room.variant, room.slot
        success = self._ratings.of(demand.kind, facts)[rows]
        near, pull = self._near(demand, rows, facts), self._pull(demand, rows, facts)
        factor = weights.factor(success, columns.health[rows], near, pull)
        into.factor[rows] = np.where(fails == 0, factor, 0.0)

    def _slow(
        self,
        into: CandidateSet,
        rows: Rows,
        variant: NDArray[np.int16],
        slot: NDArray[np.int16],
        facts: Facts,
    ) -> list[tuple[str, Flags]]:
        """The filters that most demands do not have: each costs only those that have it."""
        demand, columns = into.demand, self._columns
        found: list[tuple[str, Flags]] = []

        def by_name(name: str, holds: Callable[[str], bool]) -> None:
            found.append((name, np.array([holds(columns.regions[r]) for r in rows.tolist()], bool)))

        if demand.only or demand.barred:
            only = frozenset(demand.only)
            by_name("placement", lambda r: (not only or r in only) and r not in demand.barred)
        if demand.want.is_restricted:
            places = self._allowed(demand.want, facts)
            found.append(("residency", places[columns.place[rows]]))
        lending = columns.lending
        if lending:
            terms = [lending.get(row) for row in rows.tolist()]
            lent = [t is None or not refusal(demand, t) for t in terms]
            found.append(("lending", np.array(lent, bool)))
        if any(not item.has_uri for item in demand.inputs):
            by_name("data", lambda r: not unreachable(demand.inputs, r))
        if demand.latency is not None:
            by_name("latency", lambda r: _is_near(demand, r, facts))
        if demand.total is not None or demand.per_hour is not None:
            affordable = _Affordable(demand, columns, facts)
            places_ = zip(rows.tolist(), variant.tolist(), slot.tolist(), strict=True)
            found.append(("budget", np.array([affordable.holds(*p) for p in places_], bool)))
        return found

    def _near(self, demand: Demand, rows: Rows, facts: Facts) -> Floats:
        bound = demand.latency
        if bound is None:
            return np.ones(len(rows))
        regions = self._columns.regions
        found = (facts.latencies.p95(bound.origin, regions[row]) for row in rows.tolist())
        p95 = np.array([bound.max_rtt if known is None else known.p95_ms for known in found])
        return weights.nearness(p95, float(bound.max_rtt))

    def _pull(self, demand: Demand, rows: Rows, facts: Facts) -> Floats:
        if not demand.inputs:
            return np.ones(len(rows))
        moved = np.full(len(self._columns), float(bytes_to_move(demand.inputs, "")))
        for region in {region for item in demand.inputs for region in item.at}:
            row = self._columns.index.get(region)
            if row is not None:
                moved[row] = bytes_to_move(demand.inputs, region)
        bandwidth = self._ratings.bandwidths(facts)[rows]
        return weights.gravity(moved[rows], bandwidth, float(demand.work.ms))

    def _allowed(self, want: Want, facts: Facts) -> Flags:
        """Which of the numbered places a want allows, by the policy of now and on this day."""
        policy, day = facts.policy, day_of(facts.now.utc_ms)
        if (policy.sha256, day) != self._placed_by:
            self._placed_by = (policy.sha256, day)
            self._places.clear()
        known = self._places.setdefault(want, [])
        for path in self._columns.places[len(known) :]:
            known.append(decide(policy, want, path, day).allowed)
        return np.array(known, bool)


def _is_near(demand: Demand, region: str, facts: Facts) -> bool:
    bound = demand.latency
    assert bound is not None, "asked only where there is a bound"
    known = facts.latencies.p95(bound.origin, region)
    if known is None or known.p95_ms > bound.max_rtt:
        return False
    return bound.allow_estimated or not isinstance(known, Estimated)


class _Affordable:
    """The budget filter; regions with the same prices and the same kind of nodes cost the same."""

    def __init__(self, demand: Demand, columns: Columns, facts: Facts) -> None:
        self._demand = demand
        self._columns = columns
        self._facts = facts
        self._known: dict[tuple[str, int, int], bool] = {}

    def holds(self, row: int, variant: int, slot: int) -> bool:
        """Whether the quote of a region is within the budget."""
        region = self._columns.regions[row]
        kind = int(self._columns.kind[row, slot]) if variant >= 0 else NO_KIND
        prices = self._facts.prices.of(region)
        key = (prices.version, variant, kind)
        if key not in self._known:
            node = self._columns.kinds[kind] if kind != NO_KIND else None
            run_ms = expected(self._demand, region, node, self._facts).run_ms
            found = quote(self._demand.shapes[max(variant, 0)], prices, run_ms)
            self._known[key] = _covers(self._demand.total, found.total) and _covers(
                self._demand.per_hour, found.per_hour
            )
        return self._known[key]


def _covers(bound: Money | None, price: Money | None) -> bool:
    if bound is None:
        return price is not None
    return (
        price is not None
        and bound.currency == price.currency
        and price.total_nanos <= bound.total_nanos
    )
