"""Probes: what this node is and has, measured and with its source.

Each probe returns `Found` (a value and how it was found) or `NotFound` (and why), and never raises
for what the world is like: an absent device or a forbidden file is a finding. Probes read; they
change nothing and decide nothing (tags and capability are derived elsewhere, by versioned rules).
What a task uses is measured by the keeper, not here.
"""

from edge_agent.adapters.probes.capability import node_capability
from edge_agent.adapters.probes.model import Absence, Found, NodeProbes, NotFound, Probe
from edge_agent.adapters.probes.node import probe_node

__all__ = [
    "Absence",
    "Found",
    "NodeProbes",
    "NotFound",
    "Probe",
    "node_capability",
    "probe_node",
]
