"""What a region's core is told of itself at its start: who it is, and how long things take."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Who and where this region is, and what it lends.

    `declared` are the capability tags that the operator gives its nodes.
    """

    region: str
    jurisdiction: str
    incarnation: str
    software: str = ""
    max_queue: int = 10_000
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Intervals in ms, see the configuration for what each is for."""

    agent_lease_ms: int = 30_000
    kill_ms: int = 10_000
    delta_ms: int = 1_000
    drift: float = 1e-3
    unknown_after_ms: int = 6_000
    summary_every_ms: int = 2_000
    beat_ms: int = 2_000
    notice_ms: int = 10_000

    @property
    def beat_every_ms(self) -> int:
        """How often an agent beats, and thereby renews its lease."""
        return min(self.beat_ms, self.agent_lease_ms // 6)

    @property
    def agent_lease_over_ms(self) -> int:
        """How long after granting an agent's lease the region may act as if it were over."""
        return int(self.agent_lease_ms * (1 + 2 * self.drift)) + self.delta_ms
