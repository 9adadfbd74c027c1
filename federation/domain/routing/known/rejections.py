"""Refusals of regions, remembered per class of tasks and forgotten with a half-life.

A region that has just refused a class is asked less often, never not at all: its mind may have
changed. Must not outlive the process: what a region refuses for good is an exclusion of the task.
"""

from collections.abc import Mapping

from federation.domain.routing.demand import Demand

HALF_LIFE_NS = 10_000_000_000
FORGOTTEN = 0.01
"""A memory that would change a weight by less is dropped."""
MAX_CLASSES = 10_000


class Rejections:
    """Per class and region: how strongly it is remembered, and since when."""

    def __init__(self) -> None:
        self._of: dict[Demand, dict[str, tuple[float, int]]] = {}

    def note(self, demand: Demand, region: str, now_ns: int) -> None:
        """A region refused a class now; refusals in a row add up."""
        assert region, "a refusal of nobody"
        if len(self._of) >= MAX_CLASSES:
            self._of.clear()
        regions = self._of.setdefault(demand, {})
        regions[region] = (1.0 + _left(regions.get(region), now_ns), now_ns)

    def forgive(self, demand: Demand, region: str) -> None:
        """A region took a task of the class."""
        regions = self._of.get(demand)
        if regions is not None:
            regions.pop(region, None)

    def factors(self, demand: Demand, now_ns: int) -> Mapping[str, float]:
        """What the weights of regions are multiplied by; a region that is not here: 1."""
        regions = self._of.get(demand)
        if not regions:
            return {}
        left = {region: _left(memory, now_ns) for region, memory in regions.items()}
        for region, strength in left.items():
            if strength < FORGOTTEN:
                del regions[region]
        if not regions:
            del self._of[demand]
        return {r: 1.0 / (1.0 + 9.0 * s) for r, s in left.items() if s >= FORGOTTEN}


def _left(memory: tuple[float, int] | None, now_ns: int) -> float:
    if memory is None:
        return 0.0
    strength, since_ns = memory
    assert now_ns >= since_ns, "time does not go back"
    return float(strength * 2.0 ** (-(now_ns - since_ns) / HALF_LIFE_NS))
