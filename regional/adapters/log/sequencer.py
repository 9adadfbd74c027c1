"""Turns pending usage into leaves of the metering log: the only writer of the log.

Gathers records for a moment, decides with `intertie.metering.sequence`, and makes leaves, tiles,
head and unique rids durable in the transaction that removes the pending rows. Works whether the
federation is there or not, once its witness was asked in this process life (`begin`); until then,
and after a fork, records stay pending. Must not sign: that is `publisher`, from what is on disk.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from intertie.metering.sequence import Batch, LogState, next_heartbeat, sequence
from intertie.ports import Clock, ConflictError, FencedError, IdSource, StoreUnavailableError
from intertie.telemetry.logs import logger
from regional.adapters.log.store import LogStore, Pending

SALT_BYTES = 16
RETRY_S = 0.5
_RUN_PARTS = 3
"""A rid of a run begins with task, token and rank."""

_log = logger(__name__)


class Sequencer:
    """See the module's text.

    Args:
        log: the log's rows.
        clock: for the instants that records carry.
        ids: for salts.
        group_ms: how long records are gathered.
        records: most records in one transaction.
        heartbeat_ms: how often an idle log says that it lives.
        appended: told of each durable state.
        alarm: told of usage that could not become a record.
    """

    def __init__(
        self,
        log: LogStore,
        clock: Clock,
        ids: IdSource,
        *,
        group_ms: int,
        records: int,
        heartbeat_ms: int,
        appended: Callable[[LogState], None],
        alarm: Callable[[str], None],
    ) -> None:
        self._log = log
        self._clock = clock
        self._ids = ids
        self._group_s = group_ms / 1000
        self._records = records
        self._heartbeat_ns = heartbeat_ms * 1_000_000
        self._appended = appended
        self._alarm = alarm
        self._wake = asyncio.Event()
        self._state: LogState | None = None
        self._spans: dict[str, tuple[int, int]] = {}
        self._written_ns = 0
        # Pending rows go in the transaction that makes them leaves, so normally none is in the log;
        # the unique rids find out if one is. After a start or a failure it is looked up first.
        self._looks = True
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The witness was asked, and the log is what it knows of us: go on. Idempotent."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="sequencer")

    def hold(self) -> None:
        """The log is forked: nothing is added to it any more in this process life."""
        if self._task is not None:
            self._task.cancel()

    async def stop(self) -> None:
        """End after the transaction that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._state = None

    def wake(self) -> None:
        """There is pending usage."""
        self._wake.set()

    async def _run(self) -> None:
        while True:
            try:
                full = await self.step()
            except ConflictError as conflict:
                # Some of this is in the log already: look before deciding again.
                self._state, self._looks = None, True
                _log.warning("usage is in the log already", rid=conflict.claim.name)
                continue
            except (FencedError, StoreUnavailableError) as fault:
                # What was committed is not known: read it again before anything else is decided.
                self._state, self._looks = None, True
                _log.warning("log not written; trying again", fault=str(fault))
                await asyncio.sleep(RETRY_S)
                continue
            if not full:
                await self._gather()

    async def step(self) -> bool:
        """Sequence what is pending now; True if there may be more."""
        if self._state is None:
            self._state = await self._log.load()
            self._spans = await self._log.spans()
            self._written_ns = self._clock.now().boot_ns
            self._appended(self._state)
        self._wake.clear()
        taken = await self._log.pending(self._records)
        bodies = [row.body for row in taken]
        if not bodies:
            if self._clock.now().boot_ns - self._written_ns < self._heartbeat_ns:
                return False
            bodies = [next_heartbeat(self._state)]
        await self._append(self._state, bodies, taken)
        return len(taken) == self._records

    async def _append(
        self, state: LogState, bodies: Sequence[bytes], taken: Sequence[Pending]
    ) -> None:
        now = self._clock.now()
        batch = sequence(
            state,
            bodies,
            recorded_ms=now.utc_ms,
            salts=[self._ids.token_hex(SALT_BYTES) for _ in bodies],
            known=await self._log.known([row.key for row in taken]) if self._looks else {},
            spans=self._spans,
        )
        changed = self._changed_spans(batch, taken)
        await self._log.append(batch, taken, spans=changed, utc_ms=now.utc_ms)
        self._tell_refusals(batch)
        for run, span in changed.items():
            if span is None:
                self._spans.pop(run, None)
            else:
                self._spans[run] = span
        self._state, self._written_ns = batch.state, now.boot_ns
        self._looks = False
        self._appended(batch.state)

    def _changed_spans(
        self, batch: Batch, taken: Sequence[Pending]
    ) -> dict[str, tuple[int, int] | None]:
        """What to write of spans: those of runs whose run_end is in the log are done with."""
        changed: dict[str, tuple[int, int] | None] = {}
        ended: set[str] = set()
        for row in taken:
            parts = row.key.split("/", _RUN_PARTS)
            run = "/".join(parts[:_RUN_PARTS])
            if parts[-1] == "run_end":
                ended.add(run)
            elif run in batch.spans and batch.spans[run] != self._spans.get(run):
                changed[run] = batch.spans[run]
        for run in ended:
            changed.pop(run, None)
            if run in self._spans:
                changed[run] = None
        return changed

    def _tell_refusals(self, batch: Batch) -> None:
        for kind, refusals in (("conflict", batch.conflicts), ("poison", batch.poison)):
            for refusal in refusals:
                self._alarm(f"usage_{kind}")
                _log.error(
                    "ALARM: usage kept apart from the log",
                    kind=kind,
                    rid=refusal.rid,
                    problem=refusal.message,
                )

    async def _gather(self) -> None:
        """Wait for pending usage, then a moment for more of it; at most until a heartbeat is due.

        The end of the moment is not put off by what comes meanwhile.
        """
        due_s = (self._written_ns + self._heartbeat_ns - self._clock.now().boot_ns) / 1e9
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), max(0.0, due_s))
            await asyncio.sleep(self._group_s)
