"""Whatever happens in whatever order: the promises that hold for every history."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from federation.domain.core import GRANT
from federation.domain.events import SendAssignment
from intertie.drive.effects import Write
from intertie.metering.grant import parse_grant
from intertie.model.link import AssignAck, DigestEntry, DigestRequest, OfferRequest, RunDigest
from intertie.model.spec import FileRef, RunSpec
from intertie.model.states import (
    TASK_FINAL,
    TASK_TRANSITIONS,
    FailureClass,
    OnDisconnect,
    Outcome,
    RunState,
)
from intertie.model.task import Task
from intertie.model.token import Token

REGIONS = ("eu", "us")
LIVE = [RunState.QUEUED, RunState.STAGING, RunState.STARTING, RunState.RUNNING, RunState.STOPPING]


class AnyHistory(RuleBasedStateMachine):
    """Regions that lie about nothing but answer late, twice, or never."""

    make: Any
    make_spec: Any

    @initialize()
    def begin(self) -> None:
        self.room = type(self).make()
        self.known: list[Task] = []
        self.seen = 0
        self.states: dict[str, Any] = {}
        self.region_of: dict[tuple[str, Any], str] = {}
        self.epochs: dict[str, Any] = {}
        self.results: dict[str, Any] = {}
        self.runs: list[tuple[str, str, Any]] = []
        self.grants: dict[tuple[str, str], str] = {}

    # --- what may happen -------------------------------------------------------------------------

    @rule(
        move=st.booleans(),
        attempts=st.integers(1, 3),
        array=st.sampled_from([0, 0, 3]),
        blobs=st.sets(st.sampled_from("abc"), max_size=2),
    )
    def submit(self, move: bool, attempts: int, array: int, blobs: set[str]) -> None:
        kind = OnDisconnect.MOVE if move else OnDisconnect.STAY
        files = tuple(FileRef(path=b, sha256=b * 64) for b in sorted(blobs))
        run = RunSpec(command=("true",), files=files)
        spec = type(self).make_spec(on_disconnect=kind, max_attempts=attempts, array=array, run=run)
        self.known.append(self.room.submit(spec))

    @rule(seconds=st.sampled_from([0.001, 0.5, 1.1, 5.0, 25.0]))
    def wait(self, seconds: float) -> None:
        self.room.wait(seconds)

    @rule(region=st.sampled_from(REGIONS))
    def attach(self, region: str) -> None:
        self.room.attach(region)

    @rule(region=st.sampled_from(REGIONS))
    def work(self, region: str) -> None:
        """A region that is well takes what waits, and starts it."""
        if region not in self.room._links:
            self.room.attach(region)
        self.room.summarise(region)
        for sent in self.room.place(region):
            self.room.update(sent.task, RunState.RUNNING, region)

    @precondition(lambda self: self.room._links)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        self.room.lose(self._region(data))

    @precondition(lambda self: self.room._links)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        self.room.renew(self._region(data))

    @precondition(lambda self: self.room._links)
    @rule(data=st.data(), units=st.integers(0, 3))
    def offer(self, data: st.DataObject, units: int) -> None:
        region = self._region(data)
        asked = [
            s.message
            for s in self.room.said[-60:]
            if isinstance(getattr(s, "message", None), OfferRequest) and s.region == region
        ]
        if asked:
            request = data.draw(st.sampled_from(asked))
            self.room.offer(request, region, units=units, units_now=units)

    @precondition(lambda self: self.runs and self.room._links)
    @rule(data=st.data(), state=st.sampled_from(LIVE))
    def report(self, data: st.DataObject, state: RunState) -> None:
        region, task, token = data.draw(st.sampled_from(self.runs))
        if region in self.room._links:
            self.room.update(self._named(task), state, region, token=token)

    @precondition(lambda self: self.runs and self.room._links)
    @rule(
        data=st.data(),
        outcome=st.sampled_from(Outcome),
        failure=st.sampled_from([None, *FailureClass]),
    )
    def end(self, data: st.DataObject, outcome: Outcome, failure: FailureClass | None) -> None:
        region, task, token = data.draw(st.sampled_from(self.runs))
        if region in self.room._links:
            self.room.end(self._named(task), outcome, failure, region=region, token=token)

    @precondition(lambda self: self.runs and self.room._links)
    @rule(
        data=st.data(),
        accepted=st.booleans(),
        reason=st.sampled_from(["RESIDENCY_VIOLATION", "QUOTA_EXCEEDED", "CANCELLED"]),
    )
    def acknowledge(self, data: st.DataObject, accepted: bool, reason: str) -> None:
        region, task, token = data.draw(st.sampled_from(self.runs))
        if region in self.room._links:
            ack = AssignAck(
                task=str(self._named(task).name),
                epoch=token.epoch,
                accepted=accepted,
                reason="" if accepted else reason,
            )
            self.room.hear(ack, region)

    @precondition(lambda self: self.room._links)
    @rule(data=st.data(), state=st.sampled_from([*LIVE, RunState.ENDED]))
    def digest(self, data: st.DataObject, state: RunState) -> None:
        region = self._region(data)
        asked = [
            s.message
            for s in self.room.said
            if isinstance(getattr(s, "message", None), DigestRequest) and s.region == region
        ]
        mine = [(task, token) for at, task, token in self.runs if at == region]
        chosen = data.draw(st.lists(st.sampled_from(mine), unique=True)) if mine else []
        entries = tuple(
            DigestEntry(task=str(self._named(task).name), token=token, state=state, revision=1)
            for task, token in chosen
        )
        self.room.hear(RunDigest(id=asked[-1].id, entries=entries, last=True), region)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.room.cancel(data.draw(st.sampled_from(self.known)))

    @precondition(lambda self: self.runs)
    @rule()
    def restart(self) -> None:
        self.room.prices += "x"  # what is granted already must not change with it
        self.room.restart()

    # --- what must hold --------------------------------------------------------------------------

    @invariant()
    def the_indices_agree_with_the_store(self) -> None:
        if hasattr(self, "room"):
            self.room.check()

    @invariant()
    def every_written_change_is_allowed(self) -> None:
        if not hasattr(self, "room"):
            return
        fresh, self.seen = self.room.said[self.seen :], len(self.room.said)
        for effect in fresh:
            if isinstance(effect, SendAssignment):
                run = effect.task.run
                assert run is not None
                assert parse_grant(effect.grant).sha256 == run.grant_sha256
                self.runs.append((run.region, effect.task.id, Token(run.token.epoch, 1)))
            if isinstance(effect, Write) and isinstance(effect.value, Task):
                self._written(effect.value)
            if isinstance(effect, Write) and effect.kind == GRANT:
                assert isinstance(effect.value, bytes)
                grant = parse_grant(effect.value)
                assert (grant.task, grant.epoch) not in self.grants, "a second grant of an epoch"
                self.grants[grant.task, grant.epoch] = grant.sha256

    def _written(self, task: Task) -> None:
        before = self.states.get(task.id)
        if before is not None and before is not task.state:
            assert task.state in TASK_TRANSITIONS[before], f"{before} -> {task.state}"
        self.states[task.id] = task.state
        assert task.id not in self.results, "a second final result"
        if task.state in TASK_FINAL:
            self.results[task.id] = task.state
        assert task.epoch >= self.epochs.get(task.id, task.epoch), "epochs grow"
        self.epochs[task.id] = task.epoch
        if task.run is not None:
            key = (task.id, task.run.token.epoch)
            assert self.region_of.setdefault(key, task.run.region) == task.run.region

    def _region(self, data: st.DataObject) -> str:
        region: str = data.draw(st.sampled_from(sorted(self.room._links)))
        return region

    def _named(self, id_: str) -> Task:
        task: Task = self.room.task(Task(project="demo", id=id_, spec=None))
        return task


def test_no_history_breaks_a_promise(make_room: Any, spec: Any) -> None:
    machine = type("Machine", (AnyHistory,), {"make": make_room, "make_spec": staticmethod(spec)})
    run: Any = run_state_machine_as_test  # hypothesis has no type for it
    run(machine, settings=settings(max_examples=200, stateful_step_count=80))
