"""Banks on real event loops: a pump over a store in memory or in a file, with a queue of faults."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from intertie.clock import SystemClock
from intertie.drive.drive import Logged
from intertie.ports import Clock, Store
from intertie.store.memory import MemoryStore
from intertie.store.open import open_store
from intertie.store.pump import Pump
from intertie.testing.cores.bank import (
    ACCOUNT,
    DECODERS,
    SHARDS,
    SPACE,
    Account,
    Move,
    bank_drive,
    digest_of,
)
from intertie.testing.faulty_store import FaultyStore


@dataclass
class RunningBank:
    """A bank with its pump. `released` and `logged` are what left it."""

    store: FaultyStore
    clock: Clock
    max_batch: int
    released: list[object] = field(default_factory=list)
    logged: list[Logged] = field(default_factory=list)
    on_release: Callable[[Sequence[object]], None] = lambda effects: None

    def __post_init__(self) -> None:
        self.pump = Pump(
            bank_drive(self.max_batch),
            self.store,
            self.clock,
            shards=range(SHARDS),
            decoders={ACCOUNT: DECODERS[ACCOUNT]},
            release=self._release,
        )

    def _release(self, effects: Sequence[object], logged: Sequence[Logged]) -> None:
        self.released.extend(effects)
        self.logged.extend(logged)
        self.on_release(effects)

    def move(self, amount: int, name: str = "", to: str = "bob") -> asyncio.Future[object]:
        """Ask for a move from ann, in a request if it has a name."""
        digest = digest_of(Move(0, "ann", to, amount, name))
        return self.pump.submit(
            lambda ticket: Move(ticket, "ann", to, amount, name),
            (SPACE, name, digest) if name else None,
        )

    def seen(self, account: str = "bob") -> int:
        """The balance that readers see."""
        found = self.pump.drive.view.get(ACCOUNT, account)
        return found.balance if isinstance(found, Account) else 0

    async def stored(self, account: str = "bob") -> int:
        """The balance in the store."""
        for shard in range(SHARDS):
            body = await self.store.inner.get(shard, ACCOUNT, account)
            if body is not None:
                found = DECODERS[ACCOUNT](body)
                return found.balance
        return 0


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FaultyStore]:
    inner: Store = MemoryStore()
    if request.param == "sqlite":
        inner = await asyncio.to_thread(open_store, f"sqlite:///{tmp_path}/state/store.sqlite")
    yield FaultyStore(inner)
    await inner.close()


StartBank = Callable[..., Awaitable[RunningBank]]


@pytest.fixture
async def start_bank(store: FaultyStore) -> AsyncIterator[StartBank]:
    running: list[RunningBank] = []

    async def start(clock: Clock | None = None, max_batch: int = 2_000) -> RunningBank:
        bank = RunningBank(store, clock or SystemClock(), max_batch)
        running.append(bank)
        await bank.pump.start()
        return bank

    yield start
    for bank in running:
        await bank.pump.stop()


@pytest.fixture
async def bank(start_bank: StartBank) -> RunningBank:
    return await start_bank()
