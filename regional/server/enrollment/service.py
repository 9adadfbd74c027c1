"""EnrollmentService of a region: see the protocol for what each method does.

The token is judged first; nothing else of an Enroll is looked at before. A node is certified at
once: whoever has the operator's token is approved by it.
"""

from dataclasses import replace
from typing import NoReturn

from intertie.api.federation.v1 import join_pb2
from intertie.api.regional.v1 import enrollment_service_pb2 as pb
from intertie.api.regional.v1 import enrollment_service_pb2_grpc as pb_grpc
from intertie.errors import IntertieError, Reason, invalid
from intertie.pki.issue import public_key_of_csr
from intertie.pki.join.issued import Issuance
from intertie.pki.join.publickeys import key_digest
from intertie.pki.join.requests import JoinRequest
from intertie.pki.join.strings import (
    JoinString,
    Purpose,
    hash_secret,
    new_join_string,
    parse_join_string,
)
from intertie.pki.join.tokens import Token, refused
from intertie.pki.profile import HOUR_MS
from intertie.store.enrollment.registry import Bearer
from intertie.telemetry.logs import logger
from intertie.transport.call import Context, caller
from intertie.transport.joining.peers import peer_address
from intertie.transport.versions import agree
from intertie.wire.join import credentials_to_pb, token_to_pb
from intertie.wire.scalars import FaultError, ms_of_duration
from intertie.wire.tokens import Tokens
from regional.server.enrollment.desk import Desk

# ruff: noqa: N802, ARG002 - methods are named by the protocol, and gRPC passes a context to each

MAX_PAGE = 1_000
MAX_TEXT = 256

_log = logger(__name__)


class EnrollmentServicer(pb_grpc.EnrollmentServiceServicer):
    """See the module's text."""

    def __init__(self, desk: Desk, tokens: Tokens) -> None:
        self._desk = desk
        self._tokens = tokens

    # --- tokens ----------------------------------------------------------------------------------

    async def CreateNodeToken(
        self, request: pb.CreateNodeTokenRequest, context: Context
    ) -> join_pb2.JoinToken:
        desk, who = self._desk, str(caller())
        asked = f"{who}\n{request.request_id}" if request.request_id else ""
        region = desk.site.region
        made = new_join_string(Purpose.NODE, desk.pin, desk.ids, region=region, request=asked)
        now_ms = desk.clock.now().utc_ms
        token = await desk.registry.create_token(
            Token(
                id=made.token_id,
                purpose=Purpose.NODE,
                secret_sha256=hash_secret(made.secret),
                subject=str(desk.node(request.node)) if request.node else "",
                creator=who,
                created_ms=now_ms,
                expires_ms=now_ms + _ttl_ms(request),
                max_uses=request.max_uses or 1,
                networks=tuple(request.networks),
                pre_approved=True,
            )
        )
        _log.info("node token made", token=token.id, uses=token.max_uses, by=who)
        message = token_to_pb(token, revealed=made.reveal())
        message.endpoints.extend(desk.site.join_endpoints)
        return message

    async def ListNodeTokens(
        self, request: pb.ListNodeTokensRequest, context: Context
    ) -> pb.ListNodeTokensResponse:
        if not 0 <= request.page_size <= MAX_PAGE:
            raise invalid("page_size", f"must be between 0 and {MAX_PAGE}.")
        size, skip = request.page_size or 100, 0
        if request.page_token:
            skip = int(self._tokens.open("nodetokens", (), request.page_token, "page_token"))
        found = list(await self._desk.registry.tokens())[skip:]
        more = str(skip + size).encode() if len(found) > size else b""
        return pb.ListNodeTokensResponse(
            tokens=[token_to_pb(token) for token in found[:size]],
            next_page_token=self._tokens.seal("nodetokens", (), more) if more else "",
        )

    async def RevokeNodeToken(
        self, request: pb.RevokeNodeTokenRequest, context: Context
    ) -> join_pb2.JoinToken:
        collection, _, id_ = request.name.partition("/")
        if collection != "joinTokens" or not id_:
            raise invalid("name", f"{request.name[:120]!r} is not joinTokens/ID.")
        token = await self._desk.registry.change_token(id_, lambda t: replace(t, revoked=True))
        _log.info("node token revoked", token=id_, by=str(caller()), reason=request.reason[:500])
        return token_to_pb(token)

    # --- nodes -----------------------------------------------------------------------------------

    async def Enroll(self, request: pb.EnrollRequest, context: Context) -> pb.Enrollment:
        address, desk = peer_address(context), self._desk
        desk.guesses.check(address, desk.clock.now())
        shown = parse_join_string(request.token)
        try:
            return await self._enroll(request, shown, address)
        except IntertieError as problem:
            self._tell(problem, shown, address)

    async def _enroll(
        self, request: pb.EnrollRequest, shown: JoinString, address: str
    ) -> pb.Enrollment:
        desk = self._desk
        if shown.purpose is not Purpose.NODE or shown.region != desk.site.region:
            meant = f"nodes of {shown.region}" if shown.region else f"a {shown.purpose}"
            raise refused("server", f"This token is for {meant}, not for nodes of this region.")
        await desk.registry.token(shown)
        agree("the node", request.protocol_min, request.protocol_max)
        if len(request.software) > MAX_TEXT:
            raise invalid("software", f"has over {MAX_TEXT} characters.")
        subject = str(desk.node(request.node))
        if request.validate_only:
            given = key_digest(public_key_of_csr(request.csr_pem)) if request.csr_pem else ""
            bearer = Bearer(subject=subject, key_sha256=given, address=address)
            await desk.registry.check(shown, bearer)
            return self._answer(subject, None)
        key = public_key_of_csr(request.csr_pem)
        bearer = Bearer(subject=subject, key_sha256=key_digest(key), address=address)

        def make(used: Token) -> tuple[Issuance, JoinRequest | None]:
            return desk.leaf(subject, key, used.id), None

        redeemed = await desk.registry.redeem(shown, bearer, make)
        _log.info("node enrolled", node=request.node, token=shown.token_id, address=address)
        return self._answer(subject, redeemed.issuance)

    def _answer(self, subject: str, issuance: Issuance | None) -> pb.Enrollment:
        site = self._desk.site
        message = pb.Enrollment(
            subject=subject,
            region=site.region,
            trust_domain=site.trust_domain,
            jurisdiction=site.jurisdiction,
            endpoints=site.endpoints,
        )
        if issuance is not None:
            message.credentials.CopyFrom(credentials_to_pb(issuance, self._desk.trust_pem))
        return message

    def _tell(self, problem: IntertieError, shown: JoinString, address: str) -> NoReturn:
        if problem.reason is Reason.JOIN_TOKEN_INVALID:
            _log.warning("enrolment refused", token=shown.token_id, address=address)
            if problem.metadata.get("why") == "unknown":
                self._desk.guesses.wrong(address, self._desk.clock.now())
        raise problem

    async def Renew(self, request: pb.RenewRequest, context: Context) -> join_pb2.Credentials:
        who, desk = caller(), self._desk
        key = public_key_of_csr(request.csr_pem)
        issuance = await desk.registry.renew(who, key_digest(key), lambda: desk.leaf(str(who), key))
        _log.info("certificate renewed", subject=str(who), serial=issuance.serial)
        return credentials_to_pb(issuance, desk.trust_pem)


def _ttl_ms(request: pb.CreateNodeTokenRequest) -> int:
    try:
        return ms_of_duration(request.ttl) or HOUR_MS
    except FaultError as fault:
        raise invalid("ttl", fault.text) from None
