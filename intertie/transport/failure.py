"""grpc.aio.AioRpcError -> IntertieError, for the SDK and for peers.

Without a reason of ours the code decides, and what TLS says in its own words becomes a remedy.

A server may end a call while its client is still writing: the write fails, and grpc.aio then puts
INTERNAL ("Internal error from Core") in the place of the status that the server sent, for good
(`_write` in grpc/aio/_call.py, grpcio 1.82). So the refusal of an upload and the reason why a link
was cut are lost whenever a message was on its way, unless the call goes through `told_why`.
"""

from collections.abc import Iterable
from typing import Any, TypeVar, cast

import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import status_pb2
from grpc._cython import cygrpc  # type: ignore[attr-defined] # made by Cython, without types

from intertie.errors import IntertieError, Reason, error
from intertie.transport.layers.errors import DETAILS_KEY
from intertie.transport.status import error_of

C = TypeVar("C")
Pairs = Iterable[tuple[str, str | bytes]]
_TLS_WORDS = ("CERTIFICATE_VERIFY_FAILED", "Hostname Verification", "handshake", "SSL", "TLS")


def error_from_rpc(failure: grpc.aio.AioRpcError) -> IntertieError:
    """The error that a failed call tells. Raise it `from` the failure."""
    status = _status(failure)
    if status is not None:
        return error_of(status)
    text = failure.details() or failure.code().name
    if _is_too_large(failure.code(), text):
        return error(Reason.TOO_LARGE, text, remedy="Send smaller messages.")
    status = status_pb2.Status(code=failure.code().value[0], message=text)
    told = error_of(status)
    return error(told.reason, text, remedy=_remedy(told.reason, text))


def _status(failure: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    # The stubs say mapping; grpc.aio gives pairs.
    for key, value in cast(Pairs, failure.trailing_metadata() or ()):
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def _is_too_large(code: grpc.StatusCode, text: str) -> bool:
    return code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in text


def _remedy(reason: Reason, text: str) -> str:
    if reason is not Reason.UNREACHABLE:
        return ""
    if any(word in text for word in _TLS_WORDS):
        return "Check that both certificates are valid now and come from the same federation."
    return "Check the address and that the server runs."


class _Core:
    """What a call of grpc.aio is made of, but for the part that overwrites its status."""

    __slots__ = ("_core",)

    def __init__(self, core: Any) -> None:  # noqa: ANN401 - a class of C, without types
        self._core = core

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the class of C has
        return getattr(self._core, name)

    async def send_serialized_message(self, message: bytes) -> None:
        try:
            await self._core.send_serialized_message(message)
        except cygrpc.InternalError:
            await self._core.status()
            raise

    def set_internal_error(self, text: str) -> None:
        """The status that the server sent stands."""


def told_why(call: C) -> C:
    """The call, which sends a stream and whose status is what the server said in any case."""
    inside: Any = call
    inside._cython_call = _Core(inside._cython_call)  # noqa: SLF001 - there is no public way
    return call


async def error_of_call(call: Any) -> IntertieError | None:  # noqa: ANN401 - of any kind
    """The error that a call which has ended told; None if it ended well."""
    code = await call.code()
    if code is grpc.StatusCode.OK:
        return None
    begin, end = await call.initial_metadata(), await call.trailing_metadata()
    return error_from_rpc(grpc.aio.AioRpcError(code, begin, end, await call.details()))
