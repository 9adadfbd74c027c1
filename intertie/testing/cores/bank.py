"""A small bank as a core: the domain on which drive, pump and stores show what they promise.

Money moves between accounts that may lie in different shards, so a lost, doubled or torn commit
shows in a balance. Accounts may be overdrawn: what follows from a set of moves does not depend on
their order. For tests only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from intertie.drive.drive import Drive, Loaded
from intertie.drive.effects import Erase, Fail, Record, Reply, Reserve, Tick, Write
from intertie.errors import Reason, error
from intertie.ports import Now
from intertie.store.codec import decoder, encode

SHARDS = 3
SPACE = "move"
ACCOUNT = "account"
CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Account:
    """A row. `moves` counts what changed it."""

    name: str
    balance: int
    moves: int


@dataclass(frozen=True, slots=True)
class Moved:
    """An entry of the change log, one in the shard of each account that it changes."""

    move: str
    account: str
    amount: int


@dataclass(frozen=True, slots=True)
class Move:
    """Take from `source` and give to `target`; the answer is the target's new balance.

    `move` is its request_id; without one it may happen twice.
    """

    ticket: int
    source: str
    target: str
    amount: int
    move: str = ""


@dataclass(frozen=True, slots=True)
class Close:
    """Forget an account. Its last state is kept as an unseen row."""

    ticket: int
    account: str


@dataclass(frozen=True, slots=True)
class Promise:
    """Answer with the total of all accounts, but only at `due_ns`."""

    ticket: int
    due_ns: int


@dataclass(frozen=True, slots=True)
class Break:
    """Make the core fail an assertion."""

    ticket: int = 0


@dataclass(frozen=True, slots=True)
class Notice:
    """An outward effect: tell the world of a move."""

    move: str
    amount: int


def shard_of(account: str) -> int:
    """Where an account lies."""
    return crc32(account.encode()) % SHARDS


def digest_of(move: Move) -> str:
    """What the request_id of a move stands for."""
    return f"{move.source}>{move.target}:{move.amount}"


class Bank:
    """`intertie.drive.drive.Core`."""

    def __init__(self, rows: Iterable[Loaded], now: Now) -> None:
        self.made_at = now
        self.accounts: dict[str, Account] = {}
        for row in rows:
            if isinstance(row.value, Account) and row.kind == ACCOUNT:
                self.accounts[row.key] = row.value
        self._promises: list[Promise] = []

    @property
    def deadline(self) -> int | None:
        """See `Core.deadline`."""
        return min((promise.due_ns for promise in self._promises), default=None)

    def handle(self, event: object, now: Now) -> Sequence[object]:
        """See `Core.handle`."""
        match event:
            case Move():
                return self._move(event)
            case Close():
                return self._close(event)
            case Promise():
                self._promises.append(event)
                return []
            case Tick():
                return self._keep_promises(now)
        raise AssertionError(f"the bank knows no {event}")

    def _move(self, event: Move) -> Sequence[object]:
        if event.amount <= 0:
            refusal = error(Reason.INVALID_FIELD, "amount: must be positive.")
            return [Fail(event.ticket, refusal)]
        effects: list[object] = [
            *self._change(event.source, -event.amount, event.move),
            *self._change(event.target, event.amount, event.move),
        ]
        if event.move:
            made = f"{event.move} of {event.amount}"
            effects.append(
                Reserve(shard_of(event.target), SPACE, event.move, digest_of(event), made)
            )
        effects.append(Notice(event.move, event.amount))
        effects.append(Reply(event.ticket, self.accounts[event.target].balance))
        return effects

    def _change(self, name: str, amount: int, move: str) -> Sequence[object]:
        before = self.accounts.get(name) or Account(name, 0, 0)
        after = self.accounts[name] = Account(name, before.balance + amount, before.moves + 1)
        shard = shard_of(name)
        return [
            Write(shard, ACCOUNT, name, after, scope="bank", ord=name),
            Record(shard, name, "bank", Moved(move, name, amount)),
        ]

    def _close(self, event: Close) -> Sequence[object]:
        account = self.accounts.pop(event.account, None)
        if account is None:
            refusal = error(Reason.NOT_FOUND, f"{event.account} is no account.")
            return [Fail(event.ticket, refusal)]
        shard = shard_of(account.name)
        return [
            Erase(shard, ACCOUNT, account.name),
            Write(shard, CLOSED, account.name, account),
            Reply(event.ticket, account.balance),
        ]

    def _keep_promises(self, now: Now) -> Sequence[object]:
        due = [promise for promise in self._promises if promise.due_ns <= now.boot_ns]
        self._promises = [promise for promise in self._promises if promise.due_ns > now.boot_ns]
        total = sum(account.balance for account in self.accounts.values())
        return [Reply(promise.ticket, total) for promise in due]


def bank_drive(max_batch: int = 2_000) -> Drive:
    """A drive for a bank, not loaded."""
    return Drive(Bank, encode, unseen=frozenset({CLOSED}), max_batch=max_batch)


DECODERS = {ACCOUNT: decoder(Account), CLOSED: decoder(Account)}
decode_moved = decoder(Moved)


def numbered_move(number: int, ticket: int = 0) -> Move:
    """The move with a number: the same for every process that makes it."""
    return Move(ticket, f"a{number % 5}", f"b{number % 3}", number % 7 + 1, f"m{number}")


def balances_after(moves: Iterable[Move]) -> Mapping[str, int]:
    """What the accounts must hold after a set of moves: the dumb reference."""
    balances: dict[str, int] = {}
    for move in moves:
        balances[move.source] = balances.get(move.source, 0) - move.amount
        balances[move.target] = balances.get(move.target, 0) + move.amount
    return balances
