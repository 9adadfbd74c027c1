"""Forgets final tasks and old decisions after their time, a few at once, from time to time.

Rows of a shard are read in the order in which their tasks were made, only as far as any can be due.
Shared specs go a sweep after the last task of their array, so no reader that has just found such a
task misses its spec. Must not decide what else a row is needed for: that is the core's.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from itertools import islice

from federation.domain.core import DONE, SPEC
from federation.domain.forgetting import ForgetDecisions, ForgetTasks, created_ms_of
from federation.domain.routing.decisions import DECISION, KEEP_MS
from intertie.errors import IntertieError
from intertie.model.decision import Decision
from intertie.model.task import Task
from intertie.ports import Clock, FencedError, Row, StoreUnavailableError
from intertie.store.codec import decoder
from intertie.store.pump import Pump
from intertie.telemetry.logs import logger

EVERY_S = 3_600.0
STEP = 500
"""Rows of one commit: others wait no longer than for a batch."""
PAUSE_S = 0.05

_decode = decoder(Task)
_decode_decision = decoder(Decision)
_log = logger(__name__)


class TaskRetention:
    """See the module's text.

    Args:
        pump: the core and its store.
        clock: what time it is.
        keep_ms: for how long a task is kept after its end.
        every_s: how long between two sweeps.
    """

    def __init__(self, pump: Pump, clock: Clock, keep_ms: int, *, every_s: float = EVERY_S) -> None:
        assert keep_ms > 0, "tasks are kept for some time"
        self._pump = pump
        self._clock = clock
        self._keep_ms = keep_ms
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, with a sweep at once."""
        assert self._task is None, "started once"
        self._task = asyncio.create_task(self._run(), name="task retention")

    async def stop(self) -> None:
        """End; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def sweep(self) -> int:
        """Forget everything that is due; how many rows there were."""
        now_ms = self._clock.now().utc_ms
        shards = sorted(self._pump.heads)
        gone = sum([await self._shard(shard, now_ms - self._keep_ms) for shard in shards])
        return gone + sum([await self._decisions(shard, now_ms - KEEP_MS) for shard in shards])

    async def _decisions(self, shard: int, before_ms: int) -> int:
        """Forget decisions of that age; each is no older than the task that it is filed under."""
        async with aclosing(self._made_before(shard, DECISION, before_ms)) as rows:
            kept = [(row.key, _decode_decision(row.body).at_ms) async for row in rows]
        due = [key for key, at_ms in kept if at_ms < before_ms]
        return sum([await self._forget_decisions(shard, step) for step in _steps(due)])

    async def _forget_decisions(self, shard: int, keys: tuple[str, ...]) -> int:
        return await self._ask(
            lambda ticket: ForgetDecisions(ticket=ticket, shard=shard, decisions=keys)
        )

    async def _shard(self, shard: int, before_ms: int) -> int:
        due: list[str] = []
        shared: set[str] = set()
        async with aclosing(self._made_before(shard, DONE, before_ms)) as rows:
            async for row in rows:
                task = _decode(row.body)
                shared.add(task.spec_ref)
                if task.ended_ms < before_ms:
                    due.append(task.id)
        async with aclosing(self._made_before(shard, SPEC, before_ms)) as rows:
            specs = [row.key async for row in rows if row.key not in shared]
        gone = 0
        for step in _steps(specs):
            gone += await self._forget(shard, specs=step)
        for step in _steps(due):
            gone += await self._forget(shard, tasks=step)
        return gone

    async def _made_before(
        self, shard: int, kind: str, before_ms: int
    ) -> AsyncGenerator[Row, None]:
        async for row in self._pump.store.scan(shard, kind):
            if created_ms_of(row.key) >= before_ms:
                return
            yield row

    async def _forget(
        self, shard: int, *, tasks: tuple[str, ...] = (), specs: tuple[str, ...] = ()
    ) -> int:
        return await self._ask(
            lambda ticket: ForgetTasks(ticket=ticket, shard=shard, tasks=tasks, specs=specs)
        )

    async def _ask(self, make: Callable[[int], ForgetTasks | ForgetDecisions]) -> int:
        gone = await self._pump.ask(make)
        assert isinstance(gone, int), "answered with how many"
        await asyncio.sleep(PAUSE_S)
        return gone

    async def _run(self) -> None:
        while True:
            try:
                gone = await self.sweep()
            except (FencedError, StoreUnavailableError, IntertieError) as fault:
                _log.warning("final tasks not forgotten; later", fault=str(fault))
            else:
                if gone:
                    _log.info("final tasks forgotten", rows=gone)
            await asyncio.sleep(self._every_s)


def _steps(keys: Iterable[str]) -> list[tuple[str, ...]]:
    rest = iter(keys)
    steps = []
    while step := tuple(islice(rest, STEP)):
        steps.append(step)
    return steps
