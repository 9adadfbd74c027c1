"""What a region may not bring about: more than it was asked, or the end of the core."""

from typing import Any

import pytest

from federation.domain.events import SendAssignment
from federation.server.region.checks import check_message
from intertie.errors import PeerError
from intertie.model.link import Offer, OfferRelease, OfferRequest, RegionHello, RunUpdate
from intertie.model.pool import NodeClass, Summary
from intertie.model.spec import Residency
from intertie.model.states import Outcome, RunState, TaskState
from intertie.model.task import CheckpointRef
from intertie.model.token import Epoch, Token

HELLO = RegionHello(
    region="eu",
    incarnation="eu-1",
    jurisdiction="DE/DE-HE/fra1",
    software="0.1.0",
    protocol_min=1,
    protocol_max=1,
)


def offer(id_: str, region: str, variant: int = 0) -> Offer:
    return Offer(
        id=id_,
        units=256,
        units_now=256,
        expected_wait_ms=0,
        hold_ms=0,
        incarnation=f"{region}-1",
        variant=variant,
    )


def test_a_region_that_was_not_asked_gets_nothing(room: Any, spec: Any, pick: Any) -> None:
    room.attach("eu")
    room.attach("cn", jurisdiction="CN/CN-JS/park")
    room.submit(spec(residency=Residency(within=("DE",))))
    room.wait(0.001)
    ((asked, request),) = pick.sends(room.said, OfferRequest)
    out = room.hear(offer(request.id, "cn"), "cn")
    assert asked == "eu"
    assert not pick.some(out, SendAssignment)
    assert [to for to, _ in pick.sends(out, OfferRelease)] == ["cn"]


def test_an_offer_for_a_variant_that_does_not_exist_is_no_offer(room: Any, pick: Any) -> None:
    room.attach("eu")
    task = room.submit()
    room.wait(0.001)
    ((_, request),) = pick.sends(room.said, OfferRequest)
    out = room.hear(offer(request.id, "eu", variant=7))
    assert not pick.some(out, SendAssignment)
    assert room.state(task) is TaskState.PENDING


def test_a_refused_repetition_of_an_assignment_frees_no_live_run(room: Any, spec: Any) -> None:
    task = room.running(spec())
    room.reject(task, "GRANT_INVALID")
    assert room.state(task) is TaskState.RUNNING


def test_a_summary_with_less_than_nothing_breaks_the_protocol() -> None:
    summary = Summary(
        region="eu",
        incarnation="eu-1",
        revision=1,
        jurisdiction="DE/DE-HE/fra1",
        classes=(NodeClass(architecture="x86_64", nodes=1, free_cpu=-1),),
    )
    with pytest.raises(PeerError, match="negative"):
        check_message(summary, HELLO)


@pytest.mark.parametrize("field", ["region", "jurisdiction"])
def test_a_summary_of_another_place_than_the_hello_breaks_the_protocol(field: str) -> None:
    said: dict[str, Any] = {"region": "eu", "jurisdiction": "DE/DE-HE/fra1", field: "us"}
    summary = Summary(incarnation="eu-1", revision=1, **said)
    with pytest.raises(PeerError, match=f"summary.{field}: us is not"):
        check_message(summary, HELLO)


def test_a_checkpoint_of_a_later_token_breaks_the_protocol() -> None:
    later = CheckpointRef(
        step=1, manifest="ab" * 32, size=1, token=Token(Epoch(10**6, 1), 1), committed_ms=1
    )
    update = RunUpdate(
        task="projects/demo/tasks/01-019b76da-a800-7c21-a29f-6fbed82c07cd",
        token=Token(Epoch(1, 1), 1),
        revision=9,
        state=RunState.ENDED,
        outcome=Outcome.EVICTED,
        checkpoint=later,
    )
    with pytest.raises(PeerError, match="checkpoint"):
        check_message(update, HELLO)
