"""Small promises of the layers: what logs carry, whose timeout is whose, who the caller is."""

import asyncio
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars, clear_contextvars, get_contextvars

from intertie.errors import IntertieError, Reason
from intertie.pki.identity import Identity
from intertie.pki.spiffe import parse
from intertie.ports import Now
from intertie.transport.call import Call, caller
from intertie.transport.layers.deadline import default_deadline
from intertie.transport.layers.logging import LoggingLayer

TD = "intertie.example"


class Request:
    request_id = "0190-1"
    name = "projects/genome/tasks/2a-0190"


def test_a_call_s_lines_say_what_it_is_about() -> None:
    identity = Identity.of(
        parse(f"spiffe://eu.{TD}/operator/olga", TD), serial="1", not_before_ms=0, not_after_ms=1
    )
    context: Any = None
    call = Call("/a.B/C", False, context, Request(), Now(0, "boot", 0), identity, identity)
    with bound_contextvars():
        LoggingLayer().enter(call)
        bound = get_contextvars()
        clear_contextvars()
    assert bound == {
        "method": "/a.B/C",
        "peer": f"spiffe://eu.{TD}/operator/olga",
        "region": "eu",
        "request_id": "0190-1",
        "task": "projects/genome/tasks/2a-0190",
    }


async def test_the_server_s_deadline_is_told_as_such() -> None:
    with pytest.raises(IntertieError) as caught:
        async with default_deadline(0.01):
            await asyncio.Event().wait()
    assert caught.value.reason is Reason.DEADLINE_EXCEEDED


async def test_a_timeout_of_the_handler_s_own_is_left_alone() -> None:
    with pytest.raises(TimeoutError):
        async with default_deadline(10.0):
            raise TimeoutError


def test_there_is_no_caller_outside_of_a_call() -> None:
    with pytest.raises(AssertionError, match="outside of a call"):
        caller()
