"""The keeper's promises under any order of events: a pretended node against the real table."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from edge_agent.keeper.domain.events import (
    Admission,
    Drop,
    Event,
    ExecFailed,
    Executed,
    Exited,
    Extend,
    Final,
    Forget,
    Key,
    Note,
    Reply,
    Shutdown,
    Spawn,
    Spawned,
    SpawnFailed,
    Start,
    Stop,
    Sweep,
    Swept,
    Tick,
)
from edge_agent.keeper.domain.table import Table
from edge_agent.keeper.report import ENDED, RUNNING, STARTING, STOPPING, StartFault, Usage
from edge_agent.keeper.spec import Limits, StopOrder, Token, task_of

MS = 1_000_000
GRACE_MS = 20
tokens = st.builds(Token, st.just(1), st.integers(0, 2), st.integers(0, 1))
runs = st.sampled_from([f"projects/p/tasks/{task}/runs/{n}" for task in "ab" for n in (1, 2)])


class Process:
    """A pretended process tree: its first process, and children that may be slow to die."""

    def __init__(self) -> None:
        self.first = True
        self.children = 0
        self.reaped = False
        self.stubborn = 0

    @property
    def alive(self) -> int:
        return int(self.first) + self.children


class Node(RuleBasedStateMachine):
    """Feeds the table; checks each effect against what is true on the node at that moment."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table("boot", t_kill_ms=100)
        self.now = 0
        self.processes: dict[Key, Process] = {}
        self.spawned: set[Key] = set()
        self.highest: dict[str, Token] = {}
        self.ended: set[Key] = set()
        self.deadlines: dict[Key, int] = {}
        self.fail_next_spawn = False
        self.queue: list[Event] = []

    # -- the world --------------------------------------------------------------------------------

    def feed(self, event: Event) -> list[Any]:
        everything = []
        self.queue.append(event)
        while self.queue:
            effects = self.table.handle(self.queue.pop(0), self.now)
            everything += effects
            for effect in effects:
                self.carry_out(effect)
        return everything

    def carry_out(self, effect: Any) -> None:
        if isinstance(effect, Spawn):
            self.spawn(effect.key)
        elif isinstance(effect, Sweep):
            self.sweep(effect.key)
        elif isinstance(effect, Note) and effect.note == "ended":
            process = self.processes.get(effect.key)
            assert effect.key not in self.ended, "an end is told once"
            assert process is None or process.alive == 0, "an end is a verified death"
            self.ended.add(effect.key)
        elif isinstance(effect, Drop):
            assert effect.key in self.ended

    def spawn(self, key: Key) -> None:
        if self.table.runs[key].state != STARTING:
            return  # the shell's own check: stopped between decision and commit
        assert key not in self.spawned, "a run is spawned once"
        for other, process in self.processes.items():
            if task_of(other.run) == task_of(key.run):
                assert process.alive == 0, "no two runs of a task have live processes"
        self.spawned.add(key)
        if self.fail_next_spawn:
            self.fail_next_spawn = False
            self.queue.append(SpawnFailed(key, StartFault("fork", "EAGAIN", "")))
            return
        self.processes[key] = Process()
        self.queue.append(Spawned(key, len(self.spawned), 1))

    def sweep(self, key: Key) -> None:
        process = self.processes[key]
        seen = process.alive
        if process.stubborn:
            process.stubborn -= 1
        else:
            process.first, process.children = False, 0
        final = Final(Usage(), 0, 0) if seen == 0 and process.reaped else None
        self.queue.append(Swept(key, seen, 0, final))

    def reapable(self) -> list[Key]:
        return [key for key, each in self.processes.items() if not each.first and not each.reaped]

    def living(self) -> list[Key]:
        return sorted(key for key, process in self.processes.items() if process.first)

    # -- what may happen --------------------------------------------------------------------------

    @rule(run=runs, token=tokens, fails=st.booleans(), lease=st.none() | st.integers(1, 50))
    def start(self, run: str, token: Token, fails: bool, lease: int | None) -> None:
        key, task = Key(run, token), task_of(run)
        known = key in self.table.runs
        deadline = None if lease is None else self.now + lease * MS
        self.fail_next_spawn = fails
        admission = Admission(key, str(key), GRACE_MS, Limits(disk_bytes=10), 500, deadline)
        effects = self.feed(Start(admission, 1))
        self.fail_next_spawn = False
        highest = self.highest.get(task)
        accepted = any(isinstance(effect, Reply) for effect in effects) and not known
        if highest is not None and token <= highest:
            assert not accepted, "a stale token starts nothing"
        if accepted:
            self.highest[task] = token
            if deadline is not None:
                self.deadlines[key] = deadline

    @rule(run=runs, token=tokens, notice=st.integers(0, 30), grace=st.integers(0, 30))
    def stop(self, run: str, token: Token, notice: int, grace: int) -> None:
        before = dict(self.table.runs)
        self.feed(Stop(StopOrder(run, token, "asked", notice, grace), 1))
        for key, was in before.items():
            kill_at = self.table.runs[key].kill_at
            if was.kill_at is not None and kill_at is not None:
                assert kill_at <= was.kill_at, "a stop is only ever hastened"
            if key.token > token or key.run != run:
                assert self.table.runs[key] == was, "an older token stops nothing"

    @rule(step=st.sampled_from([0, 1, 5, 60]))
    def time_passes(self, step: int) -> None:
        self.now += step * MS
        self.feed(Tick())

    @precondition(lambda self: self.living())
    @rule(data=st.data())
    def executes(self, data: st.DataObject) -> None:
        self.feed(Executed(data.draw(st.sampled_from(self.living()))))

    @precondition(lambda self: self.living())
    @rule(data=st.data(), children=st.integers(0, 3), stubborn=st.integers(0, 3))
    def first_process_exits(self, data: st.DataObject, children: int, stubborn: int) -> None:
        process = self.processes[data.draw(st.sampled_from(self.living()))]
        process.first, process.children, process.stubborn = False, children, stubborn

    @precondition(lambda self: self.living())
    @rule(data=st.data())
    def exec_fails(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.living()))
        if self.table.runs[key].state == STARTING:
            self.processes[key].first = False
            self.feed(ExecFailed(key, StartFault("exec", "ENOENT", "")))

    @precondition(lambda self: self.reapable())
    @rule(code=st.integers(0, 2))
    def reap(self, code: int) -> None:
        for key in self.reapable():
            self.processes[key].reaped = True
            self.feed(Exited(key, code, None, 0, 0))

    @rule(lease=st.integers(1, 80))
    def extend(self, lease: int) -> None:
        at = self.now + lease * MS
        self.feed(Extend(at, "boot", None, 1))
        for key in self.deadlines:
            run = self.table.runs.get(key)
            if run is not None and run.deadline_at is not None:
                assert run.deadline_at >= self.deadlines[key], "a deadline never moves earlier"
                self.deadlines[key] = run.deadline_at

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        self.feed(Forget(data.draw(st.sampled_from(sorted(self.ended))), 1))

    @rule(sure=st.integers(0, 15))
    def shutdown(self, sure: int) -> None:
        if sure == 0:
            self.feed(Shutdown())

    # -- what must hold ---------------------------------------------------------------------------

    @invariant()
    def fences_never_fall(self) -> None:
        for task, token in self.highest.items():
            assert self.table.fences[task] == token

    @invariant()
    def nothing_overdue_is_left_running_after_a_look_at_the_clock(self) -> None:
        self.feed(Tick())
        for key, deadline in self.deadlines.items():
            run = self.table.runs.get(key)
            if run is None or not run.live or deadline > self.now:
                continue
            if deadline + GRACE_MS * MS <= self.now:
                assert run.killing_since is not None, "the grace counts from the deadline"
            elif run.killing_since is None:
                assert run.state == STOPPING
                assert run.term_at is None, "it was told"
                assert run.kill_at is not None
                assert run.kill_at <= deadline + GRACE_MS * MS
        due = self.table.next_due()
        assert due is None or due > self.now, "the loop would spin"

    @invariant()
    def nothing_waits_for_the_dead(self) -> None:
        for key in self.table.live:
            if self.table.runs[key].waiting:
                task = task_of(key.run)
                others = [each for each in self.table.live if task_of(each.run) == task]
                assert any(self.table.runs[other].holds for other in others)

    @invariant()
    def every_live_run_will_be_looked_at_again(self) -> None:
        for key in self.table.live:
            run = self.table.runs[key]
            process = self.processes.get(key)
            if run.killing_since is not None and process is not None and process.alive:
                assert run.sweep_at is not None

    def teardown(self) -> None:
        """Liveness: once everything may die, everything ends, however it was left."""
        self.feed(Shutdown())
        for process in self.processes.values():
            process.stubborn = 0
        for _ in range(20):
            self.now += 300 * MS
            self.feed(Tick())
            for key in self.reapable():
                self.processes[key].reaped = True
                self.feed(Exited(key, None, 9, 0, 0))
        states = {run.state for run in self.table.runs.values()}
        assert states <= {ENDED}, states
        assert RUNNING not in states


Node.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestNode = Node.TestCase
