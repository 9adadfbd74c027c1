"""The drive: from events to durable commits to released effects, as a machine without I/O.

The host (asyncio in a service, virtual time in the simulator) owns time and the store and turns the
crank, as with etcd raft's Ready and Advance:

    drive.push(event)                      any time, also while a commit runs
    names  = drive.take()                  begin a batch; which request_ids to look up in the store
    commit = drive.decide(found, now)      run the core over the batch; what to make durable
    done   = drive.committed()             the commit is durable: released effects, log entries
    lost   = drive.failed()                it failed, or nobody knows: core and batch are discarded

Rules kept here, once, for all services:
- nothing leaves before the commit that it rests on is durable;
- reads see only the committed view;
- after a failed or unknown commit the core is discarded, because it may hold what the store does
  not;
- a request_id is looked up before its event is handled and reserved in the commit of its effect:
  same payload = the first answer again, other payload = REQUEST_ID_REUSED;
- each shard numbers its log entries 1, 2, 3 ... in commit order.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from intertie.drive.batch import Batch
from intertie.drive.batch import Logged as Logged
from intertie.drive.effects import (
    Erase,
    Fail,
    Record,
    Replayed,
    Reply,
    Request,
    Reserve,
    Tick,
    Write,
)
from intertie.drive.view import View
from intertie.errors import IntertieError, Reason, error
from intertie.ports import Claim, Now, ShardCommit, ShardHead

# Tuples: a union would be built anew by each call of isinstance.
_DURABLE = (Write, Erase, Record, Reserve)
_ANSWER = (Reply, Fail)


class Core(Protocol):
    """The domain of a service."""

    @property
    def deadline(self) -> int | None:
        """The boot_ns at which a Tick is due, None if no timer runs."""
        ...

    def handle(self, event: object, now: Now) -> Sequence[object]:
        """Apply one event and say what follows. The only mutator."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A committed value as read from the store when a core is made."""

    kind: str
    key: str
    value: object


@dataclass(frozen=True, slots=True)
class Released:
    """What may leave now: effects in the order of their events, and the new log entries."""

    effects: Sequence[object]
    logged: Sequence[Logged]


class Drive:
    """See the module's text. One instance per core and process life."""

    def __init__(
        self,
        make_core: Callable[[Iterable[Loaded], Now], Core],
        encode: Callable[[object], bytes],
        *,
        unseen: frozenset[str] = frozenset(),
        max_batch: int = 2_000,
    ) -> None:
        """`unseen` kinds are written but not kept in the view (final states, for instance)."""
        self.view = View()
        self._make_core = make_core
        self._encode = encode
        self._unseen = unseen
        self._max_batch = max_batch
        self._queue: deque[tuple[object, Request | None]] = deque()
        self._events: list[tuple[object, Request | None]] = []
        self._batch: Batch | None = None
        self._core: Core | None = None
        self._heads: dict[int, ShardHead] = {}
        self._effects: list[object] = []
        self._owed: dict[int, None] = {}
        self._is_tick_queued = False
        self._busy = False

    @property
    def core(self) -> Core | None:
        """The present core, None until loaded. For the host's timers only."""
        return self._core

    @property
    def deadline(self) -> int | None:
        """When the core wants a Tick, as boot_ns."""
        return self._core.deadline if self._core is not None else None

    @property
    def backlog(self) -> int:
        """Events that wait for a batch."""
        return len(self._queue)

    def load(self, heads: Iterable[ShardHead], rows: Iterable[Loaded], now: Now) -> None:
        """Make a fresh core from what the store holds; `heads` are as just acquired."""
        assert not self._busy, "load during a batch"
        loaded = list(rows)
        self._heads = {head.shard: head for head in heads}
        self.view = View()
        for row in loaded:
            if row.kind not in self._unseen:
                self.view.put(row.kind, row.key, row.value)
        self._core = self._make_core(loaded, now)

    def push(self, event: object, request: Request | None = None) -> None:
        """Queue an event."""
        self._queue.append((event, request))

    def tick(self, now: Now) -> None:
        """Queue a Tick if the core's deadline is reached and no Tick waits.

        It stands behind what came before it, so that no lease runs out over a renewal that waits
        in the queue.
        """
        deadline = self.deadline
        if deadline is not None and deadline <= now.boot_ns and not self._is_tick_queued:
            self._is_tick_queued = True
            self._queue.append((Tick(), None))

    def take(self) -> Sequence[tuple[str, str]] | None:
        """Begin a batch. Returns the (space, name) pairs to look up; None = nothing to do."""
        assert not self._busy, "take during a batch"
        if self._core is None or not self._queue:
            return None
        queue, owed = self._queue, self._owed
        self._events = [queue.popleft() for _ in range(min(len(queue), self._max_batch))]
        names: dict[tuple[str, str], None] = {}
        for event, request in self._events:
            if request is not None:
                names[request.space, request.name] = None
            if ticket := _ticket(event, request):
                owed[ticket] = None
            elif type(event) is Tick:
                self._is_tick_queued = False
        self._busy = True
        return list(names)

    def decide(self, found: Mapping[tuple[str, str], Claim], now: Now) -> Sequence[ShardCommit]:
        """Run the core over the batch. Returns what to commit; empty = call `committed` at once.

        A name that an event of this batch has just reserved counts as found: the answer to its
        replay is released with the commit that makes it true.
        """
        assert self._busy, "decide without take"
        assert self._core is not None, "decide without a core"
        batch = self._batch = Batch(self._heads, self._encode, now.utc_ms)
        handle, add, release = self._core.handle, batch.add, self._effects.append
        for event, request in self._events:
            if request is not None:
                name = (request.space, request.name)
                claim = found.get(name) or batch.claimed.get(name)
                if claim is not None:
                    release(_replay(request, claim))
                    continue
            for effect in handle(event, now):
                if isinstance(effect, _DURABLE):
                    add(effect)
                else:
                    release(effect)
        return batch.commits()

    def committed(self) -> Released:
        """The commit is durable: update the view, and let the effects go."""
        assert self._batch is not None, "committed without decide"
        for row in self._batch.rows:
            if isinstance(row, Erase):
                self.view.drop(row.kind, row.key)
            elif row.kind not in self._unseen:
                self.view.put(row.kind, row.key, row.value)
        for head in self._batch.heads_after():
            self._heads[head.shard] = head
        for effect in self._effects:
            if isinstance(effect, _ANSWER):
                self._owed.pop(effect.ticket, None)
        released = Released(self._effects, self._batch.logged)
        self._reset()
        return released

    def failed(self) -> Sequence[Fail]:
        """The commit failed or its outcome is unknown: discard core and batch; who must be told.

        `load` must follow. Told are the callers of the batch and those of earlier batches to whom
        the core still owes an answer: it dies with what it knew of them. Events without a waiter
        (messages of peers) are dropped: digests and re-sends repair them, as if the network had
        lost them.
        """
        assert self._busy, "failed without take"
        self._core = None
        fails = [Fail(ticket, unconfirmed()) for ticket in self._owed]
        self._owed.clear()
        self._reset()
        return fails

    def refuse_queued(self) -> Sequence[Fail]:
        """Answer everybody who waits in the queue while there is no core; keep the other events."""
        waiting = [(e, r) for e, r in self._queue if _ticket(e, r)]
        self._queue = deque((e, r) for e, r in self._queue if not _ticket(e, r))
        return [Fail(_ticket(event, request), unconfirmed()) for event, request in waiting]

    def _reset(self) -> None:
        self._events, self._effects, self._batch = [], [], None
        self._busy = False


def _ticket(event: object, request: Request | None) -> int:
    """Who waits for this event: 0 = nobody. Events of callers carry a `ticket`."""
    if request is not None:
        return request.ticket
    ticket = getattr(event, "ticket", 0)
    assert isinstance(ticket, int)
    return ticket


def _replay(request: Request, claim: Claim) -> Reply | Fail:
    if claim.digest == request.digest:
        return Reply(request.ticket, Replayed(claim.result))
    return Fail(
        request.ticket,
        error(
            Reason.REQUEST_ID_REUSED,
            f"request_id {request.name} was used with another payload.",
            remedy="Use a new UUID for a new request.",
            metadata={"request_id": request.name, "made": claim.result},
        ),
    )


def unconfirmed() -> IntertieError:
    """The error for a caller whose commit is not known to be durable."""
    return error(
        Reason.STORE_UNAVAILABLE,
        "The store did not confirm the change.",
        remedy="Retry with the same request_id; nothing will happen twice.",
        retry_after_ms=1_000,
    )
