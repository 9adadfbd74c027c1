"""What surrounds every handler, one concern a file, composed in `intertie.transport.server`.

A layer is synchronous and cheap: it looks at the call when it enters and when it leaves, and may
refuse it by raising an `IntertieError`.
"""

from typing import Protocol

from intertie.transport.call import Call


class Layer(Protocol):
    """One concern around handlers."""

    def enter(self, call: Call, /) -> None:
        """Before the handler; raising refuses the call."""
        ...

    def message(self, call: Call, /) -> None:
        """On each message of a stream, either way; raising ends it."""
        ...

    def leave(self, call: Call, code: str, /) -> None:
        """After the handler, with the status code's name; runs if `enter` returned."""
        ...
