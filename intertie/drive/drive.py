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

from intertie.drive.effects import Erase, Fail, Record, Replayed, Reply, Request, Reserve, Write
from intertie.drive.view import View
from intertie.errors import IntertieError, Reason, error
from intertie.ports import Change, Claim, Delete, Event, Now, Put, ShardCommit, ShardHead


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
class Logged:
    """A committed log entry with its number."""

    shard: int
    seq: int
    key: str
    scope: str
    value: object


@dataclass(frozen=True, slots=True)
class Released:
    """What may leave now: effects in the order of their events, and the new log entries."""

    effects: Sequence[object]
    logged: Sequence[Logged]


@dataclass(slots=True)
class _Shard:
    """What a batch changes in one shard."""

    changes: dict[tuple[str, str], Change]
    events: list[Event]


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
        self._batch: list[tuple[object, Request | None]] = []
        self._core: Core | None = None
        self._heads: dict[int, ShardHead] = {}
        self._effects: list[object] = []
        self._writes: list[Write | Erase] = []
        self._logged: list[Logged] = []
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
            self.view.put(row.kind, row.key, row.value)
        self._core = self._make_core(loaded, now)

    def push(self, event: object, request: Request | None = None) -> None:
        """Queue an event."""
        self._queue.append((event, request))

    def take(self) -> Sequence[tuple[str, str]] | None:
        """Begin a batch. Returns the (space, name) pairs to look up; None = nothing to do.

        A second event with a request_id of this batch waits for the next one, so that it meets the
        claim of the first.
        """
        assert not self._busy, "take during a batch"
        if self._core is None or not self._queue:
            return None
        names: dict[tuple[str, str], None] = {}
        later: list[tuple[object, Request | None]] = []
        while self._queue and len(self._batch) < self._max_batch:
            item = self._queue.popleft()
            request = item[1]
            if request is not None:
                name = (request.space, request.name)
                if name in names:
                    later.append(item)
                    continue
                names[name] = None
            self._batch.append(item)
        self._queue.extendleft(reversed(later))
        self._busy = True
        return list(names)

    def decide(self, found: Mapping[tuple[str, str], Claim], now: Now) -> Sequence[ShardCommit]:
        """Run the core over the batch. Returns what to commit; empty = call `committed` at once."""
        assert self._busy, "decide without take"
        assert self._core is not None, "decide without a core"
        shards: dict[int, _Shard] = {}
        for event, request in self._batch:
            claim = found.get((request.space, request.name)) if request is not None else None
            if request is not None and claim is not None:
                self._effects.append(_replay(request, claim))
                continue
            for effect in self._core.handle(event, now):
                if isinstance(effect, Write | Erase | Record | Reserve):
                    self._collect(effect, shards, now)
                else:
                    self._effects.append(effect)
        return [
            ShardCommit(
                shard=number,
                epoch=self._heads[number].epoch,
                first_seq=self._heads[number].last_seq + 1,
                changes=list(shard.changes.values()),
                events=shard.events,
            )
            for number, shard in sorted(shards.items())
        ]

    def _collect(
        self, effect: Write | Erase | Record | Reserve, shards: dict[int, _Shard], now: Now
    ) -> None:
        shard = shards.get(effect.shard)
        if shard is None:
            assert effect.shard in self._heads, f"shard {effect.shard} is not owned"
            shard = shards[effect.shard] = _Shard({}, [])
        match effect:
            case Write():
                self._writes.append(effect)
                shard.changes[(effect.kind, effect.key)] = Put(
                    effect.kind, effect.key, self._encode(effect.value), effect.scope, effect.ord
                )
            case Erase():
                self._writes.append(effect)
                shard.changes[(effect.kind, effect.key)] = Delete(effect.kind, effect.key)
            case Record():
                seq = self._heads[effect.shard].last_seq + len(shard.events) + 1
                shard.events.append(Event(effect.key, effect.scope, self._encode(effect.value)))
                self._logged.append(
                    Logged(effect.shard, seq, effect.key, effect.scope, effect.value)
                )
            case Reserve():
                shard.changes[("", f"{effect.space}/{effect.name}")] = Claim(
                    effect.space, effect.name, effect.digest, effect.result, now.utc_ms
                )

    def committed(self) -> Released:
        """The commit is durable: update the view, and let the effects go."""
        assert self._busy, "committed without take"
        for write in self._writes:
            if isinstance(write, Erase):
                self.view.drop(write.kind, write.key)
            elif write.kind not in self._unseen:
                self.view.put(write.kind, write.key, write.value)
        for entry in self._logged:
            head = self._heads[entry.shard]
            assert entry.seq == head.last_seq + 1, "log entries out of order"
            self._heads[entry.shard] = ShardHead(head.shard, head.epoch, entry.seq)
        released = Released(self._effects, self._logged)
        self._reset()
        return released

    def failed(self) -> Sequence[Fail]:
        """The commit failed or its outcome is unknown: discard core and batch; who must be told.

        `load` must follow. Events without a waiter (messages of peers) are dropped: digests and
        re-sends repair them, as if the network had lost them.
        """
        assert self._busy, "failed without take"
        self._core = None
        fails = [
            Fail(ticket, unconfirmed())
            for event, request in self._batch
            if (ticket := _ticket(event, request))
        ]
        self._reset()
        return fails

    def refuse_queued(self) -> Sequence[Fail]:
        """Answer everybody who waits in the queue while there is no core; keep the other events."""
        waiting = [(e, r) for e, r in self._queue if _ticket(e, r)]
        self._queue = deque((e, r) for e, r in self._queue if not _ticket(e, r))
        return [Fail(_ticket(event, request), unconfirmed()) for event, request in waiting]

    def _reset(self) -> None:
        self._batch, self._effects, self._writes, self._logged = [], [], [], []
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
