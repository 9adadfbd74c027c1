"""A decision of the router as it is kept, so that anybody can make it again and compare.

What was drawn follows from the weights and the seed; what was chosen follows from the lots. Neither
needs the state of the world at that time, which is gone.
"""

from dataclasses import dataclass

from intertie.values import quick


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A region that could be drawn: its weight, and the revision of the summary behind it.

    Of a large federation only the drawn ones are kept apart; a candidate without a region stands
    for all between two of them.
    """

    region: str
    weight: float
    incarnation: str = ""
    revision: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """A part of an offer: units that start now, or units that would wait there first.

    `expected_ms` is the expected time to success, `miss` the probability that a deadline is missed,
    `success` the low estimate of the share of runs that succeed, `cost_nanos` the quote. `taken`
    units were assigned.
    """

    region: str
    units: int
    wait_ms: int
    expected_ms: int
    success: float
    miss: float = 0.0
    cost_nanos: int = 0
    over_nanos: int = 0
    taken: int = 0


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One round of offers: who could be drawn, who was, what they offered in the order of choice.

    `inputs` names the revisions of prices, latencies, history and policy that it rested on.
    """

    id: str
    at_ms: int
    seed: int
    count: int
    objective: str
    work_ms: int
    inputs: str
    candidates: tuple[Candidate, ...]
    drawn: tuple[str, ...]
    lots: tuple[Lot, ...] = ()
    units: int = 0
