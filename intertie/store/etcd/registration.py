"""Hold a key in etcd for as long as this process lives: the shell around `tenure.Tenure`.

`is_held` asks the local clock alone, so it is right while etcd is away, and for a process that was
frozen and has just woken. Losing the lease is no end: it registers again, and says so. A live rival
with another incarnation is the end. Must not decide anything; that is in `tenure`.
"""

import asyncio
from collections.abc import Callable, Collection
from enum import Enum

import structlog

from intertie.ports import Clock, Now
from intertie.store.etcd import tenure
from intertie.store.etcd.claims import claim_session, incarnation_of, session_value
from intertie.store.etcd.faults import (
    EtcdRefusedError,
    EtcdUnavailableError,
    LeaseGoneError,
    SessionTakenError,
)
from intertie.store.etcd.port import Membership

_log = structlog.get_logger(__name__)


class Standing(Enum):
    """How a registration stands."""

    SEEKING = "not held; trying"
    HELD = "held"
    TAKEN = "a live rival holds it; given up"
    CLOSED = "closed"
    BROKEN = "the registration failed by a bug; see the log"


_AT_THE_END = {
    tenure.State.REFUSED: Standing.TAKEN,
    tenure.State.CLOSED: Standing.CLOSED,
}

OnChange = Callable[[Standing], None]
Step = tenure.Grant | tenure.Claim | tenure.Renew | tenure.Check | tenure.Revoke


class Registration:
    """A key that this incarnation holds, or seeks to hold. Made by `start` or `register`.

    Args:
        membership: where.
        clock: the local clock that fences.
        key: the session key.
        incarnation: identifies this run of this process; stands in the first line of the value.
        body: what else the value tells.
        ttl_s: how long the key outlives a process that dies; etcd has a least of a few seconds.
        supersedes: earlier incarnations that are known to be dead (from our own state directory).
        on_change: called in the event loop whenever the standing changes.
    """

    def __init__(
        self,
        membership: Membership,
        clock: Clock,
        key: str,
        *,
        incarnation: str,
        ttl_s: int,
        body: bytes = b"",
        supersedes: Collection[str] = (),
        on_change: OnChange | None = None,
    ) -> None:
        self.key = key
        self._membership = membership
        self._clock = clock
        self._value = session_value(incarnation, body)
        self._ours = frozenset({incarnation, *supersedes})
        self._on_change = on_change
        self._tenure = tenure.Tenure(ttl_s)
        self._events: asyncio.Queue[tenure.Event] = asyncio.Queue()
        self._wake_ns: int | None = None
        self._steps = asyncio.TaskGroup()
        self._standing = Standing.SEEKING
        self._settled = asyncio.Event()
        self._rival: SessionTakenError | None = None
        self._loop_task: asyncio.Task[None] | None = None

    @property
    def standing(self) -> Standing:
        """How it stood when it was last looked at; `is_held` is the word that counts."""
        return self._standing

    @property
    def lease(self) -> int:
        """The lease to bind further keys to; another one after each loss, 0 while there is none."""
        return self._tenure.lease

    def is_held(self, now: Now) -> bool:
        """Whether the key is surely ours at this instant. Needs no answer from anybody."""
        return self._tenure.is_held(now)

    def start(self) -> None:
        """Begin to seek the key, in the background."""
        assert self._loop_task is None, "started already"
        self._loop_task = asyncio.create_task(self._run(), name=f"registration of {self.key}")
        self._loop_task.add_done_callback(self._ended)

    async def wait_held(self) -> None:
        """Wait until the key is held.

        Raises:
            SessionTakenError: another live incarnation has it.
            RuntimeError: it was closed, or broke.
        """
        await self._settled.wait()
        if self._standing is Standing.TAKEN and self._rival is not None:
            raise self._rival
        if self._standing is not Standing.HELD:
            raise RuntimeError(f"registration of {self.key}: {self._standing.value}")

    async def close(self, within_s: float = 2.0) -> None:
        """Give the key up now, so that nobody has to wait for its lease to end; idempotent.

        Gives up on telling etcd after `within_s`; the lease then ends by itself.
        """
        if self._loop_task is None or self._loop_task.done():
            return
        self._events.put_nowait(tenure.Close())
        await asyncio.wait([self._loop_task], timeout=within_s)
        self._loop_task.cancel()
        await asyncio.wait([self._loop_task])

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as self._steps:
            self._carry_out(self._tenure.begin(self._clock.now()))
            while self._tenure.state not in _AT_THE_END:
                event = await self._next_event()
                self._carry_out(self._tenure.handle(event, self._clock.now()))
        # A grant that was under way has ended with the group: its lease must not linger.
        async with asyncio.TaskGroup() as self._steps:
            while not self._events.empty():
                event = self._events.get_nowait()
                self._carry_out(self._tenure.handle(event, self._clock.now()))

    def _ended(self, loop_task: asyncio.Task[None]) -> None:
        """Notice a loop that died: nothing renews the lease any more."""
        if not loop_task.cancelled() and (fault := loop_task.exception()) is not None:
            _log.error("registration broke", key=self.key, exc_info=fault)
            self._tell(Standing.BROKEN)

    def _tell(self, standing: Standing) -> None:
        if standing is self._standing:
            return
        self._standing = standing
        if standing is Standing.SEEKING:
            self._settled.clear()
        else:
            self._settled.set()
        if self._on_change is not None:
            self._on_change(standing)

    async def _next_event(self) -> tenure.Event:
        if self._wake_ns is None:
            return await self._events.get()
        delay_s = (self._wake_ns - self._clock.now().boot_ns) / tenure.NANO
        try:
            async with asyncio.timeout(max(0.0, delay_s)):
                return await self._events.get()
        except TimeoutError:
            self._wake_ns = None
            return tenure.Woken()

    def _carry_out(self, effects: list[tenure.Effect]) -> None:
        for effect in effects:
            match effect:
                case tenure.WakeAt():
                    self._wake_ns = effect.boot_ns
                case tenure.Tell():
                    standing = Standing.HELD if effect.held else Standing.SEEKING
                    self._tell(_AT_THE_END.get(self._tenure.state, standing))
                case _:
                    self._steps.create_task(self._step(effect))
        if self._tenure.state in _AT_THE_END:
            self._tell(_AT_THE_END[self._tenure.state])

    async def _step(self, effect: Step) -> None:
        """Do one thing in etcd and report what came of it as an event."""
        lease = 0 if isinstance(effect, tenure.Grant) else effect.lease
        try:
            event = await self._do(effect)
        except LeaseGoneError:
            event = tenure.LeaseGone(lease)
        except (EtcdUnavailableError, EtcdRefusedError) as fault:
            _log.warning("registration step failed", key=self.key, fault=str(fault))
            event = None if isinstance(effect, tenure.Check) else tenure.Failed(lease)
        if event is not None:
            self._events.put_nowait(event)

    async def _do(self, effect: Step) -> tenure.Event | None:
        match effect:
            case tenure.Grant():
                return await self._grant(effect.ttl_s)
            case tenure.Claim():
                return await self._claim(effect.lease)
            case tenure.Renew():
                return await self._renew(effect.lease, effect.within_ns / tenure.NANO)
            case tenure.Check():
                entry = await self._membership.get(self.key)
                mine = entry is not None and entry.lease == effect.lease
                return None if mine else tenure.KeyGone(effect.lease)
            case tenure.Revoke():
                await self._membership.revoke(effect.lease)
                return None

    async def _grant(self, ttl_s: int) -> tenure.Event:
        sent_ns = self._clock.now().boot_ns
        granted = await self._membership.grant(ttl_s)
        return tenure.Granted(granted.lease, granted.ttl_s, sent_ns)

    async def _claim(self, lease: int) -> tenure.Event:
        holder = await claim_session(self._membership, self.key, self._value, lease, self._ours)
        if holder is None:
            return tenure.Claimed(lease)
        self._rival = SessionTakenError(holder, incarnation_of(holder.value))
        return tenure.Refused(lease)

    async def _renew(self, lease: int, within_s: float) -> tenure.Event:
        sent_ns = self._clock.now().boot_ns
        renewed = await self._membership.renew(lease, timeout_s=within_s)
        return tenure.Renewed(lease, renewed.ttl_s, sent_ns)


async def register(
    membership: Membership,
    clock: Clock,
    key: str,
    *,
    incarnation: str,
    ttl_s: int,
    body: bytes = b"",
    supersedes: Collection[str] = (),
    on_change: OnChange | None = None,
) -> Registration:
    """Hold a key; returns once it is held. Waits as long as etcd is away: bound it if you must.

    Arguments are those of `Registration`.

    Raises:
        SessionTakenError: another live incarnation has it; `holder` is what stands there.
    """
    registration = Registration(
        membership,
        clock,
        key,
        incarnation=incarnation,
        ttl_s=ttl_s,
        body=body,
        supersedes=supersedes,
        on_change=on_change,
    )
    registration.start()
    try:
        await registration.wait_held()
    except BaseException:
        await registration.close()
        raise
    return registration
