"""What a database error means: the world's fault (typed) or our own bug (let through)."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from intertie.errors import Reason, error
from intertie.ports import StoreUnavailableError

# Subclasses of DatabaseError that only a wrong statement or argument of ours can raise.
_OUR_BUGS = (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.DataError)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn a refusal of the database (full disk, I/O error, lost file) into the port's error."""
    try:
        yield
    except _OUR_BUGS:
        raise
    except sqlite3.DatabaseError as refusal:
        if getattr(refusal, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise error(
                Reason.CONFIG_INVALID,
                f"{path} is not an SQLite database.",
                remedy="Name another file, or move this one away.",
                metadata={"path": path},
            ) from refusal
        raise StoreUnavailableError(f"{path}: {refusal}") from refusal
    except OSError as refusal:
        raise StoreUnavailableError(f"{path}: {refusal}") from refusal
