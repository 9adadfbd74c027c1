"""The tables of schema version 1. Frozen once released: version 2 gets its own file.

Text compares by bytes (SQLite's BINARY, PostgreSQL's "C"), which for UTF-8 is the order of Python's
`str`, so that every store lists in the same order.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("name", _TEXT, primary_key=True),
    Column("value", _TEXT, nullable=False),
    sqlite_with_rowid=False,
)

shards = Table(
    "shards",
    metadata,
    Column("shard", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("last_seq", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Bodies are hundreds of bytes and keys are random: with the body out of the key's tree (a rowid
# table) inserts are 10-20% faster than WITHOUT ROWID.
rows = Table(
    "rows",
    metadata,
    Column("shard", Integer, primary_key=True, autoincrement=False),
    Column("kind", _TEXT, primary_key=True),
    Column("key", _TEXT, primary_key=True),
    Column("scope", _TEXT, nullable=False),
    Column("ord", _TEXT, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

# Rows without an order (metering leaves, tiles) are in no list, so they pay for no index entry.
_LISTED = text("ord <> ''")
rows_listed = Index(
    "rows_listed",
    rows.c.kind,
    rows.c.scope,
    rows.c.ord,
    rows.c.shard,
    rows.c.key,
    sqlite_where=_LISTED,
    postgresql_where=_LISTED,
)

events = Table(
    "events",
    metadata,
    Column("shard", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("key", _TEXT, nullable=False),
    Column("scope", _TEXT, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
events_of_key = Index("events_of_key", events.c.shard, events.c.key, events.c.seq)

claims = Table(
    "claims",
    metadata,
    Column("space", _TEXT, primary_key=True),
    Column("name", _TEXT, primary_key=True),
    Column("digest", _TEXT, nullable=False),
    Column("result", _TEXT, nullable=False),
    Column("utc_ms", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
claims_by_age = Index("claims_by_age", claims.c.space, claims.c.utc_ms)
