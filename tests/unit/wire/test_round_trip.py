"""Every dataclass that travels comes back equal, through bytes."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from intertie.model.agentlink import FromAgent, FromRegionToAgent
from intertie.model.link import FromFederation, FromRegion
from intertie.wire import agent, link, pool, tasks
from intertie.wire.mapping import Mapper
from intertie.wire.oneof import OneOf

MAPPERS: list[Mapper[Any, Any]] = [
    value
    for module in (tasks, pool)
    for value in vars(module).values()
    if isinstance(value, Mapper)
]
UNIONS: list[OneOf[Any, Any]] = [
    link.FROM_REGION,
    link.FROM_FEDERATION,
    agent.FROM_AGENT,
    agent.FROM_SCHEDULER,
]
MEMBERS = [(union, mapper) for union in UNIONS for mapper in union.mappers.values()]

NAMES = [mapper.model.__name__ for _, mapper in MEMBERS]

Values = Callable[[Any], st.SearchStrategy[Any]]


def through_bytes(message: Message) -> Message:
    return type(message).FromString(message.SerializeToString())


@pytest.mark.parametrize("mapper", MAPPERS, ids=lambda m: m.model.__name__)
def test_a_value_comes_back_equal_through_its_message(
    mapper: Mapper[Any, Any], values: Values
) -> None:
    @given(values(mapper.model))
    def comes_back(value: object) -> None:
        assert mapper.from_pb(through_bytes(mapper.to_pb(value))) == value

    comes_back()


@pytest.mark.parametrize(
    ("union", "mapper"), MEMBERS, ids=lambda v: v.model.__name__ if isinstance(v, Mapper) else ""
)
def test_a_message_of_a_link_comes_back_equal_through_its_envelope(
    union: OneOf[Any, Any], mapper: Mapper[Any, Any], values: Values
) -> None:
    @given(values(mapper.model))
    def comes_back(value: object) -> None:
        assert union.from_pb(through_bytes(union.to_pb(value))) == value

    comes_back()


@pytest.mark.parametrize(
    ("union", "members"),
    [
        (link.FROM_REGION, FromRegion),
        (link.FROM_FEDERATION, FromFederation),
        (agent.FROM_AGENT, FromAgent),
        (agent.FROM_SCHEDULER, FromRegionToAgent),
    ],
)
def test_every_value_that_a_link_speaks_has_its_message(
    union: OneOf[Any, Any], members: object
) -> None:
    assert {mapper.model for mapper in union.mappers.values()} == set(get_args(members))
