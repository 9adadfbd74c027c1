"""Turns the crank of a drive with asyncio and a store: the one loop of each service.

Must not decide anything: what to do is the core's business, when it is durable the store's. This
file only carries events in, commits across, and released effects out.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import structlog

from intertie.drive.drive import Drive, Loaded, Logged, Released
from intertie.drive.effects import Fail, Reply, Request
from intertie.errors import IntertieError, Reason, error
from intertie.ports import Clock, FencedError, ShardHead, Store, StoreUnavailableError
from intertie.store.callers import Many, One

RETRY_FIRST_S = 0.2
RETRY_MOST_S = 5.0
SLEEP_MOST_S = 1.0
"""Timers of the event loop stand still while the host is suspended, deadlines of a core do not: so
they are looked at this often."""
MAX_WAITING = 50_000
"""Callers that may wait at once; beyond, they are told to come back later."""

Make = Callable[[int], object]
"""Makes an event from the ticket of its caller."""

Named = tuple[str, str, str]
"""A request_id: (space, name, payload digest)."""

log = structlog.get_logger(__name__)


class Pump:
    """Runs one drive over one store.

    Args:
        drive: the drive; loaded by `start`.
        store: where commits go.
        clock: read once per batch.
        shards: the shards to own.
        decoders: how each kind that the core needs is read back.
        release: receives outward effects and log entries, in commit order, after each commit.
            Replies to waiting callers are delivered by the pump itself.

    Whatever the core, the store or `release` raise beyond the store's two known faults is a fault
    of ours: the loop ends, all callers are refused, and `ended` raises it.
    """

    def __init__(
        self,
        drive: Drive,
        store: Store,
        clock: Clock,
        *,
        shards: Sequence[int],
        decoders: Mapping[str, Callable[[bytes], object]],
        release: Callable[[Sequence[object], Sequence[Logged]], None],
    ) -> None:
        self.drive = drive
        self.store = store
        self.heads: Mapping[int, ShardHead] = {}
        self._clock = clock
        self._shards = tuple(shards)
        self._decoders = decoders
        self._release = release
        self._wake = asyncio.Event()
        self._took = asyncio.Event()
        self._next_ticket = 1
        self._waiting: dict[int, One | Many] = {}
        self._task: asyncio.Task[None] | None = None
        self._retry_s = 0.0
        self._stopping = False

    @property
    def is_loaded(self) -> bool:
        """Whether a core is in place: false while the store is away."""
        return self.drive.core is not None

    async def start(self) -> None:
        """Own the shards, load the core, begin. Errors of the first load are the caller's."""
        await self._load()
        self._task = asyncio.create_task(self._run(), name="pump")

    async def stop(self) -> None:
        """Finish the running batch, refuse those who wait. Idempotent, and never raises.

        If the caller is cancelled meanwhile, the batch is finished all the same.
        """
        self._stopping = True
        self._wake.set()
        self._took.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        self._refuse(self._waiting, _stopping)

    def tell(self, event: object) -> None:
        """Queue an event for which nobody waits."""
        self.drive.push(event)
        self._wake.set()

    async def ask(self, make: Make, request: Named | None = None) -> object:
        """Queue `make(ticket)` and wait for its reply.

        Raises what the core answered with, or STORE_UNAVAILABLE if the commit was not confirmed.
        """
        return await self.submit(make, request)

    async def room(self, most: int) -> None:
        """Return when at most so many events wait: whoever only tells must not tell without end."""
        while self.drive.backlog > most and not self._stopping:
            self._took.clear()
            await self._took.wait()

    def submit(self, make: Make, request: Named | None = None) -> asyncio.Future[object]:
        """Do as `ask` does, without waiting: events submitted together share one commit.

        An error that is set on the future has to be looked at, by awaiting it for instance.
        """
        self._admit(1)
        one = One()
        self._push(one, make, request)
        return one.future

    async def ask_all(self, questions: Sequence[tuple[Make, Named]]) -> Sequence[object]:
        """Ask many at once, in one commit; the answers in order, with errors among them."""
        if not questions:
            return ()
        self._admit(len(questions))
        many = Many(self._next_ticket, len(questions))
        for make, request in questions:
            self._push(many, make, request)
        await many.future
        return many.answers

    def _admit(self, count: int) -> None:
        if self._stopping:
            raise _stopping()
        if len(self._waiting) + count > MAX_WAITING:
            raise error(
                Reason.RATE_LIMITED,
                f"{len(self._waiting)} calls wait for the store already.",
                remedy="Come back later.",
                retry_after_ms=1_000,
            )

    def _push(self, caller: One | Many, make: Make, request: Named | None) -> None:
        ticket = self._next_ticket
        self._next_ticket += 1
        self._waiting[ticket] = caller
        self.drive.push(make(ticket), Request(*request, ticket) if request else None)
        self._wake.set()

    async def ended(self) -> None:
        """Return when the loop has ended, by `stop`; raises what broke it."""
        assert self._task is not None, "not started"
        await asyncio.shield(self._task)

    async def _run(self) -> None:
        try:
            while not self._stopping:
                await self._step()
        except Exception as fault:
            log.critical("the core is broken", fault=repr(fault))
            queued = {fail.ticket for fail in self.drive.refuse_queued()}
            self._refuse(self._waiting.keys() - queued, _broken)
            raise
        finally:
            self._stopping = True
            self._took.set()
            self._refuse(self._waiting, _stopping)

    async def _step(self) -> None:
        if self.drive.core is None:
            await self._reload()
            return
        if self.drive.deadline is not None:
            self.drive.tick(self._clock.now())
        if self.drive.backlog:
            await self._turn()
            # Nothing else may have waited: a release that tells the pump would hold the loop.
            await asyncio.sleep(0)
        else:
            await self._sleep()

    async def _turn(self) -> None:
        names = self.drive.take()
        assert names is not None, "a turn without a core or events"
        self._took.set()
        try:
            found = await self.store.claims(names) if names else {}
            commits = self.drive.decide(found, self._clock.now())
            if commits:
                await self.store.commit(commits)
                self._retry_s = 0.0
        except (FencedError, StoreUnavailableError) as fault:
            log.warning("commit not confirmed; reloading", fault=str(fault))
            self._deliver(self.drive.failed())
            return
        self._out(self.drive.committed())

    def _out(self, released: Released) -> None:
        outward = self._deliver(released.effects)
        if outward or released.logged:
            self._release(outward, released.logged)

    def _deliver(self, effects: Iterable[object]) -> list[object]:
        """Answer callers; returns the effects that are no answers."""
        outward: list[object] = []
        for effect in effects:
            if isinstance(effect, Reply):
                answer: object = effect.value
            elif isinstance(effect, Fail):
                answer = effect.error
            else:
                outward.append(effect)
                continue
            caller = self._waiting.pop(effect.ticket, None)
            if caller is not None:
                caller.answer(effect.ticket, answer)
        return outward

    def _refuse(self, tickets: Iterable[int], why: Callable[[], IntertieError]) -> None:
        self._deliver([Fail(ticket, why()) for ticket in tickets])

    async def _sleep(self) -> None:
        self._wake.clear()
        deadline = self.drive.deadline
        if deadline is None:
            await self._wake.wait()
            return
        delay_s = (deadline - self._clock.now().boot_ns) / 1e9
        if delay_s > 0:
            await self._woken(min(delay_s, SLEEP_MOST_S))

    async def _woken(self, within_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), within_s)

    async def _reload(self) -> None:
        """Try to load: at once after a first failure, later and later until a commit passes.

        Loading alone proves little: two owners that fence each other can always load.
        """
        await self._pause(self._retry_s)
        self._retry_s = min(max(self._retry_s * 2, RETRY_FIRST_S), RETRY_MOST_S)
        if self._stopping:
            return
        try:
            await self._load()
        except (FencedError, StoreUnavailableError) as fault:
            log.warning("store unavailable", fault=str(fault), retry_in_s=self._retry_s)
        else:
            log.info("reloaded")

    async def _pause(self, duration_s: float) -> None:
        """Wait; meanwhile whoever asks is told at once that the store is away."""
        loop = asyncio.get_running_loop()
        until = loop.time() + duration_s
        while not self._stopping and (left_s := until - loop.time()) > 0:
            self._deliver(self.drive.refuse_queued())
            self._took.set()
            self._wake.clear()
            await self._woken(left_s)

    async def _load(self) -> None:
        heads = [await self.store.acquire(shard) for shard in self._shards]
        rows = [row async for row in self._rows()]
        self.heads = {head.shard: head for head in heads}
        self.drive.load(heads, rows, self._clock.now())

    async def _rows(self) -> AsyncIterator[Loaded]:
        for kind, decode in self._decoders.items():
            for shard in self._shards:
                async for row in self.store.scan(shard, kind):
                    yield Loaded(kind, row.key, decode(row.body))


def _stopping() -> IntertieError:
    return error(Reason.SHUTTING_DOWN, "The server is stopping.")


def _broken() -> IntertieError:
    return error(
        Reason.INTERNAL,
        "The server stops after a fault of its own; the change may or may not have been made.",
        remedy="Look at the state before you try again, and report the fault with the log.",
    )
