"""One call as the layers see it, and the caller as handlers see it."""

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import grpc.aio

from intertie.errors import IntertieError
from intertie.pki.identity import ANONYMOUS, Identity
from intertie.ports import Now

Context = grpc.aio.ServicerContext[Any, Any]

_caller: ContextVar[Identity] = ContextVar("intertie_caller")


def caller() -> Identity:
    """Who the call that is being handled is for. The peer's certificate says so, no message."""
    identity = _caller.get(None)
    assert identity is not None, "caller() outside of a call"
    return identity


def set_caller(identity: Identity) -> None:
    """Bind the caller for the rest of this call's task."""
    _caller.set(identity)


@dataclass(slots=True, eq=False)
class Call:
    """A call from its arrival to its end.

    `peer` holds the connection; `identity` is who the call is for: the peer itself unless a replica
    of the federation forwards. `request` is None where requests are streamed. `cut` is why the call
    is being ended from outside its handler.
    """

    method: str
    streaming: bool
    context: Context
    request: object | None
    arrived: Now
    peer: Identity = ANONYMOUS
    identity: Identity = ANONYMOUS
    cut: IntertieError | None = None
    task: "asyncio.Task[Any] | None" = field(default=None, repr=False)
