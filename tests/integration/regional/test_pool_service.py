"""PoolService as the region's operator uses it."""

import json
import uuid
from typing import Any

import grpc.aio
import pytest

from intertie.api.federation.v1 import states_pb2
from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.api.regional.v1.pool_service_pb2_grpc import PoolServiceStub
from intertie.errors import IntertieError, Reason
from intertie.model.spec import FileRef, RunSpec, TaskSpec
from intertie.model.states import Outcome
from intertie.testing.waiting import eventually
from intertie.transport.failure import error_from_rpc
from intertie.wire.tasks import spec_to_pb

WITHIN_S = 10.0


def _request_id(n: int = 1) -> str:
    return str(uuid.UUID(int=n))


def _pool(place: Any, identity: str = "eu:operator/o1") -> PoolServiceStub:
    channels = place.identity_channels(identity)
    return PoolServiceStub(channels.get(place.address, place.server_name))


async def _refused(call: Any) -> IntertieError:
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await call
    return error_from_rpc(failure.value)


def _native(spec: TaskSpec, n: int = 1) -> pb.CreateNativeTaskRequest:
    return pb.CreateNativeTaskRequest(spec=spec_to_pb(spec), request_id=_request_id(n))


@pytest.mark.parametrize(
    "identity",
    ["eu:node/n1", "us:operator/o1", "admin/root", "project/vision/ann", "billing/b1"],
)
async def test_only_the_operator_of_the_region_may_see_the_pool(place: Any, identity: str) -> None:
    await place.start()
    refusal = await _refused(_pool(place, identity).ListNodes(pb.ListNodesRequest()))
    assert refusal.reason is Reason.PERMISSION_DENIED


async def test_nodes_are_listed_page_by_page_with_what_is_free(place: Any, spec: Any) -> None:
    await place.start()
    for node in ("n1", "n2", "n3"):
        await place.agent(node)
    await place.attached()
    pool = _pool(place)
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: place.federation.ack(task), WITHIN_S, what="the answer")
    first = await pool.ListNodes(pb.ListNodesRequest(page_size=2))
    assert [node.name for node in first.nodes] == ["nodes/n1", "nodes/n2"]
    rest = await pool.ListNodes(pb.ListNodesRequest(page_size=2, page_token=first.next_page_token))
    assert [node.name for node in rest.nodes] == ["nodes/n3"]
    assert rest.next_page_token == ""
    busy = await pool.GetNode(pb.GetNodeRequest(name="nodes/n1"))
    assert (busy.runs, busy.free_cpu_millis) == (1, 3_000)
    assert busy.reachability == states_pb2.REACHABILITY_REACHABLE
    missing = await _refused(pool.GetNode(pb.GetNodeRequest(name="nodes/n9")))
    assert missing.reason is Reason.NOT_FOUND


async def test_an_altered_page_token_is_refused(place: Any) -> None:
    await place.start()
    for node in ("n1", "n2"):
        await place.agent(node)
    pool = _pool(place)
    token = (await pool.ListNodes(pb.ListNodesRequest(page_size=1))).next_page_token
    altered = token[:-2] + ("AA" if token[-2:] != "AA" else "BB")
    refusal = await _refused(pool.ListNodes(pb.ListNodesRequest(page_token=altered)))
    assert refusal.reason is Reason.TOKEN_INVALID
    other = await _refused(pool.ListRuns(pb.ListRunsRequest(page_token=token)))
    assert other.reason is Reason.TOKEN_INVALID


async def test_a_native_task_runs_once_however_often_it_is_asked_for(place: Any, spec: Any) -> None:
    await place.start()
    agent = await place.agent()
    pool = _pool(place)
    made = await pool.CreateNativeTask(_native(spec))
    again = await pool.CreateNativeTask(_native(spec))
    assert made.task == again.task
    assert made.native
    other = TaskSpec(run=RunSpec(command=("false",)))
    reused = await _refused(pool.CreateNativeTask(_native(other)))
    assert reused.reason is Reason.REQUEST_ID_REUSED
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    agent.end(made.task)
    await eventually(lambda: not agent.runs, WITHIN_S, what="the end")
    (run,) = (await pool.ListRuns(pb.ListRunsRequest())).runs
    assert run.outcome == states_pb2.OUTCOME_SUCCEEDED
    assert run.exit_code == 0
    assert (await pool.ListRuns(pb.ListRunsRequest(live_only=True))).runs == []
    replay = await pool.CreateNativeTask(_native(spec))
    assert replay.outcome == states_pb2.OUTCOME_SUCCEEDED


async def test_a_native_task_without_its_files_is_refused(place: Any) -> None:
    await place.start()
    spec = TaskSpec(
        run=RunSpec(command=("x",), files=(FileRef(path="a.py", sha256="ab" * 32, size=3),))
    )
    refusal = await _refused(_pool(place).CreateNativeTask(_native(spec)))
    assert refusal.reason is Reason.INVALID_FIELD
    assert refusal.fields[0].field == "spec.run.files[0].sha256"


async def test_runs_are_listed_newest_first_over_live_and_closed_ones(
    place: Any, spec: Any
) -> None:
    await place.start()
    agent = await place.agent()
    await place.attached()
    tasks = [place.federation.assign("eu", spec).task for _ in range(3)]
    await eventually(lambda: len(agent.runs) == 3, WITHIN_S, what="three starts")
    agent.end(tasks[1])
    await eventually(lambda: len(agent.runs) == 2, WITHIN_S, what="one end")
    pool = _pool(place)

    async def listed() -> list[str]:
        names: list[str] = []
        token = ""
        while True:
            request = pb.ListRunsRequest(page_size=1, page_token=token)
            page = await pool.ListRuns(request)
            names += [run.task for run in page.runs]
            token = page.next_page_token
            if not token:
                return names

    assert await listed() == list(reversed(tasks))


async def test_an_evicted_guest_ends_evicted(place: Any, spec: Any) -> None:
    await place.start()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    request = pb.EvictRunRequest(task=task, reason="maintenance", request_id=_request_id())
    run = await _pool(place).EvictRun(request)
    assert run.state in (states_pb2.RUN_STATE_STOPPING, states_pb2.RUN_STATE_ENDED)
    await eventually(
        lambda: place.federation.updates[task].outcome is Outcome.EVICTED, WITHIN_S, what="the end"
    )
    missing = pb.EvictRunRequest(task=task, reason="again", request_id=_request_id(2))
    assert (await _refused(_pool(place).EvictRun(missing))).reason is Reason.NOT_FOUND


@pytest.mark.parametrize(
    "request_",
    [
        pb.EvictRunRequest(task="nonsense", reason="x", request_id=_request_id()),
        pb.EvictRunRequest(task="", reason="x", request_id=_request_id()),
        pb.EvictRunRequest(reason="x", request_id="no-uuid"),
        pb.EvictRunRequest(reason="", request_id=_request_id()),
    ],
)
async def test_a_bad_request_names_its_field(place: Any, request_: Any) -> None:
    await place.start()
    refusal = await _refused(_pool(place).EvictRun(request_))
    assert refusal.reason is Reason.INVALID_FIELD
    assert refusal.fields


async def test_usage_is_corrected_by_new_records(place: Any, spec: Any) -> None:
    await place.start()
    agent = await place.agent()
    await place.attached()
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    agent.end(task)

    def records(kind: str) -> list[dict[str, Any]]:
        parsed = [json.loads(e) for e in place.witness.mirror.get(place.origin, [])]
        return [record for record in parsed if record["kind"] == kind]

    await eventually(lambda: records("run_end"), WITHIN_S, what="the log")
    usage = records("usage")[0]
    pool = _pool(place)
    rids = []
    for n in (1, 2):
        request = pb.CreateAdjustmentRequest(
            seq=usage["seq"], quantity=-10 * n, reason="agreed", request_id=_request_id(n)
        )
        rids.append((await pool.CreateAdjustment(request)).rid)
        assert (await pool.CreateAdjustment(request)).rid == rids[-1]
    assert rids == [f"{usage['rid']}/adj/1", f"{usage['rid']}/adj/2"]
    await eventually(lambda: len(records("adjustment")) == 2, WITHIN_S, what="both in the log")
    for quantity in (-usage["quantity"], 10**15):  # the run is closed by now, or soon
        wrong = pb.CreateAdjustmentRequest(
            seq=usage["seq"], quantity=quantity, reason="x", request_id=_request_id(7)
        )
        refused = await _refused(pool.CreateAdjustment(wrong))
        assert refused.reason is Reason.INVALID_FIELD
        assert "quantity" in str(refused)
    beyond = pb.CreateAdjustmentRequest(
        seq=10**6, quantity=1, reason="x", request_id=_request_id(8)
    )
    assert (await _refused(pool.CreateAdjustment(beyond))).reason is Reason.NOT_FOUND
    end = pb.CreateAdjustmentRequest(
        seq=records("run_end")[0]["seq"], quantity=1, reason="x", request_id=_request_id(9)
    )
    assert (await _refused(pool.CreateAdjustment(end))).reason is Reason.INVALID_FIELD
