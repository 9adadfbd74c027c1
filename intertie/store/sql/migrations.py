"""Schema versions: a numbered list of steps, each in its own transaction with its number.

Step n takes version n-1 to n; version 0 is an empty database. A released step is never edited.
A database of a newer version is refused, never guessed at.
"""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, insert, inspect, select, update

from intertie.errors import Reason, error
from intertie.store.sql import schema_1

Migration = Callable[[Connection], None]

_VERSION = "schema_version"


def _create_version_1(connection: Connection) -> None:
    schema_1.metadata.create_all(connection)
    connection.execute(insert(schema_1.meta).values(name=_VERSION, value="0"))


MIGRATIONS: tuple[Migration, ...] = (_create_version_1,)


def schema_version(connection: Connection) -> int:
    """The version on disk, 0 for an empty database."""
    if not inspect(connection).has_table(schema_1.meta.name):
        return 0
    value: str = connection.execute(
        select(schema_1.meta.c.value).where(schema_1.meta.c.name == _VERSION)
    ).scalar_one()
    return int(value)


def migrate(connection: Connection, migrations: Sequence[Migration], place: str) -> None:
    """Run the steps that are missing. `place` names the database in errors."""
    found = schema_version(connection)
    connection.rollback()
    newest = len(migrations)
    if found > newest:
        raise error(
            Reason.STATE_DIR_NEWER,
            f"{place} has schema version {found}; this software knows versions up to {newest}.",
            remedy="Run the version of Intertie that wrote it, or a newer one.",
            metadata={"found": str(found), "newest_known": str(newest), "path": place},
        )
    for version, step in enumerate(migrations[found:], start=found + 1):
        with connection.begin():
            step(connection)
            connection.execute(
                update(schema_1.meta)
                .where(schema_1.meta.c.name == _VERSION)
                .values(value=str(version))
            )
