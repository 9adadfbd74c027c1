"""The decisions of holding a key under a lease: what to do next, and whether it is held now.

                    Granted             Claimed
    -> GRANTING ------------> CLAIMING ---------> HOLDING
          ^                    |    ^ KeyGone      |
          |     LeaseGone      |    +--------------+
          +--------------------+-------------------+
                    Refused by a live rival -> REFUSED        Close -> CLOSED

The fence: the key counts as held only until

    time at which the last acked grant or renewal was SENT + TTL, less clock drift

on the boot clock. The server counts from when it received it, which is later, so it cannot drop
the key while the holder believes in it: no message has to arrive for a cut off or frozen holder to
stop. After the fence the lease may still be alive (a new leader extends leases); it is renewed
until the server says that it is gone, and then everything starts over under a new lease.

Pure: no I/O, no clock, no etcd. Only `handle` changes it; `registration` carries out the effects.
"""

from dataclasses import dataclass
from enum import Enum

from intertie.ports import Now

DRIFT = 0.002
"""Part of the TTL given up for clocks that run unequally: twice what assumption C1 allows."""

NANO = 1_000_000_000

_RENEWALS, _TRIES, _PAUSES = 3, 5, 12
"""Parts of the TTL: renew after a third, give one try a fifth, pause a twelfth after a failure. So
two members may be dead or frozen before the third renews the lease in time."""


class State(Enum):
    """What is being done."""

    GRANTING = "asking for a lease"
    CLAIMING = "taking the key"
    HOLDING = "renewing"
    REFUSED = "a live rival has the key"
    CLOSED = "given up on purpose"


@dataclass(frozen=True, slots=True)
class Granted:
    """A lease was made; its request was sent at `sent_ns`."""

    lease: int
    ttl_s: int
    sent_ns: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """The key stands under the lease."""

    lease: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A live rival has the key."""

    lease: int


@dataclass(frozen=True, slots=True)
class Renewed:
    """The lease was renewed; the request was sent at `sent_ns`."""

    lease: int
    ttl_s: int
    sent_ns: int


@dataclass(frozen=True, slots=True)
class KeyGone:
    """The lease lives, but the key is not under it: somebody deleted or overwrote it."""

    lease: int


@dataclass(frozen=True, slots=True)
class LeaseGone:
    """The server does not know the lease."""

    lease: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The step under way got no answer; `lease` is 0 for a grant."""

    lease: int


@dataclass(frozen=True, slots=True)
class Woken:
    """The time of the last `WakeAt` has come."""


@dataclass(frozen=True, slots=True)
class Close:
    """The owner wants to let go."""


Event = Granted | Claimed | Refused | Renewed | KeyGone | LeaseGone | Failed | Woken | Close


@dataclass(frozen=True, slots=True)
class Grant:
    """Ask for a lease."""

    ttl_s: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Take the key under the lease."""

    lease: int


@dataclass(frozen=True, slots=True)
class Renew:
    """Renew the lease; give up after `within_ns`, so that another member can be tried in time."""

    lease: int
    within_ns: int


@dataclass(frozen=True, slots=True)
class Check:
    """Look whether the key is still under the lease, and say so only if it is not."""

    lease: int


@dataclass(frozen=True, slots=True)
class Revoke:
    """End the lease, as far as the server can be reached."""

    lease: int


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Woken` at this time; replaces an earlier wish."""

    boot_ns: int


@dataclass(frozen=True, slots=True)
class Tell:
    """The key is held now, or it is not any more."""

    held: bool


Effect = Grant | Claim | Renew | Check | Revoke | WakeAt | Tell


class Tenure:
    """One key under one lease at a time. Start it with `begin`."""

    def __init__(self, ttl_s: int) -> None:
        assert ttl_s > 0, ttl_s
        self.state = State.GRANTING
        self.lease = 0
        self._ttl_s = ttl_s
        self._ttl_ns = ttl_s * NANO
        self._fence_ns = 0
        self._boot_id = ""
        self._next_ns = 0
        self._busy = False
        self._told = False

    def begin(self, now: Now) -> list[Effect]:
        """The first effects."""
        return self._grant(now)

    def is_held(self, now: Now) -> bool:
        """Whether the key is surely ours at this instant, by our own clock alone."""
        live = self.state is State.HOLDING and now.boot_id == self._boot_id
        return live and now.boot_ns < self._fence_ns

    def handle(self, event: Event, now: Now) -> list[Effect]:
        """Take one event; returns what to do about it."""
        if self.state in (State.REFUSED, State.CLOSED):
            # A grant that was under way when we let go must not linger.
            return [Revoke(event.lease)] if isinstance(event, Granted) else []
        effects = self._next(event, now)
        held = self.is_held(now)
        if held != self._told:
            self._told = held
            effects.append(Tell(held))
        return effects

    def _next(self, event: Event, now: Now) -> list[Effect]:
        match event:
            case Woken():
                return self._step(now)
            case Close():
                self.state = State.CLOSED
                return [Revoke(self.lease)] if self.lease else []
            case Granted():
                assert self.state is State.GRANTING, self.state
                self._begin_lease(event, now)
                return self._claim(now)
        return self._about_lease(event, now) if event.lease == self.lease else []

    def _about_lease(
        self, event: Claimed | Refused | Renewed | KeyGone | LeaseGone | Failed, now: Now
    ) -> list[Effect]:
        match event:
            case Failed():
                self._busy = False
                self._next_ns = now.boot_ns + self._ttl_ns // _PAUSES
                return self._wake(now)
            case Claimed():
                self.state, self._busy = State.HOLDING, False
                return self._step(now)
            case Renewed():
                self._busy = self._busy and self.state is not State.HOLDING
                self._extend(event.sent_ns)
                return [Check(self.lease), *self._wake(now)]
            case KeyGone():
                return self._claim(now) if self.state is State.HOLDING else []
            case LeaseGone():
                return self._grant(now)
            case Refused():
                self.state = State.REFUSED
                return [Revoke(self.lease)]

    def _begin_lease(self, granted: Granted, now: Now) -> None:
        self.lease = granted.lease
        self._ttl_ns = granted.ttl_s * NANO
        self._boot_id = now.boot_id
        self._fence_ns = 0
        self._extend(granted.sent_ns)

    def _extend(self, sent_ns: int) -> None:
        """Move the fence for a request that was acked, and plan the next renewal."""
        self._fence_ns = max(self._fence_ns, sent_ns + int(self._ttl_ns * (1 - DRIFT)))
        self._next_ns = sent_ns + self._ttl_ns // _RENEWALS

    def _step(self, now: Now) -> list[Effect]:
        """Do what the state asks for, if it is time and nothing is under way."""
        if self._busy or now.boot_ns < self._next_ns:
            return self._wake(now)
        if self.state is State.GRANTING:
            return self._grant(now)
        if self.state is State.CLAIMING:
            return self._claim(now)
        self._busy = True
        return [Renew(self.lease, within_ns=self._ttl_ns // _TRIES), *self._wake(now)]

    def _grant(self, now: Now) -> list[Effect]:
        self.state, self.lease, self._busy = State.GRANTING, 0, True
        return [Grant(self._ttl_s), *self._wake(now)]

    def _claim(self, now: Now) -> list[Effect]:
        self.state, self._busy = State.CLAIMING, True
        return [Claim(self.lease), *self._wake(now)]

    def _wake(self, now: Now) -> list[Effect]:
        """Wake for the next step, and at the fence to tell that it was passed."""
        times = [] if self._busy else [self._next_ns]
        if now.boot_ns < self._fence_ns:
            times.append(self._fence_ns)
        return [WakeAt(min(times))] if times else []
