"""One suite over every ledger: etcd's rules in memory, and a service's store, in memory and SQL."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from intertie.store.enrollment.ledger import Ledger, StoreLedger
from intertie.store.enrollment.registry import Registry
from intertie.store.etcd.memory import MemoryEtcd
from intertie.store.memory import MemoryStore
from intertie.store.open import open_store
from intertie.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["etcd", "memory", "sqlite"])
async def ledger(
    request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path
) -> AsyncIterator[Ledger]:
    if request.param == "etcd":
        yield MemoryEtcd(clock)
        return
    store: Any = MemoryStore()
    if request.param == "sqlite":
        store = open_store(f"sqlite:///{tmp_path / 'state' / 'store.sqlite'}")
    yield StoreLedger(store, 8)
    await store.close()


@pytest.fixture
def registry(ledger: Ledger, clock: FakeClock) -> Registry:
    return Registry(ledger, clock)
