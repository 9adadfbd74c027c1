"""What a handler raises becomes a status; what it must not tell stays in our log.

An unexpected exception is a fault of ours: the peer gets a random id, the log gets the traceback
under the same id.
"""

from typing import NoReturn

import grpc

from intertie.errors import IntertieError, Reason, error
from intertie.ports import FencedError, IdSource, StoreUnavailableError
from intertie.telemetry.logs import logger
from intertie.telemetry.metrics import RPC_REFUSED
from intertie.telemetry.registry import Metrics
from intertie.transport.call import Call
from intertie.transport.status import status_of

DETAILS_KEY = "grpc-status-details-bin"
"""Where gRPC carries a google.rpc.Status (its "richer error model")."""

_log = logger(__name__)


class Faults:
    """Tells errors to peers."""

    def __init__(self, ids: IdSource, metrics: Metrics) -> None:
        self._ids = ids
        self._metrics = metrics

    def told(self, call: Call, problem: Exception, *, in_handler: bool) -> IntertieError:
        """The error to tell for whatever was raised, in a layer or in the handler."""
        if isinstance(problem, IntertieError):
            if not in_handler:
                self._refused(call, problem)
            return problem
        if isinstance(problem, StoreUnavailableError):
            return error(
                Reason.STORE_UNAVAILABLE,
                "The store did not confirm the change; it may or may not have been made.",
                remedy="Retry with the same request_id.",
            )
        if isinstance(problem, FencedError):
            return error(
                Reason.NOT_OWNER,
                "Another replica owns the shard now.",
                remedy="Retry with the same request_id.",
            )
        return self._own_fault(call, problem)

    async def abort(self, call: Call, problem: IntertieError) -> NoReturn:
        """End the call with the error; raises grpc.aio.AbortError."""
        status = status_of(problem)
        await call.context.abort(
            grpc.StatusCode[problem.entry.code],
            status.message,
            ((DETAILS_KEY, status.SerializeToString()),),
        )

    def _refused(self, call: Call, problem: IntertieError) -> None:
        self._metrics.counter(RPC_REFUSED, problem.reason.value).inc()
        _log.info(
            "call refused",
            reason=problem.reason.value,
            problem=problem.message,
            method=call.method,
            peer=str(call.peer),
        )

    def _own_fault(self, call: Call, problem: Exception) -> IntertieError:
        error_id = self._ids.token_hex(8)
        _log.error(
            "unexpected exception",
            exc_info=problem,
            method=call.method,
            error_id=error_id,
        )
        return error(
            Reason.INTERNAL,
            f"An unexpected fault happened; its id is {error_id}.",
            remedy="Look for the id in the server's log and report the fault.",
            metadata={"error_id": error_id},
        )
