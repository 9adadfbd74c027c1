"""The ports between pure code and the world: small protocols, no implementation.

Imports nothing of Intertie and nothing that does I/O, so that pure code may name what it is given.
Implementations: `intertie.clock`, `intertie.store`, and the fakes in `intertie.testing`. Each port
has at least two and one contract suite in `tests/contract` that runs over all of them.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from intertie.values import quick


@quick
@dataclass(frozen=True, slots=True)
class Now:
    """One reading of both clocks.

    `boot_ns` counts on CLOCK_BOOTTIME (nanoseconds, suspend included) and only compares within one
    `boot_id`; every lease and deadline is decided on it. `utc_ms` is for people and records only.
    """

    boot_ns: int
    boot_id: str
    utc_ms: int


class Clock(Protocol):
    """Reads the time. The only way in which Intertie learns what time it is."""

    def now(self) -> Now:
        """Return both clocks, read together."""
        ...


class IdSource(Protocol):
    """Makes identifiers and secrets."""

    def uuid7(self) -> str:
        """Return a UUIDv7 (RFC 9562) in its canonical text form."""
        ...

    def token_hex(self, n_bytes: int) -> str:
        """Return `n_bytes` of unpredictable bytes as hex."""
        ...


@quick
@dataclass(frozen=True, slots=True)
class Put:
    """Write one row: the whole new state of one entity.

    `scope` and `ord` are what lists are read by (a project and a time-sorted id, for instance); a
    row with an empty `ord` is in no list and costs no index entry. Pages go by `ord`, so it must be
    unique in a kind and scope. `body` is opaque to the store.
    """

    kind: str
    key: str
    body: bytes
    scope: str = ""
    ord: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Delete:
    """Remove one row."""

    kind: str
    key: str


@quick
@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a shard's change log; its dense number is given at commit."""

    key: str
    scope: str
    body: bytes


@quick
@dataclass(frozen=True, slots=True)
class Claim:
    """Reserve a unique name (a request_id, a rid) in the same transaction as its effect.

    `digest` is what the name stands for (a payload hash); `result` is what a replay answers with.
    """

    space: str
    name: str
    digest: str
    result: str
    utc_ms: int


Change = Put | Delete | Claim


@quick
@dataclass(frozen=True, slots=True)
class ShardCommit:
    """All that one shard changes in one transaction.

    `first_seq` is the number of `events[0]`; it must be the shard's last number + 1, else the store
    raises `FencedError`: somebody else wrote. Without events it is not looked at. `epoch` must be
    the shard's epoch in the store; a shard that nobody ever acquired accepts none.
    """

    shard: int
    epoch: int
    first_seq: int
    changes: Sequence[Change] = ()
    events: Sequence[Event] = ()


@quick
@dataclass(frozen=True, slots=True)
class Row:
    """A stored row as read back."""

    shard: int
    kind: str
    key: str
    scope: str
    ord: str
    body: bytes


@quick
@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A change of a shard as read back, with its dense number (from 1)."""

    shard: int
    seq: int
    key: str
    scope: str
    body: bytes


@quick
@dataclass(frozen=True, slots=True)
class ShardHead:
    """What a new owner must know of a shard: its epoch (after the bump) and its last number."""

    shard: int
    epoch: int
    last_seq: int


class FencedError(Exception):
    """The shard is owned by somebody else now: drop the in-memory core, it may be stale."""


class StoreUnavailableError(Exception):
    """The store did not answer or refused (full disk, lost connection).

    The commit may or may not have been applied: the outcome is unknown until the store is read.
    """


class Store(Protocol):
    """Durable rows, change logs and unique names, by shard.

    A commit is atomic over all the shards in it and durable when it returns.
    """

    async def acquire(self, shard: int) -> ShardHead:
        """Bump the shard's epoch and return its head; whoever held it before is fenced."""
        ...

    async def commit(self, commits: Sequence[ShardCommit]) -> None:
        """Apply all, or none. Raises FencedError, ConflictError, StoreUnavailableError.

        Every fence is checked first, then the claims in order (the first that is taken is told,
        one made earlier in the same commit counts), then the changes; a row's last change wins.
        """
        ...

    async def get(self, shard: int, kind: str, key: str) -> bytes | None:
        """Return the committed body of a row."""
        ...

    def scan(self, shard: int, kind: str) -> AsyncIterator[Row]:
        """All rows of one kind in a shard, in key order.

        No snapshot: a row that is written meanwhile may appear as before or after.
        """
        ...

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
        """Rows of a scope over all shards in the order of `ord`, strictly between the bounds."""
        ...

    async def events(
        self, shard: int, after: int, *, limit: int, key: str | None = None
    ) -> Sequence[StoredEvent]:
        """Changes of a shard with a number above `after`, in order; of one key if given."""
        ...

    async def last_seq(self, shard: int) -> int:
        """The number of the last committed change of a shard, 0 if none."""
        ...

    async def claims(self, names: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], Claim]:
        """The claims that stand under these (space, name) pairs; absent ones are left out."""
        ...

    async def forget_claims(self, space: str, before_utc_ms: int, *, limit: int) -> int:
        """Drop claims made before an instant (retention); returns how many."""
        ...

    async def close(self) -> None:
        """Release everything; idempotent."""
        ...


class ConflictError(Exception):
    """A unique name is taken already. `claim` is the one that stands."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(f"{claim.space}/{claim.name} is taken")
        self.claim = claim
