"""Binds what a call is about to every log line written while it is handled.

The call runs in its own task, whose context ends with it, so nothing is unbound.
"""

from structlog.contextvars import bind_contextvars

from intertie.telemetry.logs import Field
from intertie.transport.call import Call


class LoggingLayer:
    """After identity: the peer is known."""

    def enter(self, call: Call) -> None:
        """Bind method, peer, region and, from the request, its id and the task."""
        fields = {Field.METHOD.value: call.method, Field.PEER.value: str(call.identity)}
        if call.identity.region is not None:
            fields[Field.REGION.value] = call.identity.region
        request = call.request
        if request is not None:
            request_id = getattr(request, "request_id", None)
            if isinstance(request_id, str) and request_id:
                fields[Field.REQUEST_ID.value] = request_id[:64]
            name = getattr(request, "name", None)
            if isinstance(name, str) and "/tasks/" in name:
                fields[Field.TASK.value] = name[:256]
        bind_contextvars(**fields)

    def message(self, call: Call) -> None:
        """A stream's handler binds what its messages are about."""

    def leave(self, call: Call, code: str) -> None:
        """Nothing to undo."""
