"""The metering log against a witness that is away, behind, ahead, or finds a fork."""

import json
import shutil
from typing import Any

import pytest

from intertie.api.metering.v1.metering_service_pb2 import AddLogCheckpointResponse
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.witness import SIZE_TYPE, TEXT_TYPE
from intertie.metering.records import parse_record
from intertie.telemetry.metrics import ALARMS
from intertie.testing.waiting import consistently, eventually

WITHIN_S = 10.0


async def _finish_one(place: Any, spec: Any, agent: Any) -> str:
    """One task from its assignment to its end at the federation."""
    await place.attached()
    task: str = place.federation.assign("eu", spec).task
    await eventually(lambda: any(t == task for t, _ in agent.runs), WITHIN_S, what="the start")
    agent.end(task)
    await eventually(
        lambda: task in place.federation.updates and place.federation.updates[task].outcome,
        WITHIN_S,
        what="the end",
    )
    return task


def _has_end(place: Any, task: str) -> bool:
    """Whether the end of a task is under a cosigned checkpoint."""
    entries = place.witness.mirror.get(place.origin, [])[: place.witness.size(place.origin)]
    id_ = task.rpartition("/")[2]
    return any(r["kind"] == "run_end" and r["task"] == id_ for r in map(json.loads, entries))


async def _ready(place: Any) -> tuple[Any, Any]:
    application = await place.start()
    agent = await place.agent()
    await place.attached()
    return application, agent


async def test_a_witness_at_another_size_gets_a_new_proof(place: Any, spec: Any) -> None:
    application, agent = await _ready(place)
    first = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, first), WITHIN_S, what="the first leaf")
    place.witness.faults.append(
        AddLogCheckpointResponse(status=409, content_type=SIZE_TYPE, body=b"0\n")
    )
    second = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, second), WITHIN_S, what="the second leaf")
    assert not application.publisher.is_forked


@pytest.mark.parametrize(
    "answer",
    [
        AddLogCheckpointResponse(status=409, content_type=TEXT_TYPE, body=b"no\n"),
        AddLogCheckpointResponse(status=422, content_type=TEXT_TYPE, body=b"bad proof\n"),
    ],
)
async def test_a_fork_stops_all_signing_and_raises_an_alarm(
    place: Any, spec: Any, answer: Any
) -> None:
    application, agent = await _ready(place)
    place.witness.faults.append(answer)
    task = await _finish_one(place, spec, agent)
    await eventually(lambda: application.publisher.is_forked, WITHIN_S, what="the alarm")
    assert application.metrics.counter(ALARMS, "log_fork")._value.get() == 1
    asked = place.witness.asked
    again = await _finish_one(place, spec, agent)
    await consistently(lambda: place.witness.asked == asked, 0.3)
    assert not _has_end(place, task)
    assert not _has_end(place, again)


async def test_usage_stays_pending_until_the_witness_was_asked(place: Any, spec: Any) -> None:
    place.witness.is_away = True
    application, agent = await _ready(place)
    task = await _finish_one(place, spec, agent)
    await eventually(lambda: not agent.runs, WITHIN_S, what="the agent may forget")
    pending = [row.key async for row in application._store.scan(0, "pending")]
    assert any(key.endswith("/run_end") for key in pending)
    assert [row async for row in application._store.scan(1, "leaves")] == []
    place.witness.is_away = False
    await eventually(lambda: _has_end(place, task), WITHIN_S, what="the leaf")
    assert [row async for row in application._store.scan(0, "pending")] == []


async def test_the_log_grows_while_the_federation_is_away(place: Any, spec: Any) -> None:
    application, agent = await _ready(place)
    first = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, first), WITHIN_S, what="the first leaf")
    place.witness.is_away = True
    second = await _finish_one(place, spec, agent)

    async def none_pending() -> bool:
        return [row async for row in application._store.scan(0, "pending")] == []

    await eventually(none_pending, WITHIN_S, what="sequenced")
    assert not _has_end(place, second)
    place.witness.is_away = False
    await eventually(lambda: _has_end(place, second), WITHIN_S, what="the second leaf")


async def test_a_log_key_that_nobody_believes_yet_is_no_fork(place: Any, spec: Any) -> None:
    application, agent = await _ready(place)
    place.witness.logs.clear()
    task = await _finish_one(place, spec, agent)
    await eventually(lambda: place.witness.asked > 1, WITHIN_S, what="asking again")
    assert not application.publisher.is_forked
    place.believe_log_key()
    await eventually(lambda: _has_end(place, task), WITHIN_S, what="the leaf")


async def test_a_region_restored_from_a_backup_fetches_its_log_back(place: Any, spec: Any) -> None:
    application, agent = await _ready(place)
    first = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, first), WITHIN_S, what="the first leaf")
    await application.stop()
    backup = place.path / "backup"
    shutil.copytree(place.state, backup)
    application = await place.start()
    second = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, second), WITHIN_S, what="the second leaf")
    await application.stop()
    before = list(place.witness.mirror[place.origin])
    shutil.rmtree(place.state)
    shutil.copytree(backup, place.state)
    application = await place.start()
    await eventually(
        lambda: application.publisher.cosigned_size == len(before), WITHIN_S, what="the recovery"
    )
    third = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, third), WITHIN_S, what="the third leaf")
    mirror = place.witness.mirror[place.origin]
    assert mirror[: len(before)] == before
    state = place.witness.states[place.origin]
    assert CompactRange().absorb(mirror[: state.size]).root() == state.root
    rids = [parse_record(entry)["rid"] for entry in mirror]
    assert len(rids) == len(set(rids))


async def test_a_mirror_that_does_not_hold_our_log_is_a_fork(place: Any, spec: Any) -> None:
    application, agent = await _ready(place)
    backup = place.path / "backup"
    await application.stop()
    shutil.copytree(place.state, backup)
    application = await place.start()
    task = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, task), WITHIN_S, what="the leaf")
    await application.stop()
    shutil.rmtree(place.state)
    shutil.copytree(backup, place.state)
    entries = place.witness.mirror[place.origin]
    entries[0] = entries[0].replace(b"1", b"2", 1)
    application = await place.start()
    await eventually(lambda: application.publisher.is_forked, WITHIN_S, what="the alarm")


async def test_a_witness_restored_from_a_backup_is_shown_its_own_signature(
    place: Any, spec: Any
) -> None:
    application, agent = await _ready(place)
    first = await _finish_one(place, spec, agent)
    await eventually(lambda: _has_end(place, first), WITHIN_S, what="the first leaf")
    size = place.witness.size(place.origin)
    await application.stop()
    place.witness.states.clear()
    place.witness.mirror.clear()
    await place.start()
    await eventually(
        lambda: place.witness.size(place.origin) == size, WITHIN_S, what="the witness remembers"
    )


async def test_an_idle_log_says_that_it_lives(place: Any) -> None:
    place.overrides["log.heartbeat"] = "1s"
    application, _ = await _ready(place)

    def heartbeats() -> int:
        entries = place.witness.mirror.get(place.origin, [])
        return sum(json.loads(entry)["kind"] == "heartbeat" for entry in entries)

    await eventually(lambda: heartbeats() >= 2, WITHIN_S, what="two heartbeats")
    assert application.publisher.cosigned_size >= 1


async def test_a_damaged_leaf_on_disk_is_found_before_signing(place: Any, spec: Any) -> None:
    application, agent = await _ready(place)
    place.witness.is_away = True
    log = application.publisher._log
    real = log.leaves

    async def damaged(start: int, end: int) -> Any:
        async for piece in real(start, end):
            yield [piece[0].replace(b"vision", b"audiox"), *piece[1:]]

    log.leaves = damaged
    place.witness.is_away = False
    task = await _finish_one(place, spec, agent)
    await consistently(lambda: not _has_end(place, task), 0.5)
    log.leaves = real
    await eventually(lambda: _has_end(place, task), WITHIN_S, what="signed from a good disk")
