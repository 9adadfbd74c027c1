"""A region's wish to join: asked, then approved or rejected, once.

Table of states: REQUESTED -> APPROVED | REJECTED; both ends are final. Whoever keeps the record
writes it back by compare-and-swap, so two administrators cannot decide differently.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from intertie.errors import Reason, error


class JoinState(StrEnum):
    """How far a join is."""

    REQUESTED = "REQUESTED"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """One request. Its id is the token's, and whoever has the token may ask after it."""

    id: str
    region: str
    subject: str
    key_sha256: str
    key_pem: str
    secret_sha256: str
    jurisdiction: str
    hosts: tuple[str, ...] = ()
    software: str = ""
    address: str = ""
    inviter: str = ""
    created_ms: int = 0
    state: JoinState = JoinState.REQUESTED
    decided_ms: int = 0
    decider: str = ""
    reason: str = ""


def decided(
    request: JoinRequest, state: JoinState, *, decider: str, reason: str, now_ms: int
) -> JoinRequest | None:
    """The request after a decision; None if it was decided like that already.

    Raises:
        IntertieError: WRONG_STATE if it was decided otherwise.
    """
    assert state is not JoinState.REQUESTED, "that is no decision"
    if request.state is state:
        return None
    if request.state is not JoinState.REQUESTED:
        raise error(
            Reason.WRONG_STATE,
            f"The request of {request.region} was {request.state.lower()} by {request.decider}.",
            remedy="Let it ask again with a new token.",
            metadata={"state": request.state},
        )
    return replace(request, state=state, decider=decider, reason=reason, decided_ms=now_ms)
