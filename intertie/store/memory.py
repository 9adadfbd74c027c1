"""The store in memory: the reference for what the port means, and the simulator's store.

Same semantics as the SQL stores, durability across processes apart. No method awaits anything, so a
driver without an event loop may run each of them to its end with one `send(None)`.
Must not take shortcuts that a SQL store cannot take: the contract suite runs over both.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from intertie.ports import (
    Claim,
    ConflictError,
    Delete,
    Event,
    FencedError,
    Put,
    Row,
    ShardCommit,
    ShardHead,
    StoredEvent,
    StoreUnavailableError,
)


@dataclass(slots=True)
class _Shard:
    epoch: int = 0
    events: list[StoredEvent] = field(default_factory=list)
    by_key: dict[str, list[StoredEvent]] = field(default_factory=dict)

    @property
    def last_seq(self) -> int:
        return len(self.events)

    def append(self, shard: int, event: Event) -> None:
        stored = StoredEvent(shard, self.last_seq + 1, event.key, event.scope, event.body)
        self.events.append(stored)
        self.by_key.setdefault(event.key, []).append(stored)


@dataclass(slots=True)
class _Contents:
    shards: dict[int, _Shard] = field(default_factory=dict)
    rows: dict[tuple[int, str], dict[str, Row]] = field(default_factory=dict)
    lists: dict[tuple[str, str], dict[tuple[int, str], Row]] = field(default_factory=dict)
    claims: dict[str, dict[str, Claim]] = field(default_factory=dict)


class MemoryStore:
    """`intertie.ports.Store` over dictionaries."""

    def __init__(self) -> None:
        self._contents = _Contents()
        self._closed = False

    def reopened(self) -> "MemoryStore":
        """A store over the same contents: what a process finds after a restart."""
        store = MemoryStore()
        store._contents = self._contents
        return store

    async def acquire(self, shard: int) -> ShardHead:
        """See `Store.acquire`."""
        contents = self._open()
        state = contents.shards.setdefault(shard, _Shard())
        state.epoch += 1
        return ShardHead(shard, state.epoch, state.last_seq)

    async def commit(self, commits: Sequence[ShardCommit]) -> None:
        """See `Store.commit`: first every fence, then every claim, then the changes."""
        contents = self._open()
        self._check_fences(contents, commits)
        self._check_claims(contents, commits)
        for commit in commits:
            for change in commit.changes:
                match change:
                    case Put():
                        self._put(contents, commit.shard, change)
                    case Delete():
                        self._remove(contents, commit.shard, change.kind, change.key)
                    case Claim():
                        contents.claims.setdefault(change.space, {})[change.name] = change
            for event in commit.events:
                contents.shards[commit.shard].append(commit.shard, event)

    async def get(self, shard: int, kind: str, key: str) -> bytes | None:
        """See `Store.get`."""
        row = self._open().rows.get((shard, kind), {}).get(key)
        return None if row is None else row.body

    async def scan(self, shard: int, kind: str) -> AsyncIterator[Row]:
        """See `Store.scan`."""
        for _, row in sorted(self._open().rows.get((shard, kind), {}).items()):
            yield row

    async def list_rows(
        self,
        kind: str,
        scope: str,
        *,
        after: str = "",
        before: str = "",
        limit: int,
        descending: bool = False,
    ) -> Sequence[Row]:
        """See `Store.list_rows`."""
        found = [
            row
            for row in self._open().lists.get((kind, scope), {}).values()
            if row.ord > after and (not before or row.ord < before)
        ]
        found.sort(key=lambda row: (row.ord, row.shard, row.key), reverse=descending)
        return found[:limit]

    async def events(
        self, shard: int, after: int, *, limit: int, key: str | None = None
    ) -> Sequence[StoredEvent]:
        """See `Store.events`."""
        state = self._open().shards.get(shard, _Shard())
        if key is None:
            return state.events[after : after + limit]
        return [event for event in state.by_key.get(key, ()) if event.seq > after][:limit]

    async def last_seq(self, shard: int) -> int:
        """See `Store.last_seq`."""
        return self._open().shards.get(shard, _Shard()).last_seq

    async def claims(self, names: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Claim]:
        """See `Store.claims`."""
        claims = self._open().claims
        found = ((name, claims.get(name[0], {}).get(name[1])) for name in names)
        return {name: claim for name, claim in found if claim is not None}

    async def forget_claims(self, space: str, before_utc_ms: int, *, limit: int) -> int:
        """See `Store.forget_claims`: the oldest first."""
        claims = self._open().claims.get(space, {})
        old = [claim for claim in claims.values() if claim.utc_ms < before_utc_ms]
        old.sort(key=lambda claim: (claim.utc_ms, claim.name))
        for claim in old[:limit]:
            del claims[claim.name]
        return len(old[:limit])

    async def close(self) -> None:
        """See `Store.close`."""
        self._closed = True

    def _open(self) -> _Contents:
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        return self._contents

    @staticmethod
    def _check_fences(contents: _Contents, commits: Sequence[ShardCommit]) -> None:
        last: dict[int, int] = {}
        for commit in commits:
            state = contents.shards.get(commit.shard, _Shard())
            seq = last.get(commit.shard, state.last_seq)
            if state.epoch != commit.epoch or state.epoch == 0:
                raise FencedError(
                    f"shard {commit.shard} is at epoch {state.epoch}, not {commit.epoch}"
                )
            if commit.events and commit.first_seq != seq + 1:
                raise FencedError(f"shard {commit.shard} is at {seq}, not {commit.first_seq - 1}")
            last[commit.shard] = seq + len(commit.events)

    @staticmethod
    def _check_claims(contents: _Contents, commits: Sequence[ShardCommit]) -> None:
        seen: dict[tuple[str, str], Claim] = {}
        for claim in _claims_of(commits):
            name = (claim.space, claim.name)
            standing = contents.claims.get(claim.space, {}).get(claim.name) or seen.get(name)
            if standing is not None:
                raise ConflictError(standing)
            seen[name] = claim

    @staticmethod
    def _put(contents: _Contents, shard: int, put: Put) -> None:
        MemoryStore._remove(contents, shard, put.kind, put.key)
        row = Row(shard, put.kind, put.key, put.scope, put.ord, put.body)
        contents.rows.setdefault((shard, put.kind), {})[put.key] = row
        if put.ord:
            contents.lists.setdefault((put.kind, put.scope), {})[shard, put.key] = row

    @staticmethod
    def _remove(contents: _Contents, shard: int, kind: str, key: str) -> None:
        row = contents.rows.get((shard, kind), {}).pop(key, None)
        if row is not None and row.ord:
            del contents.lists[kind, row.scope][shard, key]


def _claims_of(commits: Sequence[ShardCommit]) -> Iterator[Claim]:
    for commit in commits:
        for change in commit.changes:
            if isinstance(change, Claim):
                yield change
