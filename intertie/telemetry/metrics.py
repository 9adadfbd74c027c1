"""Every metric of Intertie: name, kind, help and labels, as data. docs/metrics.md is made from it.

Names follow the Prometheus conventions (base units, `_total`, `_seconds`). Labels have few values:
never a task, a request or a peer. Must not touch a registry; `registry` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

LATENCY_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """What all kinds have."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CounterMetric(Metric):
    """Only goes up."""


@dataclass(frozen=True, slots=True)
class GaugeMetric(Metric):
    """Goes up and down."""


@dataclass(frozen=True, slots=True)
class HistogramMetric(Metric):
    """Counts observations by upper bound."""

    buckets: tuple[float, ...] = LATENCY_SECONDS


BUILD = GaugeMetric("intertie_build_info", "1, with the version that runs.", ("version", "service"))

RPC_HANDLED = CounterMetric(
    "intertie_rpc_handled_total", "Calls that a server has ended, by status.", ("method", "code")
)
RPC_SECONDS = HistogramMetric(
    "intertie_rpc_seconds", "Time from the arrival of a unary call to its end.", ("method",)
)
RPC_IN_FLIGHT = GaugeMetric(
    "intertie_rpc_in_flight", "Calls and streams that are open now.", ("method",)
)
RPC_REFUSED = CounterMetric(
    "intertie_rpc_refused_total",
    "Calls refused before their handler ran, by reason of the error catalogue.",
    ("reason",),
)
RPC_STREAMS_CUT = CounterMetric(
    "intertie_rpc_streams_cut_total", "Open streams cut by a ban or an expiry.", ("reason",)
)
CERTIFICATE_END = GaugeMetric(
    "intertie_certificate_not_after_seconds", "When this process's certificate ends (UTC)."
)
CERTIFICATE_ROTATIONS = CounterMetric(
    "intertie_certificate_rotations_total",
    "Certificates taken into use while running.",
    ("result",),
)
CHANNELS_REBUILT = CounterMetric(
    "intertie_channels_rebuilt_total", "Client channels replaced because of a new certificate."
)

ALARMS = CounterMetric(
    "intertie_alarms_total", "Things that a person must look at; the log says more.", ("kind",)
)
LIVE_TASKS = GaugeMetric("intertie_federation_live_tasks", "Tasks that have not ended.")
ATTACHED_REGIONS = GaugeMetric(
    "intertie_federation_attached_regions", "Regions whose link stands now."
)
REGION_NODES = GaugeMetric("intertie_region_nodes", "Agents attached to the region now.")
REGION_RUNS = GaugeMetric(
    "intertie_region_runs", "Runs of the region that wait or hold a node.", ("state",)
)
LOG_SIZE = GaugeMetric(
    "intertie_log_size",
    "Records of the region's metering log: sequenced durably, or under a cosigned checkpoint.",
    ("stage",),
)

AGENT_RUNS = GaugeMetric("intertie_agent_runs", "Runs that the node holds, ended ones included.")
AGENT_ATTACHED = GaugeMetric("intertie_agent_attached", "1 while the link to the region stands.")
AGENT_KEEPER_STARTS = GaugeMetric(
    "intertie_agent_keeper_starts", "Keepers started in this life of the agent."
)


def all_metrics() -> Sequence[Metric]:
    """Every metric of this file, by name."""
    found = [value for value in globals().values() if isinstance(value, Metric)]
    return sorted(found, key=lambda metric: metric.name)
