"""Nodes that fail in bad ways: both cores in virtual time; no task runs twice by itself."""

from collections.abc import Callable

from intertie.model.names import TaskName
from intertie.model.spec import RunSpec, TaskSpec, Tolerance
from intertie.model.states import OnDisconnect, Outcome, TaskState
from intertie.model.task import Task
from intertie.twin.world import World
from regional.domain.events import Evict, RemoveNode

Submit = Callable[[TaskSpec], Task]


def _name(task: Task) -> str:
    return str(TaskName("vision", task.id))


def _evict(world: World, task: Task) -> None:
    world.order(
        lambda ticket: Evict(
            ticket=ticket,
            task=_name(task),
            reason="maintenance",
            request_id=f"e{ticket}",
            request_digest="d",
        )
    )


def _remove(world: World, node: str) -> object:
    return world.order(
        lambda ticket: RemoveNode(
            ticket=ticket, node=node, reason="off", request_id=f"r{ticket}", request_digest="d"
        )
    )


def _processes(world: World, task: Task) -> int:
    """How many processes were ever started for a task."""
    return sum(name == _name(task) for n in world.nodes.values() for name, _ in n.processes)


def test_a_stay_run_that_its_node_cannot_kill_starts_nowhere_else_until_it_is_dead(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.nodes[node].cannot_kill = True
    _evict(world, task)
    for _ in range(60):
        world.run(1_000)
        assert world.where(_name(task)) == [node]
    assert _processes(world, task) == 1
    world.nodes[node].cannot_kill = False
    world.end(node, _name(task), signal=9, evidence={"stopped": "1"}, ran_ms=60_000)
    assert world.task(task.id).runs[0].outcome is Outcome.EVICTED
    world.run(60_000)
    assert len(world.where(_name(task))) == 1
    assert _processes(world, task) == 2


def test_a_start_that_is_sent_again_after_a_loss_starts_no_second_process(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    for node in world.nodes.values():
        node.is_mute = True
    task = submit(spec)
    world.run(500)
    [name] = world.where(_name(task))
    node = world.nodes[name]
    world.cut(name)
    node.is_mute = False
    before = len(node.sent)
    world.attach(node, lists_runs=False)
    again = [m for m in node.sent[before:] if type(m).__name__ == "StartRun"]
    assert len(again) == 1, "the region cannot know that the first one came"
    world.run(5_000)
    assert _processes(world, task) == 1
    assert world.task(task.id).state is TaskState.RUNNING
    world.end(name, _name(task), exit_code=0)
    assert world.task(task.id).state is TaskState.SUCCEEDED
    assert len(world.records("run_end")) == 1


def test_a_removed_node_that_comes_back_is_stopped_before_it_gets_work(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [name] = world.where(_name(task))
    node, [other] = world.nodes[name], [n for n in world.nodes if n != name]
    world.cut(name)
    assert _remove(world, name) == 1
    world.run(1_000)
    assert sorted(world.where(_name(task))) == sorted([name, other]), "the operator was wrong"
    node.cannot_kill = True
    world.attach(node)
    more = [submit(spec) for _ in range(3)]
    world.restart_region()
    world.run(10_000)
    assert len(node.processes) == 1, "no work beside what it still has"
    node.cannot_kill = False
    world.end(name, _name(task), signal=9, evidence={"stopped": "1"}, ran_ms=10_000)
    world.run(5_000)
    assert world.where(_name(task)) == [other]
    assert len(node.processes) > 1, "it is a node like any other again"
    assert {_processes(world, t) for t in more} == {1}
    world.end(other, _name(task), exit_code=0)
    assert world.task(task.id).state is TaskState.SUCCEEDED


def test_a_node_that_claims_too_much_time_is_believed_what_has_passed(
    world: World, submit: Submit
) -> None:
    tolerance = Tolerance(on_disconnect=OnDisconnect.MOVE)
    task = submit(TaskSpec(run=RunSpec(command=("train",)), tolerance=tolerance))
    world.run(500)
    [name] = world.where(_name(task))
    world.run(4_000)
    world.end(name, _name(task), exit_code=0, ran_ms=3_000_000)
    run = world.newest_run(task.id)
    timing = world.region_timing
    most_ms = int(4_500 * (1 + 2 * timing.drift)) + timing.delta_ms
    assert 4_000 <= run.useful_ms <= most_ms
    [held] = [r for r in world.records("usage") if r["meter"] == "cpu.held_core_ms"]
    [end] = world.records("run_end")
    assert held["boot_ms"] == end["boot_ms"] == run.useful_ms
    now_ms = world.now.utc_ms
    assert isinstance(held["end_ms"], int)
    assert held["end_ms"] <= now_ms
