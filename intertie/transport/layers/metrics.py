"""Counts and times calls by method. Knows only methods that were added, so labels stay few."""

from intertie.ports import Clock
from intertie.telemetry.metrics import RPC_HANDLED, RPC_IN_FLIGHT, RPC_SECONDS
from intertie.telemetry.registry import Metrics
from intertie.transport.call import Call

NS = 1_000_000_000


class MetricsLayer:
    """Outermost, so that refused calls count too."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock

    def enter(self, call: Call) -> None:
        """One more in flight."""
        self._metrics.gauge(RPC_IN_FLIGHT, call.method).inc()

    def message(self, call: Call) -> None:
        """Messages are not counted: services know what theirs mean."""

    def leave(self, call: Call, code: str) -> None:
        """One fewer in flight; how long it took, unless it was a stream."""
        self._metrics.gauge(RPC_IN_FLIGHT, call.method).dec()
        self._metrics.counter(RPC_HANDLED, call.method, code).inc()
        if not call.streaming:
            took_ns = self._clock.now().boot_ns - call.arrived.boot_ns
            self._metrics.histogram(RPC_SECONDS, call.method).observe(took_ns / NS)
