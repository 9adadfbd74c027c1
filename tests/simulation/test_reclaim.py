"""An owner takes the pool back: guests leave in time, with what they lost told as reclaimed."""

from collections.abc import Callable
from typing import Any

from intertie.model.lending import Quantity, Reclaim, ReclaimState
from intertie.model.names import TaskName
from intertie.model.spec import TaskSpec
from intertie.model.states import Outcome, TaskState
from intertie.model.task import Task
from intertie.twin.world import World
from regional.domain.events import CreateReclaim

Submit = Callable[[TaskSpec], Task]
DEADLINE_MS = 10_000
LASTS_MS = 40_000


def _name(task: Task) -> str:
    return str(TaskName("vision", task.id))


def _reclaim(world: World) -> Reclaim:
    """All of the pool, for a while."""
    answer = world.order(
        lambda ticket: CreateReclaim(
            ticket=ticket,
            name="reclaims/1",
            quantity=Quantity(cpu=4_000, memory=8 << 30),
            deadline_ms=DEADLINE_MS,
            for_ms=LASTS_MS,
            reason="our own training",
            request_id="q",
            request_digest="d",
        )
    )
    assert isinstance(answer, Reclaim)
    return answer


def _standing(world: World) -> Any:
    return world.region_rows["reclaim", "reclaims/1"]


def test_guests_leave_by_the_deadline_and_run_again_when_the_pool_is_lent_again(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    for node in world.nodes.values():
        node.stop_takes_ms = 60_000  # they save their work as long as they may
    tasks = [submit(spec) for _ in range(3)]
    world.run(5_000)
    [saved] = world.where(_name(tasks[0]))
    world.checkpoint(saved, _name(tasks[0]), step=3, written_ms=4_000)
    assert _reclaim(world).guests_left == 3
    left_ms = None
    for passed_ms in range(0, DEADLINE_MS, 500):
        if not any(world.where(_name(task)) for task in tasks):
            left_ms = left_ms or passed_ms
        world.run(500)
    assert left_ms, "all guests have left before the deadline (I9)"
    assert left_ms > 2_000, "with notice to save their work"
    assert _standing(world).state is ReclaimState.RECLAIMED
    ends = {str(end["task"]): end for end in world.records("run_end")}
    for task in tasks:
        end, [run, *_] = ends[task.id], world.task(task.id).runs
        assert run.outcome is Outcome.RECLAIMED
        assert end["cause"] == "owner"
        assert end["reclaimed_ms"] == end["lost_ms"] == run.reclaimed_ms > 0
    assert ends[tasks[0].id]["useful_ms"] == 4_000, "what the checkpoint holds is not lost"
    assert ends[tasks[1].id]["useful_ms"] == 0
    world.run(10_000)
    assert not any(world.where(_name(task)) for task in tasks), "nothing is lent before its end"
    assert {world.task(task.id).state for task in tasks} <= {TaskState.PENDING, TaskState.ASSIGNED}
    world.run(LASTS_MS + 30_000)
    for task in tasks:
        [name] = world.where(_name(task))
        order = world.nodes[name].runs[_name(task)]
        assert (order.checkpoint is not None) is (task is tasks[0])
        world.end(name, _name(task), exit_code=0)
        assert world.task(task.id).state is TaskState.SUCCEEDED
