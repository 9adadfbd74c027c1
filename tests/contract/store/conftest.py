"""The stores that the contract runs over, and how each is closed and found again."""

import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from intertie.ports import Store
from intertie.store.journal import JournalStore
from intertie.store.memory import MemoryStore
from intertie.store.open import open_store
from intertie.testing.faulty_store import FaultyStore


class Backend(Protocol):
    """One kind of store with its contents."""

    def open(self) -> Store: ...


class _Memory:
    def __init__(self, _: Path) -> None:
        self._first = MemoryStore()

    def open(self) -> Store:
        return self._first.reopened()


class _Sqlite:
    def __init__(self, directory: Path) -> None:
        self._url = f"sqlite:///{directory}/state/store.db"

    def open(self) -> Store:
        return open_store(self._url)


class _Journal:
    def __init__(self, directory: Path) -> None:
        self._directory = directory / "state"

    def open(self) -> Store:
        return JournalStore(self._directory)


class _Faulty(_Memory):
    """The fake without faults must be the real thing."""

    def open(self) -> Store:
        return FaultyStore(super().open())


_BACKENDS: dict[str, Callable[[Path], Backend]] = {
    "faulty": _Faulty,
    "journal": _Journal,
    "memory": _Memory,
    "sqlite": _Sqlite,
}


@pytest.fixture(params=sorted(_BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return _BACKENDS[request.param](tmp_path)


@pytest.fixture
async def store(backend: Backend) -> AsyncIterator[Store]:
    opened = backend.open()
    yield opened
    await opened.close()


@pytest.fixture
def reopen(backend: Backend, store: Store) -> Callable[[], Awaitable[Store]]:
    """Closes the store and opens it again; closing the new one is up to the test."""

    async def close_and_open() -> Store:
        await store.close()
        return backend.open()

    return close_and_open


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=0700", "tmpfs", str(mounted)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {mount.stderr.strip()}")
    yield mounted
    subprocess.run(["umount", str(mounted)], check=True)
