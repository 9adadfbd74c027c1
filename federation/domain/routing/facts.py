"""Everything that a verdict rests on beside the region itself: one value, the same for plan,
explain, routing, and a question of the form "what if".
"""

from dataclasses import dataclass, field

from federation.domain.fleet import Timing
from federation.domain.routing.known.history import History
from federation.domain.routing.known.latency import UNMEASURED, Latencies
from federation.domain.routing.known.prices import Prices
from intertie.ports import Now
from intertie.residency import NONE, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """See the module's text. `down` are regions that a question supposes to be gone."""

    now: Now
    timing: Timing
    history: History
    latencies: Latencies = UNMEASURED
    prices: Prices = field(default_factory=Prices)
    policy: Policy = NONE
    down: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        assert self.timing.summary_max_age_ms > 0, "a summary holds for some time"
