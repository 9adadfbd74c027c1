"""EnrollmentService: see the protocol for what each method does. Joining itself is in `joining`."""

from collections.abc import Sequence

from federation.server.enrollment.joining import Joining
from federation.server.enrollment.office import Office
from federation.server.task.lists import page_size
from intertie.api.federation.v1 import enrollment_service_pb2 as pb
from intertie.api.federation.v1 import enrollment_service_pb2_grpc as pb_grpc
from intertie.api.federation.v1 import join_pb2
from intertie.errors import invalid
from intertie.pki.issue import public_key_of_csr
from intertie.pki.join.issued import Issuance
from intertie.pki.join.publickeys import key_digest
from intertie.pki.join.strings import Purpose, hash_secret, new_join_string
from intertie.pki.join.tokens import LONGEST_MS, Token
from intertie.pki.spiffe import parse, region_trust_domain
from intertie.store.enrollment.bans import Ban
from intertie.telemetry.logs import logger
from intertie.transport.call import Context, caller
from intertie.transport.joining.peers import peer_address
from intertie.wire.join import credentials_to_pb, purpose_from_pb, token_to_pb
from intertie.wire.scalars import FaultError, fill_timestamp, ms_of_duration
from intertie.wire.tokens import Tokens

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

MAX_REASON = 500

_log = logger(__name__)


class EnrollmentServicer(pb_grpc.EnrollmentServiceServicer):
    """See the module's text."""

    def __init__(self, office: Office, joining: Joining, tokens: Tokens) -> None:
        self._office = office
        self._joining = joining
        self._tokens = tokens

    # --- joining ---------------------------------------------------------------------------------

    async def CreateJoinToken(
        self, request: pb.CreateJoinTokenRequest, context: Context
    ) -> join_pb2.JoinToken:
        office, who = self._office, str(caller())
        signer = office.signer
        purpose = purpose_from_pb(request.purpose)
        subject = _subject(purpose, request, signer.trust_domain)
        if purpose is Purpose.REGION:
            office.check_region(request.region)
        asked = f"{who}\n{request.request_id}" if request.request_id else ""
        made = new_join_string(purpose, signer.pin, office.ids, request=asked)
        now_ms = office.clock.now().utc_ms
        token = await office.registry.create_token(
            Token(
                id=made.token_id,
                purpose=purpose,
                secret_sha256=hash_secret(made.secret),
                subject=subject,
                creator=who,
                created_ms=now_ms,
                expires_ms=now_ms + _ttl_ms(request, purpose),
                pre_approved=request.pre_approved,
            )
        )
        _log.info("join token made", token=token.id, subject=subject, by=who)
        message = token_to_pb(token, revealed=made.reveal())
        message.endpoints.extend(office.access.join_endpoints)
        return message

    async def RequestJoin(self, request: pb.RequestJoinRequest, context: Context) -> join_pb2.Join:
        return await self._joining.request(request, peer_address(context))

    async def GetJoin(self, request: pb.GetJoinRequest, context: Context) -> join_pb2.Join:
        return await self._joining.get(request, peer_address(context))

    # --- identities ------------------------------------------------------------------------------

    async def RenewCertificate(
        self, request: pb.RenewCertificateRequest, context: Context
    ) -> join_pb2.Credentials:
        who, signer = caller(), self._office.signer
        key = public_key_of_csr(request.csr_pem)
        issuance = await self._office.registry.renew(
            who, key_digest(key), lambda: signer.leaf(str(who), key)
        )
        _log.info("certificate renewed", subject=str(who), serial=issuance.serial)
        return credentials_to_pb(issuance, signer.trust_pem)

    async def RevokeIdentity(self, request: pb.RevokeIdentityRequest, context: Context) -> pb.Ban:
        if bool(request.subject) == bool(request.serial):
            raise invalid("subject", "and serial: give one of the two.")
        if request.subject:
            parse(request.subject, self._office.access.trust_domain)
        serial = _serial(request.serial) if request.serial else ""
        ban = await self._office.bans.add(
            Ban(
                subject=request.subject,
                serial=serial,
                reason=check_reason(request.reason),
                banner=str(caller()),
                at_ms=self._office.clock.now().utc_ms,
            )
        )
        _log.warning(
            "banned", subject=ban.subject, serial=ban.serial, by=ban.banner, reason=ban.reason
        )
        return _ban_to_pb(ban)

    async def ListIdentities(
        self, request: pb.ListIdentitiesRequest, context: Context
    ) -> pb.ListIdentitiesResponse:
        size = page_size(request.page_size, 100)
        after = ""
        if request.page_token:
            after = self._tokens.open("identities", (), request.page_token, "page_token").decode()
        known = [found for found in await self._office.registry.identities() if found.serial]
        left = sorted((f for f in known if f.subject > after), key=lambda found: found.subject)
        more = left[size - 1].subject if len(left) > size else ""
        return pb.ListIdentitiesResponse(
            identities=self._shown(left[:size]),
            next_page_token=self._tokens.seal("identities", (), more.encode()) if more else "",
        )

    async def WhoAmI(self, request: pb.WhoAmIRequest, context: Context) -> pb.WhoAmIResponse:
        who = caller()
        message = pb.WhoAmIResponse(
            subject=str(who),
            role=who.role.value,
            project=who.project or "",
            region=who.region or "",
            serial=who.serial,
        )
        fill_timestamp(who.not_after_ms, message.expire_time)
        return message

    def _shown(self, identities: Sequence[Issuance]) -> list[pb.IssuedIdentity]:
        shown = []
        for found in identities:
            message = pb.IssuedIdentity(
                subject=found.subject,
                key_sha256=found.key_sha256,
                serial=found.serial,
                banned=self._office.bans.covers(found.subject, found.serial),
            )
            fill_timestamp(found.issued_ms, message.issue_time)
            fill_timestamp(found.expires_ms, message.expire_time)
            shown.append(message)
        return shown


def check_reason(reason: str) -> str:
    """The reason of an administrator's act: asked for, for the record."""
    if not reason.strip() or len(reason) > MAX_REASON:
        raise invalid("reason", f"must say why, in at most {MAX_REASON} characters.")
    return reason


def _subject(purpose: Purpose, request: pb.CreateJoinTokenRequest, trust_domain: str) -> str:
    fields = {
        Purpose.REGION: ("region",),
        Purpose.CLIENT: ("project", "member"),
        Purpose.ADMIN: ("member",),
        Purpose.BILLING: ("member",),
    }
    if purpose is Purpose.NODE:
        raise invalid(
            "purpose", "NODE is for a region to make.", remedy="Ask its operator for a node token."
        )
    for name in ("region", "project", "member"):
        if bool(getattr(request, name)) != (name in fields[purpose]):
            verb = "must be given" if name in fields[purpose] else "must be left out"
            raise invalid(name, f"{verb} for a {purpose}.")
    if purpose is Purpose.REGION:
        return f"spiffe://{region_trust_domain(request.region, trust_domain)}/scheduler"
    path = {
        Purpose.CLIENT: f"project/{request.project}/{request.member}",
        Purpose.ADMIN: f"admin/{request.member}",
        Purpose.BILLING: f"billing/{request.member}",
    }[purpose]
    return str(parse(f"spiffe://{trust_domain}/{path}", trust_domain))


def _ttl_ms(request: pb.CreateJoinTokenRequest, purpose: Purpose) -> int:
    try:
        return ms_of_duration(request.ttl) or LONGEST_MS[purpose]
    except FaultError as fault:
        raise invalid("ttl", fault.text) from None


def _serial(text: str) -> str:
    try:
        return f"{int(text.replace(':', ''), 16):x}"
    except ValueError:
        raise invalid("serial", f"{text[:60]!r} is no hex number.") from None


def _ban_to_pb(ban: Ban) -> pb.Ban:
    message = pb.Ban(subject=ban.subject, serial=ban.serial, reason=ban.reason, banner=ban.banner)
    fill_timestamp(ban.at_ms, message.create_time)
    return message
