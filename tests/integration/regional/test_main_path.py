"""From an assignment to a cosigned record, over real links."""

import json
from typing import Any

from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.note import Note
from intertie.model.states import Outcome, RunState
from intertie.testing.waiting import eventually

WITHIN_S = 10.0


def _records(place: Any) -> list[dict[str, Any]]:
    entries = place.witness.mirror.get(place.origin, [])
    return [json.loads(entry) for entry in entries[: place.witness.size(place.origin)]]


async def test_an_assignment_runs_to_its_end_with_cosigned_complete_usage(
    place: Any, spec: Any
) -> None:
    application = await place.start()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the ack")
    assert place.federation.ack(task).accepted
    await eventually(
        lambda: task in place.federation.updates
        and place.federation.updates[task].state is RunState.RUNNING,
        WITHIN_S,
        what="RUNNING",
    )
    agent.end(task, exit_code=0)
    await eventually(
        lambda: place.federation.updates[task].outcome is Outcome.SUCCEEDED, WITHIN_S, what="end"
    )
    await eventually(lambda: not agent.runs, WITHIN_S, what="the agent may forget the run")
    await eventually(
        lambda: any(r["kind"] == "run_end" for r in _records(place)), WITHIN_S, what="a leaf"
    )
    records = _records(place)
    assert [r["seq"] for r in records] == list(range(len(records)))
    (end,) = [r for r in records if r["kind"] == "run_end"]
    assert end["complete"] is True
    assert {r["kind"] for r in records} == {"usage", "placement", "run_end"}
    assert all(r["grant_sha256"] for r in records)
    await eventually(
        lambda: application.publisher.cosigned_size == len(records), WITHIN_S, what="cosigned"
    )
    head = Checkpoint.parse(Note.parse(place.witness.states[place.origin].signed).text)
    assert head.size == len(records)
