"""The streams that are open now, so that a ban or an expiry can cut them from outside.

A ban cuts at once; expiry is looked for every `SWEEP_S` seconds, as a stream without messages would
never notice. Must not decide who may act; it asks the `PeerCheck`.
"""

import asyncio

from intertie.errors import IntertieError
from intertie.pki.check import PeerCheck
from intertie.ports import Clock
from intertie.telemetry.metrics import RPC_STREAMS_CUT
from intertie.telemetry.registry import Metrics
from intertie.transport.call import Call

SWEEP_S = 1.0


class OpenStreams:
    """All open streams of one server."""

    def __init__(self, check: PeerCheck, clock: Clock, metrics: Metrics) -> None:
        self._check = check
        self._clock = clock
        self._metrics = metrics
        self._calls: set[Call] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._calls)

    def start(self) -> None:
        """Begin to watch bans and expiry, on the running loop."""
        self._check.bans.listen(self.sweep)
        self._arm()

    def stop(self) -> None:
        """Stop watching."""
        if self._timer is not None:
            self._check.bans.forget(self.sweep)
            self._timer.cancel()
            self._timer = None

    def add(self, call: Call) -> None:
        """A stream opened; to be called in the task that handles it."""
        call.task = asyncio.current_task()
        self._calls.add(call)

    def discard(self, call: Call) -> None:
        """A stream ended."""
        self._calls.discard(call)

    def sweep(self) -> None:
        """Cut every stream whose peer may not act any more."""
        now = self._clock.now()
        for call in tuple(self._calls):
            try:
                self._check.still_good(call.peer, now)
                self._check.still_good(call.identity, now)
            except IntertieError as problem:
                self._cut(call, problem)

    def _cut(self, call: Call, problem: IntertieError) -> None:
        assert call.task is not None, "add() sets the task"
        self._calls.discard(call)
        call.cut = problem
        call.task.cancel()
        self._metrics.counter(RPC_STREAMS_CUT, problem.reason.value).inc()

    def _arm(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self._tick)

    def _tick(self) -> None:
        self.sweep()
        self._arm()
