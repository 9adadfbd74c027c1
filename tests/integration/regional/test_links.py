"""Who may attach to a region, and what breaks a link."""

from dataclasses import replace
from typing import Any

import grpc.aio
import pytest

from intertie.api.agent.v1 import link_service_pb2 as pb
from intertie.api.agent.v1.link_service_pb2_grpc import AgentLinkServiceStub
from intertie.errors import IntertieError, Reason, error
from intertie.model.agentlink import AgentHello, Beat, UsageSample
from intertie.model.token import Epoch, Token
from intertie.telemetry.metrics import ALARMS
from intertie.testing.fakes.agent import SMALL
from intertie.testing.waiting import consistently, eventually
from intertie.transport.failure import error_from_rpc, told_why
from intertie.wire.agent import agent_message_to_pb

WITHIN_S = 10.0
HELLO = AgentHello(
    node="n1",
    incarnation="i1",
    boot_id="b1",
    site="",
    software="t",
    protocol_min=1,
    protocol_max=1,
    capability=SMALL,
)
TASK = "projects/vision/tasks/03-01890000-0000-7000-8000-000000000001"


async def _attach(place: Any, identity: str, *messages: Any) -> IntertieError:
    """Say these messages; how the region ends the stream."""
    channels = place.identity_channels(identity)
    stub = AgentLinkServiceStub(channels.get(place.address, place.server_name))
    call = told_why(stub.Attach())
    try:
        await call.write(pb.AttachRequest(messages=[agent_message_to_pb(m) for m in messages]))
        async for _ in call:
            pass
    except grpc.aio.AioRpcError as failure:
        return error_from_rpc(failure)
    return error(Reason.UNREACHABLE, "ended without an error")


async def test_a_second_agent_with_a_node_id_is_refused_while_the_first_lives(place: Any) -> None:
    application = await place.start()
    first = await place.agent("n1")
    second = place.make_agent("n1")
    second.incarnation = "another-process"
    second.start()
    await eventually(lambda: second.problem, WITHIN_S, what="the refusal")
    assert second.problem.reason is Reason.SESSION_TAKEN
    assert application.metrics.counter(ALARMS, "node_session_taken")._value.get() >= 1
    await consistently(lambda: first.is_attached and not second.is_attached, 0.3)
    await first.stop()
    await eventually(lambda: second.is_attached, WITHIN_S, what="the second takes over")


async def test_the_same_agent_attaching_again_replaces_its_earlier_stream(place: Any) -> None:
    application = await place.start()
    first = await place.agent("n1")
    again = place.make_agent("n1")
    again.start()
    await eventually(lambda: again.is_attached, WITHIN_S, what="the new stream")
    await first.stop()
    assert len(application.nodes) == 1


@pytest.mark.parametrize(
    ("identity", "hello", "reason"),
    [
        ("eu:node/n2", HELLO, Reason.PERMISSION_DENIED),
        ("us:node/n1", HELLO, Reason.PERMISSION_DENIED),
        ("eu:operator/o1", HELLO, Reason.PERMISSION_DENIED),
        ("project/vision/ann", HELLO, Reason.PERMISSION_DENIED),
        ("eu:node/n1", replace(HELLO, protocol_min=7, protocol_max=9), Reason.VERSION_UNSUPPORTED),
        ("eu:node/n1", replace(HELLO, site="FR/FR-75/par1"), Reason.RESIDENCY_VIOLATION),
        ("eu:node/n1", replace(HELLO, incarnation=""), Reason.INVALID_FIELD),
        ("eu:node/n1", Beat(seq=1), Reason.INVALID_FIELD),
    ],
)
async def test_who_may_not_attach_is_told_why(
    place: Any, identity: str, hello: Any, reason: Reason
) -> None:
    await place.start()
    assert (await _attach(place, identity, hello)).reason is reason


@pytest.mark.parametrize(
    "broken",
    [
        UsageSample(
            task=TASK,
            token=Token(Epoch(1, 1), 1),
            interval=1,
            start_ms=2_000,
            end_ms=1_000,
            boot_ms=5,
            cpu_used_ms=1,
            memory_peak=1,
        ),
        replace(HELLO),
    ],
)
async def test_a_message_that_breaks_the_form_ends_the_link_and_nothing_else(
    place: Any, broken: Any
) -> None:
    application = await place.start()
    problem = await _attach(place, "eu:node/n1", HELLO, broken)
    assert problem.reason is Reason.INVALID_FIELD
    assert application.publisher is not None
    await place.agent("n1")


async def test_a_region_dials_again_when_its_link_breaks(place: Any) -> None:
    await place.start()
    await place.attached()
    place.federation.cut("eu")
    await eventually(lambda: len(place.federation.hellos) >= 2, WITHIN_S, what="the second link")
    first, second = place.federation.hellos[:2]
    assert first.incarnation == second.incarnation


async def test_a_region_that_is_refused_keeps_asking_and_serves_its_nodes(place: Any) -> None:
    place.federation.refuses_links = error(
        Reason.SESSION_TAKEN, "Another process is attached as eu."
    )
    await place.start()
    agent = await place.agent()
    await consistently(lambda: not place.federation.hellos, 0.3)
    place.federation.refuses_links = None
    await place.attached()
    assert agent.is_attached


async def test_a_banned_node_is_cut_at_once(place: Any) -> None:
    application = await place.start()
    agent = await place.agent("n1")
    application.bans.ban(ids=[str(place.pki.spiffe_id("eu:node/n1"))])
    await eventually(lambda: not agent.is_attached, WITHIN_S, what="the cut")
    await eventually(lambda: agent.problem, WITHIN_S, what="the reason")
    assert agent.problem.reason is Reason.BANNED
