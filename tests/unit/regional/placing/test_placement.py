"""Which node a run gets, and who may pass whom."""

from dataclasses import replace
from typing import Any

from intertie.drive.effects import Tick
from intertie.model.agentlink import StartRun
from intertie.model.pool import NodeCapability
from intertie.model.spec import Accelerators, Priority, Resources, RunSpec, TaskSpec, Variant, When
from intertie.model.states import RunState
from regional.domain import scheduling
from regional.domain.events import CreateNative
from regional.domain.nodes.rooms import best

GIB = 1 << 30
SMALL = NodeCapability(cpu=2_000, memory=4 * GIB, disk=64 * GIB, architecture="x86_64")


def _cpu(cores: float, **changes: object) -> TaskSpec:
    resources = Resources(cpu=int(cores * 1000), memory=GIB, disk=GIB)
    return TaskSpec(run=RunSpec(command=("x",)), resources=resources, **changes)  # type: ignore[arg-type] # fields of a spec


def _devices(count: int) -> TaskSpec:
    resources = Resources(cpu=100, memory=GIB, disk=GIB, accelerators=Accelerators(count=count))
    return TaskSpec(run=RunSpec(command=("x",)), resources=resources)


def test_a_run_goes_to_the_node_with_the_least_left_over(region: Any, ask: Any) -> None:
    region.attach_upward()
    region.attach("large")
    region.attach("small", capability=SMALL)
    _, out = region.assign(_cpu(1))
    assert [e.node for e in out if getattr(e, "node", "")] == ["small"]
    _, out = region.assign(_cpu(3))
    assert len(ask.sent(out, StartRun, "large")) == 1


def test_devices_are_given_whole_and_never_twice(region: Any, ask: Any) -> None:
    region.attach_upward()
    region.attach("n1", capability=replace(SMALL, devices=ask.devices(4)))
    taken: list[int] = []
    for _ in range(2):
        _, out = region.assign(_devices(2))
        (start,) = ask.sent(out, StartRun)
        assert len(start.devices) == 2
        taken += start.devices
    assert sorted(taken) == [0, 1, 2, 3]
    _, out = region.assign(_devices(1))
    assert ask.sent(out, StartRun) == []


def test_a_run_goes_only_to_a_node_that_has_what_it_requires(region: Any, ask: Any) -> None:
    region.attach_upward()
    linked = tuple(replace(device, link="nvlink") for device in ask.devices(2))
    region.attach("bus", capability=replace(SMALL, devices=ask.devices(2)))
    region.attach("linked", capability=replace(SMALL, devices=linked))
    _, out = region.assign(replace(_devices(1), requires=("interconnect>=nvlink",)))
    assert len(ask.sent(out, StartRun, "linked")) == 1
    _, out = region.assign(replace(_devices(1), requires=("interconnect>=nvswitch",)))
    assert ask.sent(out, StartRun) == []


def test_a_node_that_keeps_being_lost_is_not_for_long_runs(region: Any, ask: Any) -> None:
    region.attach_upward()
    for _ in range(3):
        region.attach("n1", capability=SMALL)
        region.detach("n1")
        region.pass_ms(60_000)
        region.do(Tick())
    region.attach("n1", capability=SMALL)
    _, out = region.assign(_cpu(1, requires=("long_run",)))
    assert ask.sent(out, StartRun) == []


def test_a_device_that_is_not_healthy_is_not_given(region: Any, ask: Any) -> None:
    region.attach_upward()
    devices = ask.devices(2)
    sick = (replace(devices[0], healthy=False), devices[1])
    region.attach("n1", capability=replace(SMALL, devices=sick))
    _, out = region.assign(_devices(1))
    (start,) = ask.sent(out, StartRun)
    assert start.devices == (1,)


def test_a_node_without_devices_is_preferred_for_work_without_them(region: Any, ask: Any) -> None:
    region.attach_upward()
    region.attach("gpu", capability=replace(SMALL, devices=ask.devices(1)))
    region.attach("plain", capability=SMALL)
    _, out = region.assign(_cpu(1))
    assert len(ask.sent(out, StartRun, "plain")) == 1


def test_an_excluded_node_is_not_chosen_though_it_is_the_only_one(
    linked: Any, ask: Any, spec: Any
) -> None:
    task, out = linked.assign(spec, excluded=("n1",))
    assert ask.sent(out, StartRun) == []
    assert linked.run(task).state is RunState.QUEUED
    assert len(ask.sent(linked.attach("n2"), StartRun, "n2")) == 1


def test_native_work_is_placed_before_guests_that_came_first(region: Any, ask: Any) -> None:
    region.attach_upward()
    guest, _ = region.assign(_cpu(4))
    native = "projects/eu/tasks/03-01890000-0000-7000-8000-00000000ffff"
    region.do(
        CreateNative(
            ticket=1,
            task=native,
            spec=_cpu(4),
            principal="op-1",
            request_id="r",
            request_digest="d",
        )
    )
    (start,) = ask.sent(region.attach("n1"), StartRun)
    assert start.task == native
    assert region.run(guest).state is RunState.QUEUED


def test_inside_a_class_first_come_is_first_served(region: Any, ask: Any) -> None:
    region.attach_upward()
    names = []
    for _ in range(3):
        names.append(region.assign(_cpu(2))[0])
        region.pass_ms(1)
    starts = ask.sent(region.attach("n1"), StartRun)
    assert [s.task for s in starts] == names[:2]


def test_a_guaranteed_run_passes_normal_ones(region: Any, ask: Any) -> None:
    region.attach_upward()
    region.assign(_cpu(4))
    region.pass_ms(5)
    urgent, _ = region.assign(_cpu(4, priority=Priority.GUARANTEED))
    starts = ask.sent(region.attach("n1"), StartRun)
    assert [s.task for s in starts] == [urgent]


def test_a_small_run_passes_one_that_does_not_fit_now(region: Any, ask: Any) -> None:
    region.attach_upward()
    region.attach("n1")
    region.assign(_cpu(2))
    large, out = region.assign(_cpu(4))
    assert ask.sent(out, StartRun) == []
    small, out = region.assign(_cpu(1))
    assert [s.task for s in ask.sent(out, StartRun)] == [small]
    assert region.run(large).state is RunState.QUEUED


def test_a_variant_runs_only_where_its_software_is(region: Any, ask: Any) -> None:
    region.attach_upward()
    variant = Variant(when=When(software=("cuda>=12",)), command=("y",))
    run = RunSpec(command=("x",), variants=(variant,))
    task, out = region.assign(TaskSpec(run=run), variant=0)
    region.attach("old", capability=replace(SMALL, software={"cuda": "11.8"}))
    assert region.run(task).state is RunState.QUEUED
    out = region.attach("new", capability=replace(SMALL, software={"cuda": "12.4"}))
    (start,) = ask.sent(out, StartRun, "new")
    assert start.command == ("y",)


def test_a_move_run_is_placed_only_under_a_lease(region: Any, ask: Any) -> None:
    region.attach_upward(lease_ms=0)
    region.attach("n1")
    _, out = region.assign(ask.moving())
    assert ask.sent(out, StartRun) == []
    (start,) = ask.sent(region.renew(), StartRun)
    assert start.is_move
    assert start.lease_ms == 6_000


def test_what_a_run_held_is_free_after_its_end(linked: Any, ask: Any) -> None:
    _, out = linked.assign(_cpu(4))
    (order,) = ask.sent(out, StartRun)
    linked.runs_on("n1", order)
    waiting, out = linked.assign(_cpu(4))
    assert ask.sent(out, StartRun) == []
    out = linked.ends("n1", order)
    assert [s.task for s in ask.sent(out, StartRun)] == [waiting]


def test_placement_of_many_alike_runs_looks_at_their_line_once(
    region: Any, monkeypatch: Any
) -> None:
    region.attach_upward()
    region.attach("n1")
    for _ in range(90):
        region.assign(_cpu(4))
    looks = []

    def look(*arguments: Any) -> Any:
        looks.append(1)
        return best(*arguments)

    monkeypatch.setattr(scheduling, "best", look)
    region.assign(_cpu(3))
    assert len(looks) == 2
