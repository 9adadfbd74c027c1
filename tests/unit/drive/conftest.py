"""A drive over a bank, and a hand on its crank."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from intertie.drive.drive import Drive, Released
from intertie.drive.effects import Fail, Reply, Request
from intertie.ports import Claim, Now, Put, ShardCommit, ShardHead
from intertie.testing.clock import FakeClock
from intertie.testing.cores.bank import SHARDS, SPACE, Move, bank_drive, digest_of


@dataclass
class Crank:
    """Turns one drive by hand; keeps claims as a store would."""

    drive: Drive
    clock: FakeClock = field(default_factory=FakeClock)
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)
    commits: Sequence[ShardCommit] = ()

    @property
    def now(self) -> Now:
        return self.clock.now()

    def load(self, last_seq: int = 0, epoch: int = 1) -> None:
        heads = [ShardHead(shard, epoch, last_seq) for shard in range(SHARDS)]
        self.drive.load(heads, [], self.now)

    def move(
        self, ticket: int, amount: int, name: str = "", source: str = "ann", target: str = "bob"
    ) -> None:
        event = Move(ticket, source, target, amount, name)
        request = Request(SPACE, name, digest_of(event), ticket) if name else None
        self.drive.push(event, request)

    def begin(self) -> Sequence[ShardCommit]:
        """Up to the commit, without making it."""
        names = self.drive.take()
        assert names is not None
        found = {name: self.claims[name] for name in names if name in self.claims}
        self.commits = self.drive.decide(found, self.now)
        return self.commits

    def finish(self) -> Released:
        for change in (change for commit in self.commits for change in commit.changes):
            if isinstance(change, Claim):
                self.claims[change.space, change.name] = change
        return self.drive.committed()

    def turn(self) -> Released:
        self.begin()
        return self.finish()


@pytest.fixture
def crank() -> Crank:
    made = Crank(bank_drive())
    made.load()
    return made


@pytest.fixture
def small() -> Crank:
    """Batches of at most three events."""
    made = Crank(bank_drive(max_batch=3))
    made.load()
    return made


@pytest.fixture
def answers() -> Callable[[Sequence[object]], Mapping[int, object]]:
    """Tickets and what each was answered with; twice is an error."""

    def by_ticket(effects: Sequence[object]) -> Mapping[int, object]:
        found: dict[int, object] = {}
        for effect in effects:
            if isinstance(effect, Reply | Fail):
                assert effect.ticket not in found, f"ticket {effect.ticket} is answered twice"
                found[effect.ticket] = effect.value if isinstance(effect, Reply) else effect.error
        return found

    return by_ticket


@pytest.fixture
def puts() -> Callable[[Sequence[ShardCommit]], Sequence[Put]]:
    def of(commits: Sequence[ShardCommit]) -> Sequence[Put]:
        changes = [change for commit in commits for change in commit.changes]
        return [change for change in changes if isinstance(change, Put)]

    return of
