"""Who calls: the peer's certificate, checked on every call and every message of a stream.

A replica of the federation may forward for a client and names it in metadata; from anybody else
that is refused. The peer's clock, if it tells it, is compared with ours.
"""

from collections.abc import Iterable
from typing import cast

from intertie.errors import Reason, error, invalid
from intertie.pki.check import PeerCheck, skewed
from intertie.pki.identity import ANONYMOUS, Identity
from intertie.pki.profile import MAX_SKEW_MS
from intertie.pki.spiffe import Role, parse
from intertie.ports import Clock
from intertie.transport.call import Call, set_caller

Pairs = Iterable[tuple[str, str | bytes]]

CLOCK_KEY = "intertie-utc-ms"
"""Request metadata: the client's UTC clock in milliseconds, so that skew is named early."""

ON_BEHALF_KEY = "intertie-on-behalf-of"
"""Request metadata: the SPIFFE ID that a replica forwards for."""


class IdentityLayer:
    """Sets `call.peer`, `call.identity` and `caller()`."""

    def __init__(self, check: PeerCheck, clock: Clock) -> None:
        self._check = check
        self._clock = clock

    def enter(self, call: Call) -> None:
        """Refuse a peer that is no valid identity now."""
        call.peer = self._peer(call)
        call.identity = call.peer
        # The stubs say mapping; grpc.aio gives a tuple of pairs.
        for key, value in cast(Pairs, call.context.invocation_metadata() or ()):
            if key == CLOCK_KEY:
                self._compare_clocks(call, str(value))
            elif key == ON_BEHALF_KEY:
                call.identity = self._principal(call, str(value))
        set_caller(call.identity)

    def message(self, call: Call) -> None:
        """Check again what may have changed since the stream opened."""
        now = self._clock.now()
        self._check.still_good(call.peer, now)
        if call.identity is not call.peer:
            self._check.still_good(call.identity, now)

    def leave(self, call: Call, code: str) -> None:
        """Nothing to undo: the caller is bound to the call's own task."""

    def _peer(self, call: Call) -> Identity:
        pem = _first(call.context.auth_context().get("x509_pem_cert"))
        if pem is None:
            return ANONYMOUS
        return self._check(pem, call.arrived)

    def _compare_clocks(self, call: Call, value: str) -> None:
        if not value.isascii() or not value.isdigit() or len(value) > 15:
            raise invalid(f"metadata {CLOCK_KEY}", "must be UTC in milliseconds.")
        ahead_ms = int(value) - call.arrived.utc_ms
        if abs(ahead_ms) > MAX_SKEW_MS:
            raise skewed(ahead_ms, f"The clock of {call.peer} is")

    def _principal(self, call: Call, text: str) -> Identity:
        if call.peer.role is not Role.FEDERATION:
            raise error(
                Reason.PERMISSION_DENIED,
                f"{call.peer} may not act for {text[:200]}.",
                remedy="Call under your own identity.",
            )
        principal = Identity.of(
            parse(text, self._check.federation),
            serial="",
            not_before_ms=call.peer.not_before_ms,
            not_after_ms=call.peer.not_after_ms,
        )
        self._check.still_good(principal, call.arrived)
        return principal


def _first(values: Iterable[bytes] | None) -> bytes | None:
    return next(iter(values), None) if values is not None else None
