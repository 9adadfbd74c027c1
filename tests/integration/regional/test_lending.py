"""What an operator lends and takes back, over the region's own server."""

import uuid
from typing import Any

import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration

from intertie.api.regional.v1 import lending_pb2
from intertie.api.regional.v1 import pool_service_pb2 as pb
from intertie.api.regional.v1.pool_service_pb2_grpc import PoolServiceStub
from intertie.errors import IntertieError, Reason
from intertie.model.agentlink import StopRun
from intertie.model.states import Outcome
from intertie.testing.waiting import eventually
from intertie.transport.failure import error_from_rpc

WITHIN_S = 10.0


def request_id(n: int = 1) -> str:
    return str(uuid.UUID(int=n))


def pool_of(place: Any, identity: str = "eu:operator/o1") -> Any:
    return PoolServiceStub(place.identity_channels(identity).get(place.address, place.server_name))


async def refused(call: Any) -> IntertieError:
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await call
    return error_from_rpc(failure.value)


def setting(n: int = 1, etag: str = "", **policy: Any) -> pb.SetLendingPolicyRequest:
    return pb.SetLendingPolicyRequest(
        policy=lending_pb2.Lending(**{"lends": True, "share_millis": 1_000, **policy}),
        etag=etag,
        reason="a test",
        request_id=request_id(n),
    )


def taking(n: int = 1, *, seconds: int = 60, **quantity: int) -> pb.CreateReclaimRequest:
    return pb.CreateReclaimRequest(
        quantity=lending_pb2.Quantity(**quantity),
        deadline=Duration(seconds=seconds),
        reason="our own training",
        request_id=request_id(n),
    )


async def test_a_region_lends_everything_until_its_owner_says_otherwise(place: Any) -> None:
    await place.start()
    pool = pool_of(place)
    found = await pool.GetLendingPolicy(pb.GetLendingPolicyRequest())
    assert (found.lends, found.share_millis, found.revision) == (True, 1_000, 0)
    changed = await pool.SetLendingPolicy(setting(share_millis=500, kinds=["training"]))
    assert (changed.share_millis, changed.revision) == (500, 1)
    assert await pool.GetLendingPolicy(pb.GetLendingPolicyRequest()) == changed


async def test_a_policy_is_replaced_once_for_a_repeated_request_and_not_over_anothers(
    place: Any,
) -> None:
    await place.start()
    pool = pool_of(place)
    first = await pool.SetLendingPolicy(setting(share_millis=500))
    assert await pool.SetLendingPolicy(setting(share_millis=500)) == first
    refusal = await refused(pool.SetLendingPolicy(setting(2, etag="0", share_millis=100)))
    assert refusal.reason is Reason.ETAG_MISMATCH


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (setting(share_millis=1_001), "policy.share"),
        (setting(kinds=["gaming"]), "policy.kinds"),
        (setting(floor=lending_pb2.Quantity(devices=-1)), "policy.floor.devices"),
        (setting(hours=[lending_pb2.Hours(days=[7])]), "policy.hours[0].days"),
        (setting(hours=[lending_pb2.Hours()]), "policy.hours[0].days"),
        (
            setting(caps=[lending_pb2.ProjectCap(project="!", most=lending_pb2.Quantity())]),
            "policy.caps[0].project",
        ),
        (setting(notice=Duration(seconds=-1)), "policy.notice"),
        (setting(etag="newest"), "etag"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_policy_that_cannot_be_meant_is_refused_by_its_field(
    place: Any, request_: pb.SetLendingPolicyRequest, field: str
) -> None:
    await place.start()
    refusal = await refused(pool_of(place).SetLendingPolicy(request_))
    assert [violation.field for violation in refusal.fields] == [field]


async def test_a_reclaim_sends_a_guest_away_and_says_when_it_has_gone(
    place: Any, spec: Any
) -> None:
    await place.start()
    agent = await place.agent()
    await place.attached()
    pool = pool_of(place)
    task = place.federation.assign("eu", spec).task
    await eventually(lambda: agent.runs, WITHIN_S, what="the start")
    cpu = agent.capability.cpu
    made = await pool.CreateReclaim(taking(cpu_millis=cpu))
    assert made.guests == 1
    again = await pool.CreateReclaim(taking(cpu_millis=cpu))
    assert again.name == made.name

    async def gone() -> bool:
        found = await pool.GetReclaim(pb.GetReclaimRequest(name=made.name))
        return bool(found.state == lending_pb2.RECLAIM_STATE_RECLAIMED)

    await eventually(gone, WITHIN_S, what="the guest to be gone")
    stops = [message for message in agent.heard if isinstance(message, StopRun)]
    assert {(stop.task, stop.outcome) for stop in stops} == {(task, Outcome.RECLAIMED)}
    listed = await pool.ListReclaims(pb.ListReclaimsRequest())
    assert [found.name for found in listed.reclaims] == [made.name]
    back = await pool.CancelReclaim(
        pb.CancelReclaimRequest(name=made.name, request_id=request_id(9))
    )
    assert back.state == lending_pb2.RECLAIM_STATE_RETURNED
    again = pb.CancelReclaimRequest(name=made.name, request_id=request_id(10))
    assert await pool.CancelReclaim(again) == back


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (taking(), "quantity"),
        (taking(devices=-1), "quantity.devices"),
        (taking(devices=1, seconds=0), "deadline"),
    ],
    ids=["nothing", "negative", "no time"],
)
async def test_a_reclaim_that_cannot_be_meant_is_refused_by_its_field(
    place: Any, request_: pb.CreateReclaimRequest, field: str
) -> None:
    await place.start()
    refusal = await refused(pool_of(place).CreateReclaim(request_))
    assert [violation.field for violation in refusal.fields] == [field]


async def test_a_reclaim_that_is_not_there_is_not_found(place: Any) -> None:
    await place.start()
    refusal = await refused(pool_of(place).GetReclaim(pb.GetReclaimRequest(name="reclaims/x")))
    assert refusal.reason is Reason.NOT_FOUND
