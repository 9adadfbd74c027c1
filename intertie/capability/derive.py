"""Tags of a node, derived from what its probes found and how it has kept: rules with a version.

Nobody types a tag in by hand: a rule gives its value, or the tag is absent, which holds for no
requirement. What nothing can measure is declared by the operator, and stays marked as that.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from intertie.capability.devices import Nominal, nominal
from intertie.model.pool import NodeCapability
from intertie.model.tags import TAGS, Level

RULES_VERSION = 1
"""Grows when a rule changes: equal versions give equal tags."""

LONG_RUN_HOURS = 72.0
LONG_RUN_LIKELIHOOD = 0.95
HIGH_CONCURRENCY_CPU = 32_000
HIGH_CONCURRENCY_MEMORY = 64 << 30

# The prior of a node's faults: 2.7e-4 an hour, with the weight of 720 hours (routing.md, health).
PRIOR_RATE = 2.7e-4
PRIOR_HOURS = 720.0


@dataclass(frozen=True, slots=True)
class History:
    """How a node has kept: `hours` under watch, `faults` of its own in them."""

    hours: float = 0.0
    faults: float = 0.0

    @property
    def rate(self) -> float:
        """Faults an hour to expect: the prior, and what was seen (Gamma-Poisson)."""
        return (PRIOR_RATE * PRIOR_HOURS + self.faults) / (PRIOR_HOURS + self.hours)

    def survives(self, hours: float) -> float:
        """The likelihood of no fault in that time."""
        return math.exp(-self.rate * hours)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What rules look at."""

    node: NodeCapability
    history: History
    sheet: Nominal | None


def tags(
    node: NodeCapability, history: History, declared: Mapping[str, str] | None = None
) -> Mapping[str, str]:
    """All tags of a node that have a value, by name; `declared` gives those that rules do not."""
    device = node.devices[0] if node.devices else None
    sheet = nominal(device.vendor, device.model) if device else None
    seen = _Seen(node, history, sheet)
    derived = {name: value for name, rule in _RULES.items() if (value := rule(seen))}
    said = {name: value for name, value in (declared or {}).items() if TAGS[name].declared}
    return dict(sorted({**said, **derived}.items()))


def _interconnect(seen: _Seen) -> str:
    """The class of the slowest link between two devices; one device has none to be slow."""
    devices = seen.node.devices
    if not devices:
        return "none"
    level = TAGS["interconnect"].type
    assert isinstance(level, Level), "see the vocabulary"
    return min((d.link or "pcie" for d in devices), key=lambda word: level.rank(word) or 0)


def _architecture(seen: _Seen) -> str:
    kinds = {device.architecture for device in seen.node.devices}
    return kinds.pop() if len(kinds) == 1 else ""


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _number(of: Callable[[Nominal], float]) -> Callable[[_Seen], str]:
    return lambda seen: f"{of(seen.sheet):g}" if seen.sheet else ""


_RULES: Mapping[str, Callable[[_Seen], str]] = {
    "interconnect": _interconnect,
    "deployment": lambda s: s.node.deployment,
    "task_isolation": lambda s: s.node.isolation,
    "device_architecture": _architecture,
    "device_memory_bandwidth": _number(lambda sheet: sheet.memory_bandwidth),
    "device_bf16": _number(lambda sheet: sheet.bf16),
    "device_link": _number(lambda sheet: sheet.link),
    "numa_nodes": lambda s: str(s.node.numa_nodes),
    "high_concurrency": lambda s: _flag(
        s.node.cpu >= HIGH_CONCURRENCY_CPU and s.node.memory >= HIGH_CONCURRENCY_MEMORY
    ),
    "long_run": lambda s: _flag(s.history.survives(LONG_RUN_HOURS) >= LONG_RUN_LIKELIHOOD),
}
