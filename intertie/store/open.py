"""Opens a store by its URL: the only place that knows which kinds of store there are."""

from pathlib import Path

from intertie.errors import Reason, error
from intertie.ports import Store
from intertie.store.lock import StateDirLock
from intertie.store.memory import MemoryStore
from intertie.store.sql.failures import translated
from intertie.store.sql.sqlite import SqliteDatabase
from intertie.store.sql.store import SqliteStore

_SQLITE = "sqlite:///"


def open_store(url: str) -> Store:
    """Open, lock and migrate a store. Blocks: call it before the event loop serves.

    Args:
        url: `memory:`, or `sqlite:///relative/path` or `sqlite:////absolute/path` of a file; its
            directory is the state directory, made (0700) if missing and locked until `close`.

    Raises:
        IntertieError: CONFIG_INVALID, STATE_DIR_IN_USE or STATE_DIR_NEWER.
        StoreUnavailableError: the disk refused.
    """
    if url == "memory:":
        return MemoryStore()
    if url.startswith(_SQLITE) and url != _SQLITE:
        return _open_sqlite(Path(url.removeprefix(_SQLITE)))
    if url.startswith("postgresql"):
        raise _invalid(url, "This version has no PostgreSQL store.")
    raise _invalid(url, f"The store URL's scheme {url.partition(':')[0]!r} names no kind of store.")


def _open_sqlite(path: Path) -> SqliteStore:
    with translated(str(path)):
        lock = StateDirLock(path.parent)
        try:
            database = SqliteDatabase(path)
            database.create()
            database.migrate()
        except BaseException:
            lock.release()
            raise
    return SqliteStore(database, lock)


def _invalid(url: str, message: str) -> Exception:
    scheme = url.partition(":")[0]  # the rest may hold a password
    return error(
        Reason.CONFIG_INVALID,
        message if scheme else "The store's URL is empty.",
        remedy="Use memory: or sqlite:///PATH.",
        metadata={"scheme": scheme},
    )
