"""A scripted region over a real link: runs, ends, breaks, repairs, and what it may not say."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import grpc.aio
import pytest

from federation.app import Application
from intertie.api.federation.v1 import region_service_pb2, states_pb2
from intertie.api.federation.v1 import task_service_pb2 as pb
from intertie.api.federation.v1.region_service_pb2_grpc import RegionServiceStub
from intertie.errors import IntertieError, Reason
from intertie.model.link import Assign, CancelRun, LeaseGrant, RegionHello, RunClosed, RunUpdate
from intertie.model.spec import Residency, Tolerance
from intertie.model.states import FailureClass, OnDisconnect, Outcome, RunState
from intertie.model.token import Epoch, Token
from intertie.testing.fake_region import FakeRegion
from intertie.testing.waiting import eventually
from intertie.transport.failure import error_from_rpc

Create = Callable[..., pb.CreateTaskRequest]
Refusal = Callable[[Any], Awaitable[IntertieError]]
WITHIN_S = 10.0
STRANGER = "projects/demo/tasks/01-00000000-0000-7000-8000-000000000000"


async def reaches(tasks: Any, name: str, state: str) -> Any:
    """Wait until a task is in a state."""
    number = states_pb2.TaskState.Value(f"TASK_STATE_{state}")

    async def there() -> Any:
        task = await tasks.GetTask(pb.GetTaskRequest(name=name))
        return task if task.state == number else None

    return await eventually(there, WITHIN_S, what=f"{name} in {state}")


async def test_a_task_runs_at_a_region_and_its_end_is_closed(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    run = await eu.run_of(made.name)
    assert run.spec.run.command == ("true",)
    running = await reaches(tasks, made.name, "RUNNING")
    assert running.region == "eu"
    assert running.runs[0].grant_sha256 == run.grant_sha256
    await eu.end(made.name)
    done = await reaches(tasks, made.name, "SUCCEEDED")
    assert done.exit_code == 0
    await eventually(lambda: made.name in eu.closed, WITHIN_S)


async def test_a_lease_is_granted_as_configured(eu: FakeRegion) -> None:
    granted = await eventually(lambda: eu.heard_of(LeaseGrant), WITHIN_S)
    assert granted == [LeaseGrant(seq=1, lease_ms=3_000)]


async def test_many_tasks_that_are_assigned_together_have_one_signature(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    items = [
        pb.BatchCreateTasksItem(spec=create(i).spec, request_id=create(i).request_id)
        for i in range(50)
    ]
    made = await tasks.BatchCreateTasks(
        pb.BatchCreateTasksRequest(parent="projects/demo", requests=items)
    )
    for result in made.results:
        await eu.run_of(result.task)
    envelopes = {m.envelope for m in eu.heard_of(Assign) if isinstance(m, Assign)}
    assert len(envelopes) <= 2
    assert len({run.grant_sha256 for run in eu.runs.values()}) == 50


async def test_a_running_task_is_cancelled_by_its_region(
    tasks: Any, eu: FakeRegion, create: Create, request_id: Any
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    answer = await tasks.CancelTask(
        pb.CancelTaskRequest(name=made.name, reason="enough", request_id=request_id(99))
    )
    assert answer.state == states_pb2.TASK_STATE_CANCELLING
    done = await reaches(tasks, made.name, "CANCELLED")
    assert done.cancel_reason == "enough"


async def test_an_assignment_that_was_lost_is_repaired_after_the_link_broke(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    eu.silent = {Assign}
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "ASSIGNED")
    await eu.detach()
    eu.silent = set()
    await eu.attach()
    run = await eu.run_of(made.name)
    assert run.token.epoch == Epoch(1, 1)
    await reaches(tasks, made.name, "RUNNING")


async def test_an_end_that_was_told_to_nobody_is_found_by_the_digest(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    await eu.detach()
    await eu.end(made.name)
    await eu.attach()
    await reaches(tasks, made.name, "SUCCEEDED")


async def test_a_region_that_forgot_a_run_frees_nothing_by_it(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    await eu.detach()
    eu.runs.clear()
    await eu.attach()
    await reaches(tasks, made.name, "UNKNOWN")
    events = await tasks.ListTaskEvents(pb.ListTaskEventsRequest(parent=made.name))
    assert "MISSING" in [event.reason for event in events.events]


async def test_a_task_that_may_move_runs_elsewhere_after_the_lease_and_never_twice(
    place: Any, tasks: Any, replica: Application, eu: FakeRegion, create: Create
) -> None:
    us = place.region(replica.address, "us", jurisdiction="US/US-VA/iad1")
    tolerance = Tolerance(on_disconnect=OnDisconnect.MOVE, move_after=100)
    made = await tasks.CreateTask(create(tolerance=tolerance))
    await reaches(tasks, made.name, "RUNNING")
    await eu.run_of(made.name)
    await eu.detach()
    await us.attach()
    unknown = await reaches(tasks, made.name, "UNKNOWN")
    assert unknown.wait.next_time.seconds > 0
    await us.run_of(made.name, 2)
    await reaches(tasks, made.name, "RUNNING")
    await eu.attach()
    await eventually(lambda: eu.heard_of(CancelRun), WITHIN_S)
    (stop,) = eu.heard_of(CancelRun)
    assert isinstance(stop, CancelRun)
    assert stop.superseded
    await eventually(lambda: made.name in eu.closed, WITHIN_S)
    task = await tasks.GetTask(pb.GetTaskRequest(name=made.name))
    assert (task.region, len(task.runs)) == ("us", 2)


async def test_a_refusal_for_residency_is_remembered(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    eu.refusal = "RESIDENCY_VIOLATION"
    made = await tasks.CreateTask(create())

    async def refused() -> bool:
        task = await tasks.GetTask(pb.GetTaskRequest(name=made.name))
        return list(task.excluded) == ["eu"]

    await eventually(refused, WITHIN_S)
    assert len(eu.heard_of(Assign)) == 1


async def test_a_plan_shows_every_region_with_its_checks(
    place: Any, tasks: Any, replica: Application, eu: FakeRegion, create: Create
) -> None:
    us = place.region(replica.address, "us", jurisdiction="US/US-VA/iad1")
    await us.attach()
    spec = create(residency=Residency(within=("DE",))).spec
    request = pb.PlanTaskRequest(parent="projects/demo", spec=spec)

    async def both() -> Any:
        plan = await tasks.PlanTask(request)
        known = {v.region: v for v in plan.verdicts}
        return plan if len(known) == 2 and known["eu"].feasible else None

    plan = await eventually(both, WITHIN_S)
    assert plan.chosen == "eu"
    (us_verdict,) = [v for v in plan.verdicts if v.region == "us"]
    failed = [check.name for check in us_verdict.checks if not check.holds]
    assert failed == ["residency"]


async def test_explain_says_why_a_task_waits(tasks: Any, create: Create) -> None:
    made = await tasks.CreateTask(create())

    async def told() -> Any:
        plan = await tasks.ExplainTask(pb.ExplainTaskRequest(name=made.name))
        return plan if plan.wait.detail else None

    plan = await eventually(told, WITHIN_S)
    assert plan.remedy == "No region has joined the federation."


# --- files ----------------------------------------------------------------------------------------


async def test_logs_are_relayed_from_the_region_as_the_task_wrote_them(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    eu.logs[made.name, "stdout"] = bytes(range(256)) * 1_000
    request = pb.ReadTaskLogsRequest(name=made.name)
    chunks = [chunk async for chunk in tasks.ReadTaskLogs(request)]
    assert b"".join(chunk.data for chunk in chunks) == eu.logs[made.name, "stdout"]
    assert [chunk.offset for chunk in chunks] == [0, 65_536, 131_072, 196_608]


async def test_the_tail_of_a_live_log_begins_that_many_bytes_before_its_end(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    eu.logs[made.name, "stdout"] = b"x" * 200_000 + b"the end"
    request = pb.ReadTaskLogsRequest(name=made.name, tail_bytes=7)
    chunks = [chunk async for chunk in tasks.ReadTaskLogs(request)]
    assert [(chunk.offset, chunk.data) for chunk in chunks] == [(200_000, b"the end")]


async def test_the_tail_of_an_ended_log_is_found_by_who_keeps_it(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    eu.logs[made.name, "stdout"] = b"x" * 100_000 + b"the end"
    await eu.end(made.name)
    await reaches(tasks, made.name, "SUCCEEDED")
    for tail, begin in ((7, 100_000), (1 << 40, 0)):
        request = pb.ReadTaskLogsRequest(name=made.name, tail_bytes=tail)
        chunks = [chunk async for chunk in tasks.ReadTaskLogs(request)]
        assert chunks[0].offset == begin
        assert chunks[-1].data.endswith(b"the end")


async def test_followed_logs_end_when_the_run_has_ended(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    eu.logs[made.name, "stdout"] = b"one\n"
    stream = aiter(tasks.ReadTaskLogs(pb.ReadTaskLogsRequest(name=made.name, follow=True)))
    assert (await anext(stream)).data == b"one\n"
    eu.logs[made.name, "stdout"] = b"one\ntwo\n"
    await eu.end(made.name)
    assert b"".join([chunk.data async for chunk in stream]) == b"two\n"


async def test_a_follower_of_a_task_that_waits_gets_the_log_of_its_first_run(
    place: Any, replica: Application, tasks: Any, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    stream = aiter(tasks.ReadTaskLogs(pb.ReadTaskLogsRequest(name=made.name, follow=True)))
    eu = place.region(replica.address, logs={(made.name, "stdout"): b"hello"})
    await eu.attach()
    assert (await anext(stream)).data == b"hello"


async def test_outputs_are_listed_and_read_from_an_offset(
    tasks: Any, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    await eu.end(made.name, outputs={"b.txt": b"bb", "a.txt": b"0123456789"})
    await reaches(tasks, made.name, "SUCCEEDED")
    listed = await tasks.ListTaskOutputs(pb.ListTaskOutputsRequest(parent=made.name, page_size=1))
    assert [output.path for output in listed.outputs] == ["a.txt"]
    rest = await tasks.ListTaskOutputs(
        pb.ListTaskOutputsRequest(parent=made.name, page_size=1, page_token=listed.next_page_token)
    )
    assert [output.path for output in rest.outputs] == ["b.txt"]
    request = pb.ReadTaskOutputRequest(name=made.name, path="a.txt", offset=4)
    assert b"".join([c.data async for c in tasks.ReadTaskOutput(request)]) == b"456789"


async def test_logs_of_a_task_that_never_started_are_not_found(
    tasks: Any, create: Create, refusal: Refusal
) -> None:
    made = await tasks.CreateTask(create())
    refused = await refusal(tasks.ReadTaskLogs(pb.ReadTaskLogsRequest(name=made.name)))
    assert refused.reason is Reason.NOT_FOUND
    empty = await tasks.ListTaskOutputs(pb.ListTaskOutputsRequest(parent=made.name))
    assert not empty.outputs


async def test_reading_from_a_region_that_is_away_says_so(
    tasks: Any, eu: FakeRegion, create: Create, refusal: Refusal
) -> None:
    made = await tasks.CreateTask(create())
    await reaches(tasks, made.name, "RUNNING")
    await eu.detach()
    refused = await refusal(tasks.ReadTaskLogs(pb.ReadTaskLogsRequest(name=made.name)))
    assert refused.reason is Reason.REGION_OUT_OF_TOUCH


# --- what a region may not do ---------------------------------------------------------------------


async def attach_refused(region: FakeRegion) -> IntertieError:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await region.attach()
    return error_from_rpc(refused.value)


async def test_a_region_is_who_its_certificate_says(place: Any, replica: Application) -> None:
    liar = place.region(replica.address, "us")
    liar.region = "eu"
    assert (await attach_refused(liar)).reason is Reason.PERMISSION_DENIED


async def test_a_region_that_moved_is_refused_with_both_places(
    place: Any, replica: Application, eu: FakeRegion
) -> None:
    await eu.detach()
    moved = place.region(replica.address, jurisdiction="US/US-VA/iad1", incarnation=eu.incarnation)
    refused = await attach_refused(moved)
    assert refused.reason is Reason.PERMISSION_DENIED
    assert refused.metadata["jurisdiction"] == "US/US-VA/iad1"
    assert refused.metadata["joined_in"] in refused.remedy
    await eu.attach()


async def test_a_project_with_the_name_of_a_region_may_not_submit(
    place: Any, replica: Application, eu: FakeRegion, create: Create, refusal: Any
) -> None:
    namesake = place.tasks(replica.address, "project/eu/ann")
    refused = await refusal(namesake.CreateTask(create(parent="projects/eu")))
    assert refused.reason is Reason.PERMISSION_DENIED


async def test_a_region_of_another_protocol_is_refused_by_name(
    place: Any, replica: Application
) -> None:
    old = place.region(replica.address, protocol=(7, 9))
    assert (await attach_refused(old)).reason is Reason.VERSION_UNSUPPORTED


async def test_a_second_process_of_a_region_is_refused_while_the_first_is_attached(
    place: Any, replica: Application, eu: FakeRegion
) -> None:
    twin = place.region(replica.address, incarnation="life-2")
    assert (await attach_refused(twin)).reason is Reason.SESSION_TAKEN
    await eu.detach()

    async def admitted() -> bool:
        try:
            await twin.attach()
        except grpc.aio.AioRpcError:  # the federation has not noticed the end yet
            return False
        return True

    await eventually(admitted, WITHIN_S)


async def test_a_new_stream_of_the_same_process_takes_over(
    place: Any, replica: Application, eu: FakeRegion
) -> None:
    again = place.region(replica.address)
    await again.attach()
    failure = await eu.ended()
    assert failure is not None
    assert error_from_rpc(failure).reason is Reason.SESSION_TAKEN


@pytest.mark.parametrize(
    "message",
    [
        RunUpdate(task=STRANGER, token=Token(Epoch(1, 1), 1), revision=1, state=RunState.ENDED),
        RunUpdate(task="nonsense", token=Token(Epoch(1, 1), 1), revision=1, state=RunState.RUNNING),
        RunUpdate(task=STRANGER, token=Token(Epoch(0, 0), 0), revision=1, state=RunState.RUNNING),
        RegionHello(
            region="eu",
            incarnation="life-1",
            jurisdiction="DE",
            software="x",
            protocol_min=1,
            protocol_max=1,
        ),
    ],
    ids=["an-end-without-outcome", "no-name", "no-token", "a-second-hello"],
)
async def test_a_region_that_breaks_the_protocol_loses_its_link(
    eu: FakeRegion, message: Any
) -> None:
    await eu.send(message)
    failure = await eu.ended()
    assert failure is not None
    assert error_from_rpc(failure).reason is Reason.INVALID_FIELD


async def test_a_banned_region_is_cut_from_its_open_link(
    replica: Application, eu: FakeRegion
) -> None:
    replica.bans.ban(ids=["spiffe://eu.intertie.example/scheduler"])
    failure = await eu.ended()
    assert failure is not None
    assert error_from_rpc(failure).reason is Reason.BANNED


async def test_updates_of_another_regions_run_change_nothing(
    place: Any, tasks: Any, replica: Application, eu: FakeRegion, create: Create
) -> None:
    made = await tasks.CreateTask(create())
    run = await eu.run_of(made.name)
    us = place.region(replica.address, "us", jurisdiction="US/US-VA/iad1")
    await us.attach()
    us.runs[made.name] = replace(run, state=RunState.RUNNING)
    await us.end(made.name, Outcome.FAILED, failure=FailureClass.USER)
    await eventually(lambda: us.heard_of(RunClosed), WITHIN_S)
    task = await tasks.GetTask(pb.GetTaskRequest(name=made.name))
    assert (task.region, len(task.runs)) == ("eu", 1)


async def test_regions_are_listed_with_what_is_seen_of_them(
    place: Any, replica: Application, eu: FakeRegion
) -> None:
    stub: Any = RegionServiceStub(place.channel(replica.address, "admin/ann"))

    async def seen() -> Any:
        region = await stub.GetRegion(region_service_pb2.GetRegionRequest(name="regions/eu"))
        return region if region.summary.classes else None

    region = await eventually(seen, WITHIN_S)
    assert region.reachability == states_pb2.REACHABILITY_REACHABLE
    assert region.state == states_pb2.REGION_STATE_ACTIVE
    await eu.detach()

    async def lost() -> bool:
        listed = await stub.ListRegions(region_service_pb2.ListRegionsRequest())
        return bool(listed.regions[0].reachability == states_pb2.REACHABILITY_OUT_OF_TOUCH)

    await eventually(lost, WITHIN_S)
