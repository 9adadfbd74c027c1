"""Every statement of the SQL store, written in SQLAlchemy Core and compiled to text once.

The text runs on the DBAPI cursor: SQLAlchemy's own execution costs more than SQLite's work.
Inserts carry many rows a statement, because a driver gives up the interpreter lock once per row of
`executemany`: beside a busy event loop each hand-over waits up to 5 ms, 1,000 rows take seconds.
Nothing here runs a statement.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from sqlalchemy import (
    BindParameter,
    ClauseElement,
    ColumnElement,
    Dialect,
    Integer,
    Table,
    bindparam,
    delete,
    insert,
    literal_column,
    select,
    tuple_,
    update,
)

from intertie.store.sql.schema_1 import claims, events, rows, shards

# Written out, or SQLAlchemy's SQLite dialect would bind a zero that the others do not bind.
_NO_OFFSET = literal_column("0", Integer)

CHUNK_ROWS = 128
"""Rows in the largest insert. Each power of two below is a statement too, so few are parsed."""


def chunks(count: int) -> Iterator[tuple[int, int]]:
    """Cut `count` rows into (start, size) with sizes that have a statement."""
    start, size = 0, CHUNK_ROWS
    while start < count:
        while size > count - start:
            size //= 2
        yield start, size
        start += size


class Statements:
    """The texts for one dialect. Argument orders are given above each."""

    def __init__(self, dialect: Dialect) -> None:
        assert dialect.positional, "the store binds by position"
        self._dialect = dialect
        # Only the dialect in use is loaded: PostgreSQL's costs 3 MiB.
        self._upsert = import_module(f"sqlalchemy.dialects.{dialect.name}").insert
        self.read_claims = lru_cache(maxsize=None)(self._read_claims)
        self.insert_claims = lru_cache(maxsize=None)(self._insert_claims)
        self.insert_events = lru_cache(maxsize=None)(self._insert_events)
        self.put_rows = lru_cache(maxsize=None)(self._put_rows)
        self.delete_rows = lru_cache(maxsize=None)(self._delete_rows)
        self.scan = lru_cache(maxsize=None)(self._scan)
        self.list_rows = lru_cache(maxsize=None)(self._list_rows)
        shard = shards.c.shard == bindparam("of_shard")
        epoch = shards.c.epoch == bindparam("of_epoch")
        # (shard)
        self.read_head = self._text(select(shards.c.epoch, shards.c.last_seq).where(shard))
        # (shard)
        self.bump_epoch = self._text(
            self._upsert(shards)
            .values(
                shard=bindparam("shard"), epoch=literal_column("1"), last_seq=literal_column("0")
            )
            .on_conflict_do_update(
                index_elements=[shards.c.shard],
                set_={"epoch": shards.c.epoch + literal_column("1")},
            )
        )
        # (shard, epoch): the row is locked against an owner's bump until the transaction ends
        self.hold = self._text(
            select(shards.c.epoch).where(shard, epoch).with_for_update(read=True)
        )
        # (new last_seq, shard, epoch, old last_seq): compare and swap
        self.advance = self._text(
            update(shards)
            .values(last_seq=bindparam("new_seq"))
            .where(shard, epoch, shards.c.last_seq == bindparam("old_seq"))
        )
        self._compile_reads()
        self._compile_retention()

    def _compile_reads(self) -> None:
        # (shard, kind, key)
        self.get = self._text(
            select(rows.c.body).where(*_of_kind(), rows.c.key == bindparam("of_key"))
        )
        of_shard = events.c.shard == bindparam("of_shard")
        after = events.c.seq > bindparam("after")
        # (shard, after seq, limit)
        self.events = self._text(
            select(events)
            .where(of_shard, after)
            .order_by(events.c.seq)
            .limit(bindparam("at_most"))
            .offset(_NO_OFFSET)
        )
        # (shard, key, after seq, limit)
        self.events_of_key = self._text(
            select(events)
            .where(of_shard, events.c.key == bindparam("of_key"), after)
            .order_by(events.c.seq)
            .limit(bindparam("at_most"))
            .offset(_NO_OFFSET)
        )

    def _compile_retention(self) -> None:
        old = (
            select(claims.c.space, claims.c.name)
            .where(claims.c.space == bindparam("of_space"), claims.c.utc_ms < bindparam("before"))
            .order_by(claims.c.utc_ms, claims.c.name)
            .limit(bindparam("at_most"))
            .offset(_NO_OFFSET)
        )
        # (space, before, limit): the oldest first
        self.forget_claims = self._text(
            delete(claims).where(tuple_(claims.c.space, claims.c.name).in_(old))
        )

    def _scan(self, *, from_start: bool) -> str:
        """(shard, kind, key, limit): from this key on, or after it."""
        key: BindParameter[str] = bindparam("from_key")
        return self._text(
            select(rows)
            .where(*_of_kind(), rows.c.key >= key if from_start else rows.c.key > key)
            .order_by(rows.c.key)
            .limit(bindparam("at_most"))
            .offset(_NO_OFFSET)
        )

    def _list_rows(self, *, bounded: bool, descending: bool) -> str:
        """(kind, scope, after, [before,] limit)."""
        conditions = [
            rows.c.kind == bindparam("of_kind"),
            rows.c.scope == bindparam("of_scope"),
            literal_column("ord <> ''"),  # lets SQLite prove that the partial index is enough
            rows.c.ord > bindparam("after"),
        ]
        if bounded:
            conditions.append(rows.c.ord < bindparam("before"))
        order = [rows.c.ord, rows.c.shard, rows.c.key]
        return self._text(
            select(rows)
            .where(*conditions)
            .order_by(*[column.desc() if descending else column for column in order])
            .limit(bindparam("at_most"))
            .offset(_NO_OFFSET)
        )

    def _read_claims(self, count: int) -> str:
        """(space, name x count)."""
        return self._text(
            select(claims).where(
                claims.c.space == bindparam("of_space"),
                claims.c.name.in_([bindparam(f"name_{i}") for i in range(count)]),
            )
        )

    def _insert_claims(self, count: int) -> str:
        """(space, name, digest, result, utc_ms) x count."""
        return self._text(insert(claims).values(_values(claims, count)))

    def _insert_events(self, count: int) -> str:
        """(shard, seq, key, scope, body) x count."""
        return self._text(insert(events).values(_values(events, count)))

    def _put_rows(self, count: int) -> str:
        """(shard, kind, key, scope, ord, body) x count."""
        statement = self._upsert(rows).values(_values(rows, count))
        return self._text(
            statement.on_conflict_do_update(
                index_elements=[rows.c.shard, rows.c.kind, rows.c.key],
                set_={name: statement.excluded[name] for name in ("scope", "ord", "body")},
            )
        )

    def _delete_rows(self, count: int) -> str:
        """(shard, kind, key x count)."""
        return self._text(
            delete(rows).where(
                *_of_kind(),
                rows.c.key.in_([bindparam(f"key_{i}") for i in range(count)]),
            )
        )

    def _text(self, statement: ClauseElement) -> str:
        return str(statement.compile(dialect=self._dialect))


def _of_kind() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return rows.c.shard == bindparam("of_shard"), rows.c.kind == bindparam("of_kind")


def _values(table: Table, count: int) -> Sequence[dict[str, Any]]:
    return [
        {column.name: bindparam(f"{column.name}_{i}") for column in table.columns}
        for i in range(count)
    ]
