"""Whatever is decided about regions, in whatever order: no work where none may go, no false end."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from federation.domain.drains import CancelDrain, CreateDrain, DrainState
from federation.domain.events import SendAssignment
from federation.domain.states import AdmitRegion, ChangeRegion, HangUp
from intertie.model.states import OnDisconnect, Outcome, RegionState, RunState, TaskState

REGIONS = ("eu", "us")
WORK = ("submit", "stay", "move", "attach", "run", "end", "evicted", "wait")
DECISIONS = ("cordon", "activate", "drain", "leave", "cancel", "remove", "admit")
FAULTS = ("lose", "restart", "offer_late")
STEPS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(WORK), st.sampled_from(DECISIONS), st.sampled_from(FAULTS)),
        st.sampled_from(REGIONS),
    ),
    max_size=60,
)


class History:
    """Runs steps on a core and checks what must hold after each."""

    def __init__(self, room: Any, spec: Any) -> None:
        self.room, self.spec, self.count, self.seen = room, spec, 0, 0

    def do(self, step: str, region: str) -> None:
        self.count += 1
        states = {r: record.state for r, record in self.room.core.records.items()}
        needs_link = step in {"lose", "offer_late", "run", "end", "evicted"}
        if not needs_link or self.linked(region):
            getattr(self, step)(region)
        self.check(states)
        self.look_at_assignments()

    def submit(self, _: str) -> None:
        self.room.submit(self.spec())

    def stay(self, _: str) -> None:
        self.busy(OnDisconnect.STAY)

    def move(self, _: str) -> None:
        self.busy(OnDisconnect.MOVE)

    def busy(self, on_disconnect: OnDisconnect) -> None:
        """A task that is placed, where there is a place for it."""
        self.room.submit(self.spec(on_disconnect=on_disconnect))
        for region in REGIONS:
            if self.linked(region):
                self.place(region)

    def attach(self, region: str) -> None:
        self.room.hello(region)
        if self.linked(region):
            self.room.summarise(region)

    def lose(self, region: str) -> None:
        self.room.lose(region)

    def offer_late(self, region: str) -> None:
        """Regions are asked for offers, and a decision comes before the answer."""
        self.room.submit(self.spec())
        self.room.wait(0.001)
        self.look_at_assignments()
        self.cordon(region)
        self.place(region)

    def place(self, region: str) -> None:
        self.room.place(region)
        self.look_at_assignments()

    def look_at_assignments(self) -> None:
        """What was assigned since the last look went to regions that may have new work."""
        for effect in self.room.said[self.seen :]:
            if isinstance(effect, SendAssignment):
                state = self.room.core.records[effect.task.region].state
                assert state is RegionState.ACTIVE, f"new work for a region that is {state}"
        self.seen = len(self.room.said)

    def run(self, region: str) -> None:
        self.tell(region, RunState.RUNNING)

    def end(self, region: str) -> None:
        self.tell(region, RunState.ENDED, outcome=Outcome.SUCCEEDED, exit_code=0)

    def evicted(self, region: str) -> None:
        self.tell(region, RunState.ENDED, outcome=Outcome.EVICTED)

    def cordon(self, region: str) -> None:
        self.change(region, RegionState.CORDONED)

    def activate(self, region: str) -> None:
        self.change(region, RegionState.ACTIVE)

    def remove(self, region: str) -> None:
        self.change(region, RegionState.REMOVED)

    def drain(self, region: str, *, leave: bool = False) -> None:
        event = CreateDrain(
            ticket=1,
            region=region,
            id=f"d{self.count}",
            reason="why",
            actor="root",
            wait_ms=2_000,
            leave=leave,
        )
        self.room.give(event)

    def leave(self, region: str) -> None:
        self.drain(region, leave=True)

    def cancel(self, region: str) -> None:
        for drain in list(self.room.core.states.drains.by_key.values()):
            if drain.region == region:
                event = CancelDrain(
                    ticket=1, region=region, id=drain.id, reason="why", actor="root"
                )
                self.room.give(event)

    def admit(self, region: str) -> None:
        event = AdmitRegion(ticket=1, region=region, jurisdiction="DE/DE-HE/fra1", actor="root")
        self.room.give(event)

    def wait(self, _: str) -> None:
        self.room.wait(3)

    def restart(self, _: str) -> None:
        self.room.restart()

    def linked(self, region: str) -> bool:
        member = self.room.core.fleet.members.get(region)
        return member is not None and bool(member.link)

    def change(self, region: str, to: RegionState) -> None:
        effects = self.room.give(
            ChangeRegion(ticket=1, region=region, to=to, reason="why", actor="root")
        )
        if any(isinstance(effect, HangUp) for effect in effects):
            assert not self.linked(region)

    def tell(self, region: str, state: RunState, **changes: Any) -> None:
        for id_ in sorted(self.room.core.at_region.get(region, ()))[:1]:
            self.room.update(self.room.core.tasks[id_], state, region, **changes)

    def check(self, before: dict[str, RegionState]) -> None:
        core = self.room.core
        self.room.check()
        for region, state in before.items():
            if state is RegionState.REMOVED:
                assert core.records[region].state is RegionState.REMOVED, "removed is for good"
                assert not self.linked(region)
        running: dict[str, int] = {}
        for drain in core.states.drains.by_key.values():
            if drain.state is DrainState.RUNNING:
                running[drain.region] = running.get(drain.region, 0) + 1
                assert core.records[drain.region].state is RegionState.DRAINING
        assert all(count == 1 for count in running.values()), "one drain at a time"
        for region, record in core.records.items():
            if record.state is RegionState.LEFT:
                live = [core.tasks[id_].state for id_ in core.at_region.get(region, ())]
                assert not live, f"a region left with {live}"
        stored = {key for kind, key in self.room.rows if kind == "drain"}
        assert stored == set(core.states.drains.by_key)
        assert all(task.state is not TaskState.PARKED for task in core.tasks.values())


# The fixtures hand out makers; nothing of one history is left for the next.
@settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(steps=STEPS)
def test_no_order_of_decisions_gives_work_to_a_closed_region_or_ends_a_drain_early(
    make_room: Any, spec: Any, steps: list[tuple[str, str]]
) -> None:
    history = History(make_room(), spec)
    for region in REGIONS:
        history.do("attach", region)
    for step, region in steps:
        history.do(step, region)
