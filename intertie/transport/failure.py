"""grpc.aio.AioRpcError -> IntertieError, for the SDK and for peers.

Without a reason of ours the code decides, and what TLS says in its own words becomes a remedy.
"""

from collections.abc import Iterable
from typing import cast

import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from intertie.errors import IntertieError, Reason, error
from intertie.transport.layers.errors import DETAILS_KEY
from intertie.transport.status import error_of

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
