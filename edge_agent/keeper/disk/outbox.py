"""Between deciding and telling: records go to disk first, then effects are released, in order.

One commit takes all that a turn of the loop has changed. When it fails (full disk), replies are
refused, starts are called off, and notifications wait for a commit that succeeds.
"""

import contextlib
from collections.abc import Callable
from typing import Final, NamedTuple

from edge_agent.keeper.disk.journal import Journal
from edge_agent.keeper.domain.events import Drop, Key, Refuse, Reply, Save, Spawn
from edge_agent.keeper.domain.record import Run
from edge_agent.keeper.protocol import STORE_UNAVAILABLE, Body, ProtocolFault
from edge_agent.keeper.spec import Token

RETRY_NS: Final = 1_000_000_000
LAZY_NS: Final = 250_000_000
"""How long a change that need not be durable may wait for company; most tasks end before."""


class Broadcast(NamedTuple):
    """A notification with the view of its run at that moment."""

    note: str
    run: Body


Release = Reply | Refuse | Spawn | Broadcast


class Outbox:
    """What waits for the disk."""

    def __init__(self, journal: Journal, clock: Callable[[], int]) -> None:
        self._journal = journal
        self._clock = clock
        self._dirty: set[Key] = set()
        self._lazy: set[Key] = set()
        self._drops: list[Drop] = []
        self._waiting: list[Release] = []
        self._held: list[Release] = []
        self._lazy_at: int | None = None
        self._retry_at: int | None = None

    @property
    def behind(self) -> bool:
        """Whether the disk lags what was decided."""
        return self._retry_at is not None

    @property
    def due(self) -> bool:
        """Whether `commit` has something to do."""
        if self._retry_at is None and (self._dirty or self._drops):
            return True
        at = self.next_due()
        return bool(self._waiting) or (at is not None and at <= self._clock())

    def next_due(self) -> int | None:
        """When `commit` must be called next, if nothing else comes."""
        return self._lazy_at if self._retry_at is None else self._retry_at

    def save(self, order: Save) -> None:
        """Have a record written: with the next commit, or a little later with others."""
        if order.durable:
            self._dirty.add(order.key)
        else:
            self._lazy.add(order.key)
            if self._lazy_at is None:
                self._lazy_at = self._clock() + LAZY_NS

    def drop(self, order: Drop) -> None:
        """Have a record removed with the next commit."""
        self._drops.append(order)

    def put(self, effect: Release) -> None:
        """Have an effect released after the next commit."""
        self._waiting.append(effect)

    def commit(
        self, runs: dict[Key, Run], fences: dict[str, Token]
    ) -> tuple[list[Release], OSError | None]:
        """Write. Returns what may be released now; on a fault, what must be called off:
        refusals in place of replies, and the starts that must not happen.
        """
        waiting, self._waiting = self._waiting, []
        try:
            self._write(runs)
        except OSError as error:
            self._retry_at = self._clock() + RETRY_NS
            self._held += [effect for effect in waiting if isinstance(effect, Broadcast)]
            off = [_called_off(each, error) for each in waiting if not isinstance(each, Broadcast)]
            return off, error
        self._retry_at = None
        self._rewrite(runs, fences)
        waiting, self._held = self._held + waiting, []
        return waiting, None

    def _write(self, runs: dict[Key, Run]) -> None:
        lazy_due = self._lazy_at is not None and self._lazy_at <= self._clock()
        keys = self._dirty | self._lazy if lazy_due else set(self._dirty)
        for key in keys & runs.keys():
            self._journal.save(runs[key])
        for drop in self._drops:
            self._journal.forget(*drop.key, drop.mark)
        if keys or self._drops:
            # A drop that a power cut undoes brings back an ended run: link drops it again.
            self._journal.write(durable=bool(self._dirty))
        self._dirty.clear()
        self._drops.clear()
        self._lazy -= keys
        if not self._lazy:
            self._lazy_at = None

    def _rewrite(self, runs: dict[Key, Run], fences: dict[str, Token]) -> None:
        if self._journal.bulky:
            with contextlib.suppress(OSError):  # the log goes on; it is tried again later
                self._journal.rewrite(runs.values(), fences)


def _called_off(effect: Release, error: OSError) -> Release:
    if isinstance(effect, Reply):
        message = f"the keeper cannot write its state ({error.strerror}): make room, then retry"
        return Refuse(effect.tag, ProtocolFault(STORE_UNAVAILABLE, message))
    return effect
