"""kill -9 of a real scheduler process at any point: nothing that was acknowledged is lost."""

import json
import random
from typing import Any

from intertie.metering.log.merkle import CompactRange
from intertie.model.states import Outcome, RunState
from intertie.testing.waiting import eventually, let_pass

WITHIN_S = 30.0


def _records(place: Any) -> list[dict[str, Any]]:
    size = place.witness.size(place.origin)
    return [json.loads(entry) for entry in place.witness.mirror.get(place.origin, [])[:size]]


def _ends(place: Any) -> dict[str, dict[str, Any]]:
    ends = [r for r in _records(place) if r["kind"] == "run_end"]
    by_task = {r["task"]: r for r in ends}
    assert len(by_task) == len(ends), "one end per task"
    return by_task


async def _restart(place: Any, started: Any) -> Any:
    await started.kill()
    return await place.spawn()


async def test_an_acknowledged_assignment_survives(place: Any, spec: Any) -> None:
    started = await place.spawn()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    await _restart(place, started)
    agent = await place.agent()
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    assert agent.run_of(task).order.token.sub == 1


async def test_a_running_task_is_adopted_and_ends_once(place: Any, spec: Any) -> None:
    started = await place.spawn()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(
        lambda: task in place.federation.updates
        and place.federation.updates[task].state is RunState.RUNNING,
        WITHIN_S,
        what="RUNNING",
    )
    agent.sample(task)
    await eventually(lambda: not agent.run_of(task).unacked, WITHIN_S, what="the sample is kept")
    await started.kill()
    agent.end(task)
    await place.spawn()
    await eventually(
        lambda: place.federation.updates[task].outcome is Outcome.SUCCEEDED, WITHIN_S, what="end"
    )
    await eventually(lambda: _ends(place), WITHIN_S, what="the record")
    (end,) = _ends(place).values()
    assert end["complete"] is True
    intervals = {r["rid"].split("/")[3] for r in _records(place) if r["kind"] == "usage"}
    assert intervals == {"1", "2"}


async def test_usage_that_waits_for_the_log_survives(place: Any, spec: Any) -> None:
    place.witness.is_away = True
    started = await place.spawn()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    agent.end(task)
    await eventually(lambda: not agent.runs, WITHIN_S, what="the agent may forget")
    await started.kill()
    place.witness.is_away = False
    await place.spawn()
    await eventually(lambda: _ends(place), WITHIN_S, what="the record")


async def test_many_tasks_through_many_kills_end_once_with_complete_usage(
    place: Any, spec: Any
) -> None:
    rng = random.Random(7)
    started = await place.spawn()
    agents = [await place.agent(node) for node in ("n1", "n2")]
    await place.attached()
    tasks = [place.federation.assign("eu", spec).task for _ in range(40)]
    await eventually(
        lambda: all(place.federation.ack(t) for t in tasks), WITHIN_S, what="all answers"
    )
    finished: set[str] = set()

    def end_some() -> bool:
        for agent in agents:
            for (task, _), held in list(agent.runs.items()):
                if held.state is RunState.RUNNING and rng.random() < 0.5:
                    agent.end(task)
                    finished.add(task)
        return len(finished) == len(tasks)

    for _ in range(3):
        end_some()
        await let_pass(rng.random() * 0.3, "the scheduler works until it is killed")
        started = await _restart(place, started)
    await eventually(end_some, WITHIN_S, 0.05, what="all have ended on their nodes")
    await eventually(
        lambda: all(place.federation.updates[t].outcome for t in tasks), WITHIN_S, what="all told"
    )
    assert {place.federation.updates[t].outcome for t in tasks} == {Outcome.SUCCEEDED}
    assert {place.federation.updates[t].token.sub for t in tasks} == {1}
    await eventually(lambda: len(_ends(place)) == len(tasks), WITHIN_S, what="all in the log")
    assert all(end["complete"] for end in _ends(place).values())
    records = _records(place)
    assert [r["seq"] for r in records] == list(range(len(records)))
    assert len({r["rid"] for r in records}) == len(records)
    state = place.witness.states[place.origin]
    mirror = place.witness.mirror[place.origin]
    assert CompactRange().absorb(mirror[: state.size]).root() == state.root


async def test_a_scheduler_that_is_asked_to_stop_ends_with_success(place: Any) -> None:
    started = await place.spawn()
    started.process.terminate()
    assert await started.process.wait() == 0
