"""Tasks as bad as they come: each ends as it should, and nothing of it is left."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from intertie.errors import IntertieError, Reason
from intertie.model.states import FailureClass, Outcome, RunState, TaskState
from intertie.testing.waiting import eventually

CHILDREN = 1_000
GIB = 1 << 30
MUCH = 128 << 20
"""Takes longer to stage than a state takes to be seen."""
KEPT = 16 << 20
"""Bytes of a log that an agent keeps, by default."""


async def test_a_missing_executable_is_the_users_error(person: Any) -> None:
    task = await person.submit("", command=("/no/such/program",))
    ended = await person.ended(task)
    assert (ended.state, ended.failure_class) == (TaskState.FAILED, FailureClass.USER)
    assert "does not exist" in ended.message
    assert ended.attempts == 1


async def test_a_file_that_is_no_program_is_the_users_error(person: Any, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x00\x01 this is no program\n" * 20)
    program.chmod(0o755)
    spec = person.spec("", command=("./program",))
    spec = replace(spec, run=replace(spec.run, workdir="."))
    ended = await person.ended(await person.create(spec, base=tmp_path))
    assert (ended.state, ended.failure_class) == (TaskState.FAILED, FailureClass.USER)
    assert "format" in ended.message


async def test_a_thousand_children_end_with_their_task(person: Any) -> None:
    script = f"""
        i=0
        while [ $i -lt {CHILDREN} ]; do sleep 1000 & i=$((i+1)); done
        echo forked; wait
    """
    task = await person.submit(script, large=True)
    await person.until_printed(task, b"forked")
    assert len(person.processes(task)) >= CHILDREN
    await person.client.cancel_task(str(task.name), "enough")
    ended = await person.ended(task)
    assert ended.state is TaskState.CANCELLED
    assert not person.processes(task)


async def test_a_task_that_ignores_term_is_killed(person: Any) -> None:
    script = "trap 'echo ignored' TERM; echo ready; while :; do sleep 0.1; done"
    task = await person.submit(script)
    await person.until_printed(task, b"ready")
    await person.client.cancel_task(str(task.name), "enough")
    ended = await person.ended(task)
    assert ended.state is TaskState.CANCELLED
    assert not person.processes(task)
    assert b"ignored" in await person.printed(task)


async def test_what_a_task_leaves_in_the_background_ends_with_it(person: Any) -> None:
    script = "setsid sh -c '(sleep 1000 & sleep 1000) & sleep 1000' > /dev/null 2>&1 & echo left"
    ended = await person.ended(await person.submit(script))
    assert ended.state is TaskState.SUCCEEDED
    assert not person.processes(ended)


async def test_a_full_disk_quota_fails_the_task_and_frees_the_disk(person: Any) -> None:
    script = "for part in 1 2 3; do head -c 40000000 /dev/zero > part$part; done; sleep 100"
    ended = await person.ended(await person.submit(script, attempts=1, large=True))
    assert (ended.state, ended.failure_class) == (TaskState.FAILED, FailureClass.IO)
    assert "disk quota" in ended.message


async def test_a_printed_gigabyte_is_kept_in_bounds_and_read_by_offset(person: Any) -> None:
    script = f"yes 0123456 | head -c {GIB}; echo the end"
    ended = await person.ended(await person.submit(script, large=True))
    assert ended.state is TaskState.SUCCEEDED
    assert sum(log.size for log in ended.run.logs) <= KEPT
    tail = await person.printed(ended, tail_bytes=64)
    assert tail.endswith(b"0123456\nthe end\n")
    whole = await person.printed(ended)
    assert len(whole) <= KEPT
    assert whole.startswith(b"0123456\n")
    end = GIB + len(b"the end\n")
    assert await person.printed(ended, offset=end - 8) == b"the end\n"


async def test_a_task_may_delete_its_work_directory(person: Any) -> None:
    script = 'rm -rf "$INTERTIE_WORK_DIR" "$INTERTIE_OUTPUT_DIR" "$INTERTIE_SCRATCH"; echo deleted'
    ended = await person.ended(await person.submit(script, outputs=("result",), attempts=1))
    assert ended.is_final
    assert b"deleted" in await person.printed(ended)
    assert [output async for output in person.client.list_outputs(str(ended.name))] == []


async def test_a_task_beyond_its_memory_is_told_so(person: Any) -> None:
    ended = await person.ended(await person.submit("head -c 400000000 /dev/zero | tail; echo $?"))
    assert (ended.state, ended.failure_class) == (TaskState.FAILED, FailureClass.OOM_HOST)
    assert "memory" in ended.message
    assert ended.attempts == 1


async def test_a_timeout_ends_a_task(person: Any) -> None:
    ended = await person.ended(await person.submit("sleep 1000", timeout=1_000))
    assert (ended.state, ended.failure_class) == (TaskState.FAILED, FailureClass.TIME_LIMIT)
    assert not person.processes(ended)


async def test_a_request_id_stands_for_one_payload(person: Any, ids: Any) -> None:
    request_id = ids.uuid7()
    first = await person.create(person.spec("echo once"), request_id=request_id)
    again = await person.create(person.spec("echo once"), request_id=request_id)
    assert again.name == first.name
    with pytest.raises(IntertieError) as refused:
        await person.create(person.spec("echo other"), request_id=request_id)
    assert refused.value.reason is Reason.REQUEST_ID_REUSED


async def test_a_task_that_never_started_has_no_logs_and_no_outputs(person: Any) -> None:
    spec = person.spec("echo never", outputs=("result",))
    huge = replace(spec, resources=replace(spec.resources, memory=1 << 40))
    task = await person.create(huge)
    assert [output async for output in person.client.list_outputs(str(task.name))] == []
    with pytest.raises(IntertieError) as refused:
        await person.printed(task)
    assert refused.value.reason is Reason.NOT_FOUND


# --- cancel in every state -----------------------------------------------------------------------


async def cancelled(person: Any, task: Any) -> Any:
    await person.client.cancel_task(str(task.name), "no longer needed")
    ended = await person.ended(task)
    assert ended.state is TaskState.CANCELLED
    assert ended.cancel_reason == "no longer needed"
    assert not person.processes(task)
    return ended


async def test_a_pending_task_is_cancelled_at_once(person: Any) -> None:
    spec = person.spec("echo never")
    task = await person.create(replace(spec, resources=replace(spec.resources, memory=1 << 40)))
    assert task.state is TaskState.PENDING
    assert (await cancelled(person, task)).run is None


async def test_a_task_is_cancelled_right_after_its_ack(person: Any) -> None:
    for _ in range(10):
        await cancelled(person, await person.submit("sleep 100"))


async def test_a_task_is_cancelled_when_queued_and_twice_when_running(person: Any) -> None:
    first = [await person.submit("sleep 100", large=True) for _ in range(2)]
    for task in first:
        await person.running(task)
    waiting = await person.submit("echo never", large=True)
    await person.until(waiting, lambda t: t.wait is not None or t.run is not None, "a wait")
    ended = await cancelled(person, waiting)
    assert ended.run is None or not ended.run.started_ms
    for task in first:
        await person.client.cancel_task(str(task.name), "no longer needed")
        await cancelled(person, task)


async def test_a_task_is_cancelled_while_its_files_are_staged(person: Any, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(MUCH)
    spec = person.spec("echo never")
    spec = replace(
        spec,
        run=replace(spec.run, workdir="."),
        resources=replace(spec.resources, disk=4 * MUCH),
    )
    task = await person.create(spec, base=tmp_path)
    await person.until(task, lambda t: t.run and t.run.state is RunState.STAGING, "staging")
    ended = await cancelled(person, task)
    assert not ended.run.started_ms


async def test_a_task_of_unknown_state_is_cancelled_once_its_region_is_heard(
    person: Any, cluster: Any
) -> None:
    task = await person.submit("sleep 1000")
    await person.running(task)
    cluster.crash("region")
    await person.until(task, lambda t: t.state is TaskState.UNKNOWN, "silence")
    asked = await person.client.cancel_task(str(task.name), "no longer needed")
    assert asked.state is TaskState.CANCELLING
    assert person.processes(task), "nobody has been told yet"
    cluster.start("region")
    ended = await person.ended(task)
    assert (ended.state, ended.cancel_reason) == (TaskState.CANCELLED, "no longer needed")
    assert not person.processes(task)


async def test_a_cancellation_repeats_but_does_not_undo_an_end(person: Any) -> None:
    slow = await person.submit("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    await person.until_printed(slow, b"ready")
    await person.client.cancel_task(str(slow.name), "no longer needed")
    await person.until(slow, lambda t: t.run.state is RunState.STOPPING or t.is_final, "a stop")
    ended = await cancelled(person, slow)
    assert ended.run.outcome is Outcome.CANCELLED
    again = await person.client.cancel_task(str(ended.name), "again")
    assert (again.state, again.cancel_reason) == (TaskState.CANCELLED, "no longer needed")
    done = await person.ended(await person.submit("true"))
    with pytest.raises(IntertieError, match="has ended already"):
        await person.client.cancel_task(str(done.name), "too late")


async def test_a_waiting_task_runs_once_there_is_room(person: Any) -> None:
    first = [await person.submit("sleep 100", large=True) for _ in range(2)]
    for task in first:
        await person.running(task)
    waiting = await person.submit("echo at last", large=True)
    await person.client.cancel_task(str(first[0].name), "make room")
    ended = await person.ended(waiting)
    assert ended.state is TaskState.SUCCEEDED
    await eventually(lambda: not person.processes(first[0]), 10, what="no process of the first")
