"""Any history of orders, deaths, restarts and silences ends with every run told once and forgotten.

The keeper and the files are models that answer late, in any order, or die; a restart keeps the rows
and nothing else.
"""

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.domain.events import (
    Abandon,
    Collect,
    Collected,
    Forget,
    Halt,
    HaltMissed,
    KeeperDown,
    Launch,
    Process,
    ProcessEnd,
    ProcessSeen,
    RegionDown,
    RunKey,
    Stage,
    Staged,
)
from intertie.model.agentlink import AckRun, AckUsage, StartRun, UsageSample
from intertie.model.states import Outcome, RunState
from intertie.model.task import StoredFile

FILE = StoredFile(path="a", sha256="ab" * 32, size=3)
KINDS = (
    *("start", "start", "start", "stop", "staged", "launched", "exit", "collected", "restart"),
    *("keeper_dies", "keeper_back", "away", "back", "time", "ack", "ack"),
)


class World:
    """A desk with a keeper and files that are played here."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk
        self.orders: dict[RunKey, StartRun] = {}
        self.processes: dict[RunKey, Process] = {}
        self.keeper_is_up = True
        self.wanted: list[object] = []
        self.launches: Counter[RunKey] = Counter()
        self.newest: dict[str, int] = {}

    def take(self) -> None:
        """Do what needs no time: effects that are answered at once, or wait for a step."""
        effects, self.desk.outward = self.desk.outward, []
        for effect in effects:
            match effect:
                case Launch(key=key) if self.keeper_is_up:
                    self._launched(key)
                case Halt(key=key) if self.keeper_is_up:
                    self._halted(key)
                case Forget(key=key) if self.keeper_is_up:
                    self.processes.pop(key, None)
                case Abandon(key=key):
                    self.wanted = [w for w in self.wanted if getattr(w, "key", None) != key]
                case Stage() | Collect():
                    self.wanted.append(effect)
        if self.desk.outward:
            self.take()

    def _launched(self, key: RunKey) -> None:
        """As the keeper: a start under a key that it knows changes nothing."""
        if key not in self.processes:
            self.launches[key] += 1
            self.processes[key] = self.desk.process(self.orders[key])
        self.desk.tell(ProcessSeen(self.processes[key]))

    def _halted(self, key: RunKey) -> None:
        process = self.processes.get(key)
        if process is None:
            self.desk.tell(HaltMissed(key))
        elif process.end is None:
            self._end(key, evidence={"stopped": "asked"}, exit_code=None, signal=15)

    def _end(self, key: RunKey, **changes: Any) -> None:
        end = ProcessEnd(at_ns=self.desk.clock.now().boot_ns, **changes)
        self.processes[key] = replace(self.processes[key], running=False, end=end)
        if self.keeper_is_up:
            self.desk.tell(ProcessSeen(self.processes[key]))

    # --- steps -----------------------------------------------------------------------------------

    def step(self, kind: str, pick: int) -> None:
        getattr(self, f"_{kind}")(pick)
        self.take()

    def _start(self, pick: int) -> None:
        if not self.desk.core.telling.link:
            return
        task = f"projects/p1/tasks/07-01a22e89-65ab-704c-b12f-be4a9bae32c{pick % 3}"
        sub = self.newest.get(task, 0) + 1
        self.newest[task] = sub
        files = {"files": (FILE,), "modes": (0o644,)} if pick % 2 else {}
        outputs = ("out",) if pick % 5 == 0 else ()
        order = self.desk.order(task=task, sub=sub, outputs=outputs, **files)
        self.orders[RunKey(order.task, order.token)] = order
        self.desk.hear(order)

    def _stop(self, pick: int) -> None:
        if self.orders and self.desk.core.telling.link:
            order = self._pick(list(self.orders.values()), pick)
            if RunKey(order.task, order.token) in self.desk.core.runs:
                self.desk.stop(order, Outcome.CANCELLED)

    def _staged(self, pick: int) -> None:
        stages = [w for w in self.wanted if isinstance(w, Stage)]
        if stages:
            stage = self._pick(stages, pick)
            self.wanted.remove(stage)
            self.desk.tell(Staged(key=stage.key, resumed_step=0))

    def _launched_step(self, pick: int) -> None:
        waiting = [k for k, p in self.processes.items() if not p.running and p.end is None]
        if waiting and self.keeper_is_up:
            key = self._pick(waiting, pick)
            self.processes[key] = replace(self.processes[key], running=True)
            self.desk.tell(ProcessSeen(self.processes[key]))

    def _exit(self, pick: int) -> None:
        alive = [k for k, p in self.processes.items() if p.end is None]
        if alive and self.keeper_is_up:
            self._end(self._pick(alive, pick), exit_code=pick % 3, cpu_ms=pick % 100)

    def _collected(self, pick: int) -> None:
        collects = [w for w in self.wanted if isinstance(w, Collect)]
        if collects:
            collect = self._pick(collects, pick)
            self.wanted.remove(collect)
            self.desk.tell(Collected(key=collect.key, outputs=(FILE,)))

    def _restart(self, _: int) -> None:
        self.wanted.clear()
        self.desk.restart()
        if self.keeper_is_up:
            self.desk.keeper(*self.processes.values())

    def _keeper_dies(self, pick: int) -> None:
        """It may be noticed late: orders of the meantime are lost."""
        if self.keeper_is_up:
            self.keeper_is_up = False
            if pick % 2:
                self.desk.tell(KeeperDown())

    def _keeper_back(self, _: int) -> None:
        """A new keeper ends what its predecessor had as lost."""
        if self.keeper_is_up:
            return
        self.keeper_is_up = True
        for key in [k for k, p in self.processes.items() if p.end is None]:
            self.keeper_is_up = False
            self._end(key, evidence={"lost": "1"}, exit_code=None, lost=True)
        self.keeper_is_up = True
        self.desk.tell(KeeperDown())
        self.desk.keeper(*self.processes.values())

    def _away(self, _: int) -> None:
        if self.desk.core.telling.link:
            self.desk.tell(RegionDown(link=self.desk.link))

    def _back(self, _: int) -> None:
        if not self.desk.core.telling.link:
            self.desk.attach()

    def _time(self, pick: int) -> None:
        self.desk.tick(pick % 100)

    def _ack(self, _: int) -> None:
        """The region acknowledges what it was told, in order."""
        if not self.desk.core.telling.link:
            return
        for message in list(self.desk.said):
            match message:
                case UsageSample(task=task, token=token, interval=interval):
                    self.desk.hear(AckUsage(task=task, token=token, interval=interval))
        for order in self.orders.values():
            ended = [u for u in self._updates(order) if u.state is RunState.ENDED]
            if ended:
                self.desk.hear(AckRun(task=order.task, token=order.token))

    def _updates(self, order: StartRun) -> list[Any]:
        return [u for u in self.desk.updates(order) if u.task == order.task]

    @staticmethod
    def _pick(options: list[Any], pick: int) -> Any:
        return options[pick % len(options)]

    # --- the end ---------------------------------------------------------------------------------

    def heal(self) -> None:
        """Everything answers until nothing moves."""
        for kind in ("keeper_back", "back"):
            self.step(kind, 0)
        for _ in range(200):
            for kind in ("staged", "launched_step", "exit", "collected", "ack", "time"):
                self.step(kind, 3)
            if not self.desk.core.runs:
                return
        raise AssertionError(f"these never end: {self.desk.core.runs}")

    def check(self) -> None:
        for key, order in self.orders.items():
            updates = self._updates(order)
            ends = {u.boot_ms: u for u in updates if u.state is RunState.ENDED}
            if not updates:
                continue  # the order was lost with the link, as the region will find out
            assert len(ends) == 1, f"{key} was told {len(ends)} ends"
            first = next(i for i, u in enumerate(updates) if u.state is RunState.ENDED)
            assert all(u.state is RunState.ENDED for u in updates[first:]), f"{key} came back"
            samples = {
                m.interval: m
                for m in self.desk.said
                if isinstance(m, UsageSample) and (m.task, m.token) == (key.task, key.token)
            }
            assert sorted(samples) == list(range(1, len(samples) + 1)), f"{key} has gaps"
            assert samples[len(samples)].final, f"{key} has no last sample"
            assert sum(s.boot_ms for s in samples.values()) == updates[-1].boot_ms
            assert self.launches[key] <= 1, f"{key} was started twice"
        assert self.desk.rows == {}


@settings(max_examples=300, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1_000)), max_size=60))
def test_every_run_is_told_once_and_forgotten(make_desk: Any, steps: list[tuple[str, int]]) -> None:
    world = World(make_desk())
    for kind, pick in steps:
        world.step("launched_step" if kind == "launched" else kind, pick)
    world.heal()
    world.check()
