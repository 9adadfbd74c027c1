"""Both production cores over the wire's values, in virtual time: the main path and its failures."""

from collections.abc import Callable

from federation.domain.events import AskPlan, CancelTask
from intertie.model.names import TaskName
from intertie.model.spec import Resources, RunSpec, TaskSpec, Tolerance
from intertie.model.states import (
    FailureClass,
    OnDisconnect,
    Outcome,
    RunState,
    TaskState,
    WaitReason,
)
from intertie.model.task import Plan, Task
from intertie.twin.world import World

Submit = Callable[[TaskSpec], Task]


def _moving(move_after_ms: int = 1_000) -> TaskSpec:
    tolerance = Tolerance(on_disconnect=OnDisconnect.MOVE, move_after=move_after_ms)
    return TaskSpec(run=RunSpec(command=("train",)), tolerance=tolerance)


def _name(task: Task) -> str:
    return str(TaskName("vision", task.id))


def test_a_task_goes_from_submission_to_a_result_with_complete_usage(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    assert world.task(task.id).state is TaskState.RUNNING
    [node] = world.where(_name(task))
    world.end(node, _name(task), exit_code=0)
    after = world.task(task.id)
    assert after.state is TaskState.SUCCEEDED
    assert world.newest_run(task.id).outcome is Outcome.SUCCEEDED
    [end] = world.records("run_end")
    assert end["complete"] is True
    assert end["useful_ms"] == 1_000
    assert {r["meter"] for r in world.records("usage")} == {
        "cpu.held_core_ms",
        "cpu.used_core_ms",
        "mem.held_mib_ms",
        "mem.used_mib_ms",
    }
    assert len(world.records("placement")) == 1


def test_a_user_error_is_not_tried_again(world: World, submit: Submit, spec: TaskSpec) -> None:
    task = submit(spec)
    world.run(500)
    world.end(world.where(_name(task))[0], _name(task), exit_code=3)
    after = world.task(task.id)
    assert (after.state, after.exit_code) == (TaskState.FAILED, 3)
    assert after.failure_class is FailureClass.USER
    world.run(5_000)
    assert world.where(_name(task)) == []


def test_more_tasks_than_room_all_run_in_the_end(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    tasks = [submit(spec) for _ in range(20)]
    for _ in range(40):
        world.run(300)
        for task in tasks:
            for node in world.where(_name(task)):
                world.end(node, _name(task), exit_code=0)
    assert {world.task(t.id).state for t in tasks} == {TaskState.SUCCEEDED}


def test_an_array_runs_each_index_once(world: World, submit: Submit) -> None:
    first = submit(TaskSpec(run=RunSpec(command=("x",)), array=4))
    world.run(500)
    indices = [order.index for node in world.nodes.values() for order in node.runs.values()]
    assert sorted(indices) == [0, 1, 2, 3]
    assert first.group == first.id


def test_a_move_run_waits_for_the_lease_and_resumes_from_its_checkpoint(
    world: World, submit: Submit
) -> None:
    task = submit(_moving())
    world.run(500)
    [node] = world.where(_name(task))
    world.checkpoint(node, _name(task), step=7, written_ms=400)
    world.kill(node)
    world.run(6_000)
    assert world.where(_name(task)) == []
    world.run(2_500)
    [other] = world.where(_name(task))
    assert other != node
    order = world.nodes[other].runs[_name(task)]
    assert order.checkpoint is not None
    assert order.checkpoint.step == 7
    assert order.token.sub == 2
    world.end(other, _name(task), exit_code=0)
    assert world.task(task.id).state is TaskState.SUCCEEDED
    assert world.newest_run(task.id).placements == 2


def test_a_stay_run_is_never_started_elsewhere_by_silence_alone(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.kill(node)
    world.run(120_000)
    assert world.where(_name(task)) == []
    assert world.task(task.id).state is TaskState.RUNNING


def test_a_stay_run_starts_again_when_its_node_comes_back_without_it(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.kill(node)
    world.attach(world.nodes[node])
    world.run(500)
    assert len(world.where(_name(task))) == 1
    assert world.newest_run(task.id).token.sub == 2


def test_a_region_killed_and_restarted_adopts_what_runs(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.restart_region()
    world.run(2_000)
    assert world.where(_name(task)) == [node]
    world.end(node, _name(task), exit_code=0)
    assert world.task(task.id).state is TaskState.SUCCEEDED
    assert len(world.task(task.id).runs) == 1


def test_a_federation_killed_and_restarted_learns_what_ended_meanwhile(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.unlink()
    world.end(node, _name(task), exit_code=0)
    world.restart_federation()
    world.run(500)
    assert world.task(task.id).state is TaskState.SUCCEEDED


def test_a_cut_shorter_than_the_lease_moves_nothing(world: World, submit: Submit) -> None:
    task = submit(_moving())
    world.run(500)
    [node] = world.where(_name(task))
    world.unlink()
    world.run(8_000)
    assert world.task(task.id).state is TaskState.UNKNOWN
    world.link()
    world.run(500)
    assert world.task(task.id).state is TaskState.RUNNING
    assert world.where(_name(task)) == [node]


def test_a_cut_longer_than_the_lease_gives_a_move_task_back(world: World, submit: Submit) -> None:
    task = submit(_moving())
    world.run(500)
    world.unlink()
    world.run(25_000)
    after = world.task(task.id)
    assert after.state is TaskState.PENDING
    assert after.runs[0].outcome is Outcome.LOST


def test_a_run_that_was_replaced_is_stopped_when_the_cut_heals(
    world: World, submit: Submit
) -> None:
    task = submit(_moving())
    world.run(500)
    world.unlink()
    world.run(25_000)
    world.link()
    world.run(3_000)
    after = world.task(task.id)
    assert after.epoch.n == 2
    assert len(world.where(_name(task))) == 1
    [node] = world.where(_name(task))
    assert world.nodes[node].runs[_name(task)].token.epoch == after.epoch


def _cancel(world: World, task: Task) -> Task:
    def make(ticket: int) -> CancelTask:
        return CancelTask(
            ticket=ticket,
            id=task.id,
            project="vision",
            reason="enough",
            actor="me",
            request_id="c1",
            request_digest="d",
        )

    answer = world.ask(make)
    assert isinstance(answer, Task)
    return answer


def test_a_stay_run_on_a_dead_node_stays_cancelling_and_says_what_it_waits_for(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.kill(node)
    assert _cancel(world, task).state is TaskState.CANCELLING
    world.run(120_000)
    assert world.task(task.id).state is TaskState.CANCELLING
    wait = world.wait_of(task.id)
    assert wait is not None
    assert (wait.reason, node in wait.detail) == (WaitReason.STALE, True)
    assert "the node answers" in wait.next
    world.attach(world.nodes[node])
    world.run(500)
    assert world.task(task.id).state is TaskState.CANCELLED
    assert world.newest_run(task.id).outcome is Outcome.CANCELLED
    assert world.where(_name(task)) == []


def test_a_cancellation_outlives_restarts_of_both_while_the_node_is_away(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.kill(node)
    _cancel(world, task)
    world.restart_federation()
    world.restart_region()
    world.run(30_000)
    assert world.task(task.id).state is TaskState.CANCELLING
    assert world.wait_of(task.id) is not None
    world.attach(world.nodes[node])
    world.run(500)
    assert world.task(task.id).state is TaskState.CANCELLED


def test_a_cancelled_run_whose_node_was_only_cut_off_is_stopped_when_it_is_back(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    world.cut(node)
    _cancel(world, task)
    world.run(5_000)
    assert world.where(_name(task)) == [node]
    world.attach(world.nodes[node])
    world.run(5_000)
    assert world.where(_name(task)) == []
    assert world.task(task.id).state is TaskState.CANCELLED


def test_cancel_stops_a_running_task_and_says_so(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)

    assert _cancel(world, task).state is TaskState.CANCELLING
    assert world.task(task.id).state is TaskState.CANCELLED
    assert world.newest_run(task.id).outcome is Outcome.CANCELLED
    [end] = world.records("run_end")
    assert end["cause"] == "submitter"
    assert end["lost_ms"] == 0


def test_a_plan_names_the_region_and_every_check(world: World) -> None:
    world.run(3_000)
    answer = world.ask(
        lambda ticket: AskPlan(ticket=ticket, spec=TaskSpec(run=RunSpec(command=("x",))))
    )
    assert isinstance(answer, Plan)
    assert answer.chosen == "suzhou"
    assert {c.name for c in answer.verdicts[0].checks} >= {"reachable", "residency", "capability"}


def test_a_plan_for_too_much_says_what_would_have_to_change(world: World) -> None:
    world.run(3_000)
    big = TaskSpec(run=RunSpec(command=("x",)), resources=Resources(memory=1 << 40))
    answer = world.ask(lambda ticket: AskPlan(ticket=ticket, spec=big))
    assert isinstance(answer, Plan)
    assert answer.chosen == ""
    assert "capability" in answer.remedy


def test_a_task_that_fits_nowhere_waits_and_says_why(world: World, submit: Submit) -> None:
    big = TaskSpec(run=RunSpec(command=("x",)), resources=Resources(memory=1 << 40))
    task = submit(big)
    world.run(2_000)
    assert world.task(task.id).state is TaskState.PENDING
    wait = world.wait_of(task.id)
    assert wait is not None
    assert wait.reason.value == "NO_MATCHING_REGION"


def test_an_old_sample_repeated_changes_no_usage(
    world: World, submit: Submit, spec: TaskSpec
) -> None:
    task = submit(spec)
    world.run(500)
    [node] = world.where(_name(task))
    order = world.nodes[node].runs[_name(task)]
    world.end(node, _name(task), exit_code=0)
    before = world.records("usage")
    world.nodes[node].runs[_name(task)] = order
    world.end(node, _name(task), exit_code=0, ran_ms=9_000)
    assert world.records("usage") == before
    assert world.newest_run(task.id).state is RunState.ENDED
