"""Messages leave by the link for which they were decided; the welcome is the first on each."""

from collections.abc import Iterator
from typing import Any

import pytest

from federation.domain.events import Send, SendAssignment
from federation.server.region.links import Link, Links
from intertie.errors import IntertieError, Reason
from intertie.model.link import DigestRequest, FederationHello, LeaseGrant, RegionHello

WELCOME = FederationHello(replica="r1", software="0.1.0", protocol=1, generation=1)
GRANT = LeaseGrant(seq=1, lease_ms=1_000)


def hello(incarnation: str = "eu-1") -> RegionHello:
    return RegionHello(
        region="eu",
        incarnation=incarnation,
        jurisdiction="DE",
        software="0.1.0",
        protocol_min=1,
        protocol_max=1,
    )


@pytest.fixture
def links() -> Links:
    return Links()


async def sent(link: Link) -> list[str]:
    """What is queued on a link, by the kind of message; the link is closed by it."""
    link.outbox.close()
    return [
        message.WhichOneof("message") async for batch in link.outbox.batches() for message in batch
    ]


async def test_what_was_meant_for_an_earlier_link_does_not_leave_on_the_next(links: Links) -> None:
    first = links.open(hello())
    assert links.send("eu", WELCOME, first.number)
    assert links.send("eu", GRANT, first.number)
    second = links.open(hello())
    assert not links.send("eu", GRANT, first.number)
    assert links.send("eu", WELCOME, second.number)
    assert links.send("eu", GRANT, second.number)
    assert await sent(second) == ["hello", "lease_grant"]


async def test_nothing_overtakes_the_welcome(links: Links) -> None:
    link = links.open(hello())
    assert not links.send("eu", GRANT)  # a read of a log, say: it knows no number
    assert not links.send("eu", GRANT, link.number)
    assert links.send("eu", WELCOME, link.number)
    assert links.send("eu", GRANT)
    assert await sent(link) == ["hello", "lease_grant"]


async def test_a_message_to_a_region_without_a_link_is_lost(links: Links) -> None:
    assert not links.send("eu", GRANT)
    link = links.open(hello())
    links.send("eu", WELCOME, link.number)
    assert not links.send("eu", GRANT, 0)


def test_another_life_of_a_region_is_refused_while_one_is_attached(links: Links) -> None:
    links.open(hello())
    with pytest.raises(IntertieError) as caught:
        links.open(hello("eu-2"))
    assert caught.value.reason is Reason.SESSION_TAKEN


def numbers(effects: list[object]) -> Iterator[int]:
    return (e.link for e in effects if isinstance(e, Send | SendAssignment))


def test_each_message_names_the_link_that_stood_when_it_was_decided(room: Any, pick: Any) -> None:
    first = room.attach()
    old = room._links["eu"]
    assert set(numbers(first)) == {old}
    room.submit()
    assert set(numbers(room.place())) == {old}
    again = room.attach()
    new = room._links["eu"]
    assert new != old
    assert set(numbers(again)) == {new}
    welcome, asked, *_ = pick.some(again, Send)
    assert isinstance(welcome.message, FederationHello)
    assert isinstance(asked.message, DigestRequest)


def test_a_message_to_a_region_that_is_away_names_no_link(room: Any, pick: Any) -> None:
    task = room.running()
    room.lose()
    assert list(numbers(room.cancel(task))) == [0]
