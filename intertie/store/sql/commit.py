"""One commit as statements on a DBAPI cursor; the caller begins and ends the transaction.

The order is the port's: every fence, then every claim, then the changes. Knows no driver: the
caller says which of its errors means "not unique".
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from intertie.ports import Claim, Delete, FencedError, Put, ShardCommit
from intertie.store.sql.statements import Statements, chunks


class Cursor(Protocol):
    """What is used of a DBAPI cursor (PEP 249)."""

    @property
    def rowcount(self) -> int:
        """Rows changed by the last statement."""
        ...

    def execute(self, sql: str, arguments: Sequence[Any] = ..., /) -> object:
        """Run one statement."""
        ...

    def fetchone(self) -> Any:  # noqa: ANN401 - a driver's row
        """The next row of the last statement."""
        ...


class ClaimTakenError(Exception):
    """Some claim is taken. Roll back, then ask `first_taken` which: the transaction is spoilt."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        super().__init__("a claim is taken")
        self.claims = claims


def apply(
    cursor: Cursor,
    statements: Statements,
    commits: Sequence[ShardCommit],
    not_unique: type[Exception],
) -> None:
    """Run everything. Raises FencedError or ClaimTakenError; then the caller must roll back."""
    for commit in commits:
        _fence(cursor, statements, commit)
    claims = [
        change for commit in commits for change in commit.changes if isinstance(change, Claim)
    ]
    try:
        _insert_claims(cursor, statements, claims)
    except not_unique:
        raise ClaimTakenError(claims) from None
    _write_rows(cursor, statements, commits)
    _append_events(cursor, statements, commits)


def first_taken(cursor: Cursor, statements: Statements, claims: Sequence[Claim]) -> Claim:
    """The claim that stands in the way of the first that is refused; outside of the transaction."""
    seen: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        name = (claim.space, claim.name)
        cursor.execute(statements.read_claims(1), name)
        found = cursor.fetchone()
        if found is not None:
            return Claim(*found)
        if name in seen:
            return seen[name]
        seen[name] = claim
    message = "a claim was refused and none is taken"
    raise AssertionError(message)


def _fence(cursor: Cursor, statements: Statements, commit: ShardCommit) -> None:
    if commit.events:
        old_seq = commit.first_seq - 1
        new_seq = old_seq + len(commit.events)
        cursor.execute(statements.advance, (new_seq, commit.shard, commit.epoch, old_seq))
        held = cursor.rowcount == 1
    else:
        cursor.execute(statements.hold, (commit.shard, commit.epoch))
        held = cursor.fetchone() is not None
    if held:
        return
    cursor.execute(statements.read_head, (commit.shard,))
    epoch, last_seq = cursor.fetchone() or (0, 0)
    if epoch != commit.epoch:
        raise FencedError(f"shard {commit.shard} is at epoch {epoch}, not {commit.epoch}")
    raise FencedError(f"shard {commit.shard} is at {last_seq}, not {commit.first_seq - 1}")


def _insert_claims(cursor: Cursor, statements: Statements, claims: Sequence[Claim]) -> None:
    flat: list[str | int] = []
    for claim in claims:
        flat += (claim.space, claim.name, claim.digest, claim.result, claim.utc_ms)
    _execute_chunks(cursor, statements.insert_claims, flat, 5)


def _write_rows(cursor: Cursor, statements: Statements, commits: Sequence[ShardCommit]) -> None:
    """The last change of a row wins, so puts and deletes may run apart and each row once."""
    final: dict[tuple[int, str, str], Put | Delete] = {}
    for commit in commits:
        shard = commit.shard
        for change in commit.changes:
            if not isinstance(change, Claim):
                final[shard, change.kind, change.key] = change
    flat: list[int | str | bytes] = []
    deletes: dict[tuple[int, str], list[str]] = {}
    for (shard, kind, key), change in final.items():
        if isinstance(change, Put):
            flat += (shard, kind, key, change.scope, change.ord, change.body)
        else:
            deletes.setdefault((shard, kind), []).append(key)
    _execute_chunks(cursor, statements.put_rows, flat, 6)
    for (shard, kind), keys in deletes.items():
        for start, size in chunks(len(keys)):
            arguments = (shard, kind, *keys[start : start + size])
            cursor.execute(statements.delete_rows(size), arguments)


def _append_events(cursor: Cursor, statements: Statements, commits: Sequence[ShardCommit]) -> None:
    flat: list[int | str | bytes] = []
    for commit in commits:
        for seq, event in enumerate(commit.events, commit.first_seq):
            flat += (commit.shard, seq, event.key, event.scope, event.body)
    _execute_chunks(cursor, statements.insert_events, flat, 5)


def _execute_chunks(
    cursor: Cursor, statement: Callable[[int], str], flat: Sequence[Any], width: int
) -> None:
    for start, size in chunks(len(flat) // width):
        cursor.execute(statement(size), flat[start * width : (start + size) * width])
