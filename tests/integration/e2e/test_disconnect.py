"""Silence, frozen processes and dead ones: who goes on, who stops itself, who moves (safety.md).

The leases here are 6 s of agents and 8 s of the region; a `move` run stops itself 3 s before its
lease is over, and may start elsewhere 1 s after it is.
"""

from pathlib import Path
from typing import Any

import pytest

from intertie.model.spec import CheckpointSpec
from intertie.model.states import Outcome, TaskState
from intertie.testing.lives import WITNESS, overlaps, read_lives
from intertie.testing.waiting import eventually, let_pass

pytestmark = pytest.mark.alone

AGENT_LEASE_S, REGION_LEASE_S = 6.0, 8.0
TRAIN = (
    WITNESS
    + """
    cd "$INTERTIE_CHECKPOINT_DIR"
    step=$(ls | sort -n | tail -n 1); step=${step:-0}
    echo "from $step"
    while [ $step -lt $1 ]; do
        step=$((step + 1))
        mkdir $step.tmp; echo $step > $step.tmp/state; mv $step.tmp $step
        [ $step -gt 3 ] && rm -r $((step - 3))
        say live $$ $me
        sleep 0.2
    done
    echo "done $step"
"""
)


async def training(person: Any, lives: Path, *, move: bool, steps: int = 10_000) -> Any:
    return await person.submit(
        TRAIN,
        str(steps),
        move=move,
        env={"LIVES": str(lives)},
        checkpoint=CheckpointSpec(interval=1_000),
    )


async def checkpointed(person: Any, task: Any, step: int = 3) -> Any:
    """Its run once a checkpoint of that step is committed."""
    found = await person.until(
        task, lambda t: t.checkpoint is not None and t.checkpoint.step >= step, "a checkpoint"
    )
    assert found.run.node
    return found.run


def runs_elsewhere_than(run: Any) -> Any:
    return lambda task: (
        task.state is TaskState.RUNNING and task.run.started_ms and task.run.token > run.token
    )


def _has_ended(person: Any, task: Any) -> bool:
    return not person.processes(task)


async def finish(person: Any, cluster: Any, tasks: list[Any], lives: Path) -> list[Any]:
    """Cancel what runs; nothing of it lives, and nothing ever lived twice at once."""
    for task in tasks:
        await person.client.cancel_task(str(task.name), "seen enough")
    ended = [await person.ended(task) for task in tasks]
    assert [task.state for task in ended] == [TaskState.CANCELLED] * len(tasks)
    await eventually(
        lambda: not any(person.processes(task) for task in tasks), 5, what="no process"
    )
    found, twice = read_lives(lives)
    assert twice == []
    assert overlaps(found) == []
    return ended


async def test_a_killed_node_loses_a_move_run_to_another_after_its_lease(
    person: Any, cluster: Any, lives: Path
) -> None:
    task = await training(person, lives, move=True)
    before = await checkpointed(person, task)
    cluster.kill(before.node)
    await eventually(lambda: not person.processes(task), 2, what="the death with its keeper")
    moved = await person.until(task, runs_elsewhere_than(before), "the run elsewhere")
    assert moved.run.node != before.node
    assert moved.run.resumed_step >= before.checkpoint.step
    printed = await person.until_printed(task, b"from ")
    assert printed.startswith(b"from %d\n" % moved.run.resumed_step)
    await finish(person, cluster, [task], lives)


async def test_a_frozen_link_stops_move_runs_at_the_deadline_and_no_stay_run(
    person: Any, cluster: Any, lives: Path
) -> None:
    stay = await training(person, lives, move=False)
    move = await training(person, lives, move=True)
    stay_run, move_run = await checkpointed(person, stay), await checkpointed(person, move)
    for node in cluster.description.agents:
        cluster.freeze(node)
    await eventually(lambda: not person.processes(move), AGENT_LEASE_S, what="the deadline kill")
    (pid,) = {life.pid for life in read_lives(lives)[0] if life.task == str(stay.name)}
    await let_pass(AGENT_LEASE_S, "the links are frozen for longer than a lease")
    assert pid in person.processes(stay), "a stay run is never stopped by silence"
    for node in cluster.description.agents:
        cluster.thaw(node)
    resumed = await person.until(move, runs_elsewhere_than(move_run), "the move run again")
    assert resumed.run.resumed_step >= move_run.checkpoint.step
    after = await person.running(stay)
    assert (after.token, after.placements) == (stay_run.token, 1)
    await finish(person, cluster, [stay, move], lives)


async def test_a_run_outlives_its_link_and_ends_once(
    person: Any, cluster: Any, lives: Path
) -> None:
    task = await training(person, lives, move=False, steps=15)
    run = await person.running(task)
    cluster.crash(run.node)
    await eventually(lambda: not person.processes(task), 20, what="its end without a link")
    cluster.start(run.node)
    ended = await person.ended(task)
    assert (ended.state, ended.attempts, len(ended.runs)) == (TaskState.SUCCEEDED, 1, 1)
    assert ended.run.placements == 1
    assert (await person.printed(ended)).splitlines() == [b"from 0", b"done 15"]
    assert len(read_lives(lives)[0]) == 1


async def test_a_killed_keeper_loses_its_runs_which_start_again_under_a_new_token(
    person: Any, cluster: Any, lives: Path
) -> None:
    task = await training(person, lives, move=False)
    before = await checkpointed(person, task)
    cluster.crash_keeper(before.node)
    await eventually(lambda: read_lives(lives)[0][0].pid not in person.processes(task), 5)
    after = await person.until(task, runs_elsewhere_than(before), "a new token")
    assert after.run.resumed_step >= before.checkpoint.step
    await finish(person, cluster, [task], lives)


async def test_a_cut_from_the_federation_stops_move_runs_only_and_they_resume_after_it(
    person: Any, cluster: Any, lives: Path
) -> None:
    stay = await training(person, lives, move=False)
    move = await training(person, lives, move=True)
    stay_run, move_run = await checkpointed(person, stay), await checkpointed(person, move)
    cluster.freeze("federation")
    await eventually(lambda: not person.processes(move), REGION_LEASE_S, what="the deadline kill")
    (pid,) = {life.pid for life in read_lives(lives)[0] if life.task == str(stay.name)}
    await let_pass(REGION_LEASE_S / 2, "the cut lasts longer than the lease of the region")
    assert not person.processes(move)
    assert pid in person.processes(stay)
    cluster.thaw("federation")
    resumed = await person.until(move, runs_elsewhere_than(move_run), "the move run again")
    assert resumed.run.resumed_step >= move_run.checkpoint.step
    assert (await person.running(stay)).token == stay_run.token
    ended = await finish(person, cluster, [stay, move], lives)
    assert ended[0].run.outcome is Outcome.CANCELLED


async def test_the_region_and_the_federation_may_be_killed_beside_a_run(
    person: Any, cluster: Any, lives: Path
) -> None:
    task = await training(person, lives, move=False, steps=40)
    run = await checkpointed(person, task)
    for name in ("region", "federation"):
        cluster.crash(name)
        cluster.start(name)
    ended = await person.ended(task)
    assert ended.state is TaskState.SUCCEEDED
    assert ended.run.token == run.token, "a short absence stops nothing"
    assert len(read_lives(lives)[0]) == 1
