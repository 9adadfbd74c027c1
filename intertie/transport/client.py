"""What every client call gets: a deadline and our clock, so that skew is named early.

Only unary calls are intercepted: grpc.aio puts a queue of its own into intercepted streams, which
breaks backpressure. Whoever opens a stream passes `clock_metadata`. Must not retry: callers decide,
and only UNAVAILABLE is ever retried.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc.aio

from intertie.ports import Clock
from intertie.transport.layers.identity import CLOCK_KEY

if TYPE_CHECKING:  # generic in the stubs only, and there not a ClientInterceptor

    class _Interceptor(
        grpc.aio.UnaryUnaryClientInterceptor[Any, Any], grpc.aio.ClientInterceptor
    ): ...
else:
    _Interceptor = grpc.aio.UnaryUnaryClientInterceptor

DEFAULT_DEADLINE_S = 20.0


def clock_metadata(clock: Clock) -> tuple[tuple[str, str], ...]:
    """Metadata for opening a stream: what our clock shows."""
    return ((CLOCK_KEY, str(clock.now().utc_ms)),)


class ClientDefaults(_Interceptor):
    """Sets a deadline where the caller set none, and tells our clock."""

    def __init__(self, clock: Clock, deadline_s: float = DEFAULT_DEADLINE_S) -> None:
        self._clock = clock
        self._deadline_s = deadline_s

    async def intercept_unary_unary(
        self,
        continuation: Callable[
            [grpc.aio.ClientCallDetails, Any], grpc.aio.UnaryUnaryCall[Any, Any]
        ],
        client_call_details: grpc.aio.ClientCallDetails,
        request: object,
    ) -> Any:  # noqa: ANN401 - the call object or the response, as grpc.aio has it
        """Complete the details and go on."""
        details = client_call_details
        metadata = details.metadata or grpc.aio.Metadata()
        metadata.add(CLOCK_KEY, str(self._clock.now().utc_ms))
        completed = grpc.aio.ClientCallDetails(
            details.method,
            self._deadline_s if details.timeout is None else details.timeout,
            metadata,
            details.credentials,
            details.wait_for_ready,
        )
        # The stubs say a call object; grpc.aio gives a coroutine that returns one.
        return await continuation(completed, request)
