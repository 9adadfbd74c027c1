"""What the durable effects of one batch come to: one commit per shard, and the new log entries.

Of each row only the last change counts, of each unique name the one reservation. Must not know the
core, the queue or the callers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from intertie.drive.effects import Durable, Erase, Record, Reserve, Write
from intertie.ports import Change, Claim, Delete, Event, Put, ShardCommit, ShardHead
from intertie.values import quick

_ROW = (Write, Erase)  # a tuple: a union would be built anew by each call


@quick
@dataclass(frozen=True, slots=True)
class Logged:
    """A committed log entry with its number."""

    shard: int
    seq: int
    key: str
    scope: str
    value: object


@dataclass(slots=True)
class _Shard:
    """What changes in one shard. `head` is as before the batch."""

    head: ShardHead
    rows: dict[tuple[str, str], Write | Erase]
    claims: list[Change]
    events: list[Event]


class Batch:
    """See the module's text. `heads` are the shards as of the last commit."""

    def __init__(
        self, heads: Mapping[int, ShardHead], encode: Callable[[object], bytes], utc_ms: int
    ) -> None:
        self.logged: list[Logged] = []
        self.claimed: dict[tuple[str, str], Claim] = {}
        self._heads = heads
        self._encode = encode
        self._utc_ms = utc_ms
        self._shards: dict[int, _Shard] = {}
        self._rows: dict[tuple[str, str], Write | Erase] = {}

    @property
    def rows(self) -> Iterable[Write | Erase]:
        """The last change of each row, whatever its shard."""
        return self._rows.values()

    def add(self, effect: Durable) -> None:
        """Take in the next durable effect."""
        shard = self._shards.get(effect.shard)
        if shard is None:
            assert effect.shard in self._heads, f"shard {effect.shard} is not owned"
            shard = self._shards[effect.shard] = _Shard(self._heads[effect.shard], {}, [], [])
        if isinstance(effect, _ROW):
            row = (effect.kind, effect.key)
            shard.rows[row] = self._rows[row] = effect
        elif isinstance(effect, Record):
            shard.events.append(Event(effect.key, effect.scope, self._encode(effect.value)))
            seq = shard.head.last_seq + len(shard.events)
            self.logged.append(Logged(effect.shard, seq, effect.key, effect.scope, effect.value))
        else:
            shard.claims.append(self._claim(effect))

    def _claim(self, effect: Reserve) -> Claim:
        name = (effect.space, effect.name)
        assert name not in self.claimed, f"{effect.space}/{effect.name} is reserved twice"
        claim = Claim(effect.space, effect.name, effect.digest, effect.result, self._utc_ms)
        self.claimed[name] = claim
        return claim

    def commits(self) -> Sequence[ShardCommit]:
        """What is to be made durable, in the order of shards."""
        return [self._commit(shard) for _, shard in sorted(self._shards.items())]

    def _commit(self, shard: _Shard) -> ShardCommit:
        encode = self._encode
        changes: list[Change] = [
            Put(row.kind, row.key, encode(row.value), row.scope, row.ord)
            if type(row) is Write
            else Delete(row.kind, row.key)
            for row in shard.rows.values()
        ]
        changes += shard.claims
        head = shard.head
        return ShardCommit(head.shard, head.epoch, head.last_seq + 1, changes, shard.events)

    def heads_after(self) -> Iterable[ShardHead]:
        """The shards that the batch changes, as they are once it is durable."""
        for shard in self._shards.values():
            head = shard.head
            yield ShardHead(head.shard, head.epoch, head.last_seq + len(shard.events))
