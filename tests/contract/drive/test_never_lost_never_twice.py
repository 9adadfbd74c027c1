"""A bank on a store with faults, against a dumb reference: nothing acked is lost, nothing is twice.

The machine turns the crank itself, so faults, crashes and late commits fall between any two steps.
"""

from collections import Counter
from collections.abc import Coroutine, Sequence
from enum import Enum, auto
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from intertie.drive.drive import Loaded, Logged, Released
from intertie.drive.effects import Fail, Replayed, Reply, Request
from intertie.errors import Reason
from intertie.ports import FencedError, ShardCommit, StoreUnavailableError
from intertie.store.memory import MemoryStore
from intertie.testing.clock import FakeClock
from intertie.testing.cores.bank import (
    ACCOUNT,
    DECODERS,
    SHARDS,
    SPACE,
    Account,
    Move,
    Notice,
    Promise,
    balances_after,
    bank_drive,
    decode_moved,
    digest_of,
)
from intertie.testing.faulty_store import Fault, FaultyStore

T = TypeVar("T")
accounts = st.sampled_from(["ann", "bob", "cid", "dan", "eve"])


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing: the store is in memory."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("a store in memory does not wait")


class Fate(Enum):
    """What becomes of a commit."""

    PASS = auto()
    FAIL_BEFORE = auto()
    FAIL_AFTER = auto()
    FENCE = auto()
    FAIL_AND_LAND_LATER = auto()


class BankOnAFaultyStore(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.inner = MemoryStore()
        self.store = FaultyStore(self.inner)
        self.moves: dict[str, Move] = {}
        self.acked: set[str] = set()
        self.told: set[tuple[int, int]] = set()
        self.noticed: Counter[str] = Counter()
        self.late: list[Sequence[ShardCommit]] = []
        self.tickets = 0
        self.life = 0
        self.start()

    # --- the process -----------------------------------------------------------------------------

    def start(self) -> None:
        self.life += 1
        self.drive = bank_drive(max_batch=4)
        self.waiting: dict[int, object] = {}
        self.commits: Sequence[ShardCommit] | None = None
        self.load()

    def load(self) -> None:
        heads = [at_once(self.store.acquire(shard)) for shard in range(SHARDS)]
        self.drive.load(heads, self.rows(), self.clock.now())

    def rows(self) -> list[Loaded]:
        return at_once(self.scanned())

    async def scanned(self) -> list[Loaded]:
        return [
            Loaded(ACCOUNT, row.key, DECODERS[ACCOUNT](row.body))
            for shard in range(SHARDS)
            async for row in self.inner.scan(shard, ACCOUNT)
        ]

    def push(self, event: Move | Promise, request: Request | None = None) -> None:
        self.waiting[event.ticket] = event
        self.drive.push(event, request)

    def next_ticket(self) -> int:
        self.tickets += 1
        return self.tickets

    def submit(self, name: str, source: str, target: str, amount: int) -> Move:
        move = Move(self.next_ticket(), source, target, amount, name)
        self.push(move, Request(SPACE, name, digest_of(move), move.ticket))
        return move

    # --- what happens ----------------------------------------------------------------------------

    @rule(source=accounts, to=accounts, amount=st.integers(1, 9))
    def a_caller_moves_money(self, source: str, to: str, amount: int) -> None:
        name = f"m{len(self.moves)}"
        self.moves[name] = self.submit(name, source, to, amount)

    @precondition(lambda self: self.moves)
    @rule(data=st.data())
    def a_caller_retries(self, data: st.DataObject) -> None:
        move = self.moves[data.draw(st.sampled_from(sorted(self.moves)))]
        self.submit(move.move, move.source, move.target, move.amount)

    @precondition(lambda self: self.acked)
    @rule(data=st.data())
    def a_caller_reuses_a_name(self, data: st.DataObject) -> None:
        move = self.moves[data.draw(st.sampled_from(sorted(self.acked)))]
        self.submit(move.move, move.source, move.target, move.amount + 10)

    @rule(delay_ns=st.integers(0, 50))
    def a_caller_waits_for_a_promise(self, delay_ns: int) -> None:
        self.push(Promise(self.next_ticket(), self.clock.now().boot_ns + delay_ns))

    @rule(duration_ns=st.integers(1, 50))
    def time_passes(self, duration_ns: int) -> None:
        self.drive.tick(self.clock.advance_ns(duration_ns))

    @precondition(lambda self: self.commits is None)
    @rule()
    def a_batch_begins(self) -> None:
        names = self.drive.take()
        if names is None:
            return
        found = at_once(self.store.claims(names))
        self.commits = self.drive.decide(found, self.clock.now())

    @precondition(lambda self: self.commits is not None)
    @rule(fate=st.sampled_from(Fate))
    def a_commit_ends(self, fate: Fate) -> None:
        commits, self.commits = self.commits, None
        assert commits is not None
        try:
            if commits:
                self.commit(commits, fate)
        except (FencedError, StoreUnavailableError):
            self.answered(self.drive.failed())
        else:
            self.released(self.drive.committed())

    def commit(self, commits: Sequence[ShardCommit], fate: Fate) -> None:
        if fate is Fate.FAIL_AND_LAND_LATER:
            self.late.append(commits)
            raise StoreUnavailableError("lost on the way, for now")
        if fate is not Fate.PASS:
            self.store.inject(Fault[fate.name])
        at_once(self.store.commit(commits))

    @precondition(lambda self: self.late)
    @rule()
    def a_late_commit_reaches_the_store(self) -> None:
        commits = self.late.pop(0)
        is_loaded = self.drive.core is not None
        try:
            at_once(self.inner.commit(commits))
        except FencedError:
            return
        assert not is_loaded, "a commit of an earlier owner was applied under a new one"

    @precondition(lambda self: self.drive.core is None)
    @rule()
    def the_core_is_loaded_again(self) -> None:
        self.answered(self.drive.refuse_queued())
        self.load()

    @rule()
    def the_process_crashes(self) -> None:
        if self.commits:
            self.late.append(self.commits)
        self.start()

    # --- what callers see ------------------------------------------------------------------------

    def released(self, released: Released) -> None:
        for entry in released.logged:
            self.check_logged(entry)
        self.answered(released.effects)
        for effect in released.effects:
            if isinstance(effect, Notice):
                self.noticed[effect.move] += 1
                assert self.in_log(effect.move) == 2, "released before it was durable"

    def answered(self, effects: Sequence[object]) -> None:
        for effect in effects:
            if isinstance(effect, Reply | Fail):
                event = self.waiting.pop(effect.ticket)  # a second answer finds nobody
                if isinstance(event, Move):
                    self.check_answer(event, effect)

    def check_answer(self, move: Move, answer: Reply | Fail) -> None:
        is_first_payload = digest_of(move) == digest_of(self.moves[move.move])
        if isinstance(answer, Fail):
            expected = Reason.STORE_UNAVAILABLE if is_first_payload else answer.error.reason
            assert answer.error.reason is expected
            return
        assert is_first_payload, "another payload was taken under a used name"
        assert move.move not in self.acked or isinstance(answer.value, Replayed)
        self.acked.add(move.move)

    def check_logged(self, entry: Logged) -> None:
        assert (entry.shard, entry.seq) not in self.told, "a log number was given twice"
        self.told.add((entry.shard, entry.seq))
        (stored,) = at_once(self.inner.events(entry.shard, entry.seq - 1, limit=1))
        assert (stored.seq, stored.key) == (entry.seq, entry.key)
        assert decode_moved(stored.body) == entry.value

    # --- what must hold --------------------------------------------------------------------------

    def log(self) -> list[str]:
        return [
            decode_moved(stored.body).move
            for shard in range(SHARDS)
            for stored in at_once(self.inner.events(shard, 0, limit=10_000))
        ]

    def in_log(self, name: str) -> int:
        return self.log().count(name)

    @invariant()
    def every_acked_move_is_stored_and_none_twice(self) -> None:
        times = Counter(self.log())
        assert all(count == 2 for count in times.values()), times
        assert self.acked <= times.keys()
        assert all(count == 1 for count in self.noticed.values())

    @invariant()
    def the_store_agrees_with_the_reference(self) -> None:
        applied = [self.moves[name] for name in set(self.log())]
        stored = {row.key: row.value for row in self.rows()}
        balances = {k: v.balance for k, v in stored.items() if isinstance(v, Account)}
        assert balances == balances_after(applied)

    @invariant()
    def readers_see_what_is_stored(self) -> None:
        if self.drive.core is not None:
            stored = {row.key: row.value for row in self.rows()}
            held = {a.name: a for a in self.drive.view.values(ACCOUNT) if isinstance(a, Account)}
            assert held == stored

    def teardown(self) -> None:
        """Faults end, everyone retries: all moves are made, and every caller is answered."""
        while self.late:
            self.a_late_commit_reaches_the_store()
        self.settle()
        for move in list(self.moves.values()):
            self.submit(move.move, move.source, move.target, move.amount)
        self.settle()
        assert self.acked == self.moves.keys()
        assert not self.waiting, "somebody waits for ever"
        self.every_acked_move_is_stored_and_none_twice()
        self.the_store_agrees_with_the_reference()
        self.readers_see_what_is_stored()

    def settle(self) -> None:
        if self.commits is not None:
            self.a_commit_ends(Fate.PASS)
        if self.drive.core is None:
            self.the_core_is_loaded_again()
        self.time_passes(1_000)
        while self.drive.backlog:
            self.a_batch_begins()
            self.a_commit_ends(Fate.PASS)
            assert self.drive.core is not None, "a commit failed without a fault"
            self.time_passes(1_000)


BankOnAFaultyStore.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
TestABankOnAFaultyStoreLosesNothingAndDoublesNothing = BankOnAFaultyStore.TestCase
