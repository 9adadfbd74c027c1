"""Joining on the wire: tokens, requests and credentials as messages, and purposes back."""

from intertie.api.federation.v1 import join_pb2 as pb
from intertie.errors import invalid
from intertie.pki.issue import Issued
from intertie.pki.join.issued import Issuance
from intertie.pki.join.requests import JoinRequest
from intertie.pki.join.strings import Purpose
from intertie.pki.join.tokens import Token
from intertie.wire.scalars import FaultError, fill_timestamp, ms_of_timestamp

_PREFIX = "JOIN_PURPOSE_"


def purpose_from_pb(value: int, where: str = "purpose") -> Purpose:
    """The purpose. Raises INVALID_FIELD for none and for one that we do not know."""
    try:
        name = pb.JoinPurpose.Name(value)
        return Purpose(name.removeprefix(_PREFIX).lower())
    except ValueError:
        raise invalid(where, "must be REGION, NODE, CLIENT, ADMIN or BILLING.") from None


def purpose_to_pb(purpose: Purpose) -> str:
    """The name of the enum's value, which messages take."""
    return _PREFIX + purpose.name


def token_to_pb(token: Token, *, revealed: str = "") -> pb.JoinToken:
    """A token as its creator (`revealed`, the join string) or anybody else may see it."""
    message = pb.JoinToken(
        name=f"joinTokens/{token.id}",
        purpose=purpose_to_pb(token.purpose),
        token=revealed,
        subject=token.subject,
        max_uses=token.max_uses,
        uses=token.uses,
        pre_approved=token.pre_approved,
        networks=token.networks,
        creator=token.creator,
        revoked=token.revoked,
    )
    fill_timestamp(token.expires_ms, message.expire_time)
    fill_timestamp(token.created_ms, message.create_time)
    return message


def request_to_pb(request: JoinRequest) -> pb.Join:
    """A region's request, without credentials."""
    message = pb.Join(
        name=f"joins/{request.id}",
        purpose=pb.JOIN_PURPOSE_REGION,
        state=f"JOIN_STATE_{request.state.name}",
        subject=request.subject,
        key_sha256=request.key_sha256,
        jurisdiction=request.jurisdiction,
        hosts=request.hosts,
        software=request.software,
        address=request.address,
        inviter=request.inviter,
        decider=request.decider,
        reason=request.reason,
    )
    fill_timestamp(request.created_ms, message.create_time)
    if request.decided_ms:
        fill_timestamp(request.decided_ms, message.decide_time)
    return message


def credentials_to_pb(issuance: Issuance, trust_pem: bytes) -> pb.Credentials:
    """A certificate with what must travel with it."""
    message = pb.Credentials(
        cert_pem=issuance.cert_pem.encode(),
        chain_pem=issuance.chain_pem.encode(),
        trust_pem=trust_pem,
        serial=issuance.serial,
    )
    fill_timestamp(issuance.expires_ms, message.expire_time)
    return message


def issued_from_pb(message: pb.Credentials) -> Issued:
    """A certificate as it is written to disk."""
    try:
        not_after_ms = ms_of_timestamp(message.expire_time)
    except FaultError as fault:
        raise invalid("credentials.expire_time", fault.text) from None
    return Issued(
        cert_pem=message.cert_pem,
        chain_pem=message.chain_pem,
        trust_pem=message.trust_pem,
        serial=message.serial,
        not_after_ms=not_after_ms,
    )
