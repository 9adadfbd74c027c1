"""RequestJoin and GetJoin: what a peer without a certificate may do, with a token in its hand.

The token is judged first; nothing else of a request is looked at before, and a wrong one learns
only that it is wrong. Regions wait for approval; people and billing are certified at once.
"""

import hmac
from typing import NoReturn

from federation.server.enrollment.approvals import Approvals
from federation.server.enrollment.office import Office
from federation.server.enrollment.rejoining import Rejoining
from intertie.api.federation.v1 import enrollment_service_pb2 as pb
from intertie.api.federation.v1 import join_pb2
from intertie.errors import IntertieError, Reason, invalid
from intertie.model.jurisdiction import Jurisdiction
from intertie.pki.issue import public_key_of_csr
from intertie.pki.join.hosts import check_hosts
from intertie.pki.join.issued import Issuance
from intertie.pki.join.publickeys import key_digest, key_to_text
from intertie.pki.join.requests import JoinRequest, JoinState
from intertie.pki.join.strings import JoinString, Purpose, hash_secret, parse_join_string
from intertie.pki.join.tokens import Token, refused
from intertie.pki.spiffe import parse
from intertie.store.enrollment.registry import Bearer, Redeemed
from intertie.telemetry.logs import logger
from intertie.transport.versions import agree
from intertie.wire.join import credentials_to_pb, purpose_to_pb, request_to_pb

MAX_TEXT = 256

_log = logger(__name__)


class Joining:
    """See the module's text."""

    def __init__(self, office: Office, approvals: Approvals) -> None:
        self._office = office
        self._approvals = approvals
        self._rejoining = Rejoining(office)

    async def request(self, request: pb.RequestJoinRequest, address: str) -> join_pb2.Join:
        """Redeem a token, or only check it."""
        office = self._office
        office.guesses.check(address, office.clock.now())
        if not request.token and request.HasField("log_key_proof"):
            return await self._rejoining.request(request, address)
        shown = parse_join_string(request.token)
        try:
            token = await self._known(shown)
            self._check(request, token)
            if request.validate_only:
                return await self._checked(request, shown, token, address)
            return await self._redeem(request, shown, token, address)
        except IntertieError as problem:
            self._tell(problem, shown, address)

    def _tell(self, problem: IntertieError, shown: JoinString, address: str) -> NoReturn:
        if problem.reason is Reason.JOIN_TOKEN_INVALID:
            _log.warning("join refused", token=shown.token_id, address=address, why=str(problem))
            if problem.metadata.get("why") == "unknown":
                self._office.guesses.wrong(address, self._office.clock.now())
        raise problem

    async def _known(self, shown: JoinString) -> Token:
        """The token as it stands, its secret proved."""
        if shown.purpose is Purpose.NODE:
            raise refused(
                "server", f"This token is for a node of region {shown.region}; take it there."
            )
        return await self._office.registry.token(shown)

    async def _checked(
        self, request: pb.RequestJoinRequest, shown: JoinString, token: Token, address: str
    ) -> join_pb2.Join:
        """What would come of it; without a CSR the name must be nobody's yet."""
        key = key_digest(public_key_of_csr(request.csr_pem)) if request.csr_pem else ""
        bearer = Bearer(subject=token.subject, key_sha256=key, address=address)
        await self._office.registry.check(shown, bearer)
        return join_pb2.Join(
            purpose=purpose_to_pb(token.purpose), subject=token.subject, inviter=token.creator
        )

    async def _redeem(
        self, request: pb.RequestJoinRequest, shown: JoinString, token: Token, address: str
    ) -> join_pb2.Join:
        key = public_key_of_csr(request.csr_pem)
        bearer = Bearer(subject=token.subject, key_sha256=key_digest(key), address=address)
        signer = self._office.signer

        def make(used: Token) -> tuple[Issuance, JoinRequest | None]:
            if used.purpose is not Purpose.REGION:
                return signer.leaf(used.subject, key, used.id), None
            asked = self._asked(request, shown, used, bearer, key_to_text(key))
            waiting = Issuance(subject=used.subject, key_sha256=bearer.key_sha256, token_id=used.id)
            return waiting, asked

        redeemed = await self._office.registry.redeem(shown, bearer, make)
        _log.info("token redeemed", token=token.id, subject=token.subject, address=address)
        return await self._answer(redeemed)

    async def _answer(self, redeemed: Redeemed) -> join_pb2.Join:
        token, asked = redeemed.token, redeemed.request
        if token.purpose is not Purpose.REGION:
            return join_pb2.Join(
                name=f"joins/{token.id}",
                purpose=purpose_to_pb(token.purpose),
                state=join_pb2.JOIN_STATE_APPROVED,
                subject=token.subject,
                key_sha256=redeemed.issuance.key_sha256,
                inviter=token.creator,
                credentials=credentials_to_pb(redeemed.issuance, self._office.signer.trust_pem),
                federation=self._office.access.to_pb(),
            )
        assert asked is not None, "a region's redemption leaves a request"
        if token.pre_approved and asked.state is JoinState.REQUESTED:
            asked = await self._approvals.approve(asked.id, token.creator, "approved beforehand")
        return await self._shown(asked)

    async def get(self, request: pb.GetJoinRequest, address: str) -> join_pb2.Join:
        """The request to whoever has its token, with the certificate once it is approved."""
        office = self._office
        office.guesses.check(address, office.clock.now())
        shown = parse_join_string(request.token)
        asked = await office.registry.request(shown.token_id)
        wanted = hash_secret(shown.secret)
        if asked is None or not hmac.compare_digest(asked.secret_sha256, wanted):
            office.guesses.wrong(address, office.clock.now())
            raise refused("unknown", "There is no join of this token here.")
        if request.name != f"joins/{asked.id}":
            raise invalid("name", f"must be joins/{asked.id}, the join of the token.")
        return await self._shown(asked)

    async def _shown(self, asked: JoinRequest) -> join_pb2.Join:
        message = request_to_pb(asked)
        if asked.state is JoinState.APPROVED:
            self._office.check_region(asked.region)
            issuance = await self._office.registry.issuance(asked.subject)
            if issuance is None or issuance.key_sha256 != asked.key_sha256:
                raise refused("used", "The region has joined again with another key since.")
            message.credentials.CopyFrom(credentials_to_pb(issuance, self._office.signer.trust_pem))
            message.federation.CopyFrom(self._office.access.to_pb())
        return message

    def _check(self, request: pb.RequestJoinRequest, token: Token) -> None:
        agree("whoever joins", request.protocol_min, request.protocol_max)
        if len(request.software) > MAX_TEXT:
            raise invalid("software", f"has over {MAX_TEXT} characters.")
        if token.purpose is not Purpose.REGION:
            return
        Jurisdiction.parse(request.jurisdiction)
        check_hosts(request.hosts, self._office.access.trust_domain)
        self._office.check_region(self._region(token.subject))

    def _region(self, subject: str) -> str:
        region = parse(subject, self._office.access.trust_domain).region
        assert region is not None, "a region's token gives a scheduler's ID"
        return region

    def _asked(
        self,
        request: pb.RequestJoinRequest,
        shown: JoinString,
        token: Token,
        bearer: Bearer,
        key_pem: str,
    ) -> JoinRequest:
        return JoinRequest(
            id=token.id,
            region=self._region(token.subject),
            subject=token.subject,
            key_sha256=bearer.key_sha256,
            key_pem=key_pem,
            secret_sha256=hash_secret(shown.secret),
            jurisdiction=request.jurisdiction,
            hosts=tuple(request.hosts),
            software=request.software,
            address=bearer.address,
            inviter=token.creator,
            created_ms=self._office.clock.now().utc_ms,
        )
