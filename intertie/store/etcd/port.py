"""The port: what Intertie needs of etcd, in plain values.

Keys are text, values are bytes, leases are etcd's numbers. Must not import grpc or protobuf, so
that services and tests can name these values without them.

The one hard rule of writes: a transaction whose answer was lost **may have been applied**. It is
reported as `OutcomeUnknownError` and never repeated behind the caller's back, unless the caller
says that repeating is harmless (`repeatable=True`). `claims` builds on guards that make it so.
"""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

NO_LEASE = 0
"""The lease number of a key that outlives its writer."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key as it stands at one revision."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    lease: int = NO_LEASE


@dataclass(frozen=True, slots=True)
class Listing:
    """All keys under a prefix at one revision, in key order."""

    revision: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """Guard: the key does not exist."""

    key: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Guard: the key was last written at this revision, which also means that it exists."""

    key: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class UnderLease:
    """Guard: the key exists and lives under this lease."""

    key: str
    lease: int


Guard = Absent | Unchanged | UnderLease


@dataclass(frozen=True, slots=True)
class Write:
    """Put a value under a key, bound to a lease or to none."""

    key: str
    value: bytes
    lease: int = NO_LEASE


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete a key; deleting one that does not exist is no fault."""

    key: str


@dataclass(frozen=True, slots=True)
class TxnResult:
    """What a transaction did.

    `revision` is the revision after it. If the guards held, `standing` is empty; if not, it is what
    stands under each guarded key that exists, read at the instant of the refusal.
    """

    succeeded: bool
    revision: int
    standing: Mapping[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as the server granted it; `ttl_s` may be longer than was asked for."""

    lease: int
    ttl_s: int


@dataclass(frozen=True, slots=True)
class Resync:
    """Everything under the prefix at one revision: forget what was known before.

    Comes first in every watch, and again when changes may have been missed.
    """

    revision: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Put:
    """A key was written."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Delete:
    """A key was deleted or its lease ended."""

    key: str
    revision: int


WatchEvent = Resync | Put | Delete


class Membership(Protocol):
    """The operations of etcd that Intertie uses.

    All of them raise `faults.EtcdUnavailableError` when no member answers in time.
    """

    async def get(self, key: str) -> Entry | None:
        """Read a key, linearizable."""
        ...

    async def list(self, prefix: str) -> Listing:
        """Read all keys under a prefix at one revision, linearizable."""
        ...

    async def txn(
        self,
        guards: tuple[Guard, ...],
        operations: tuple[Write | Remove, ...],
        *,
        repeatable: bool = False,
    ) -> TxnResult:
        """Do all operations at one revision if all guards hold, else nothing.

        Args:
            guards: conditions on keys; none means always.
            operations: each key at most once.
            repeatable: the caller vouches that doing it twice does no harm.

        Raises:
            OutcomeUnknownError: the answer was lost; it may have been applied.
            LeaseGoneError: an operation names a lease that has ended.
        """
        ...

    async def grant(self, ttl_s: int) -> Lease:
        """Make a lease. If the answer is lost, the lease ends unused after its time."""
        ...

    async def renew(self, lease: int, *, timeout_s: float) -> Lease:
        """Renew a lease once. Raises LeaseGoneError if it has ended."""
        ...

    async def revoke(self, lease: int) -> None:
        """End a lease and delete its keys; ending one that does not exist is no fault."""
        ...

    def watch(self, prefix: str) -> AsyncGenerator[WatchEvent, None]:
        """Follow a prefix for ever: first a Resync, then each change once, in order.

        Outages of any length are ridden out inside. Close the generator (`contextlib.aclosing`).
        """
        ...

    async def compact(self, revision: int) -> None:
        """Forget the history before a revision."""
        ...

    async def close(self) -> None:
        """Let go of connections; idempotent. Watches end."""
        ...
