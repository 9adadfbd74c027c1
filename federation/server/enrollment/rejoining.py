"""A region that comes back without a certificate: it proves its log's key and is certified again.

No token and no approval: it is the region that was approved once, or nobody could sign for its log.
A region that left or was removed does not come back this way, nor one that is banned.
"""

from federation.domain.region_record import RegionRecord
from federation.domain.states import gone
from federation.server.enrollment.office import Office
from intertie.api.federation.v1 import enrollment_service_pb2 as pb
from intertie.api.federation.v1 import join_pb2
from intertie.errors import IntertieError, Reason, error
from intertie.metering.log.note import Key
from intertie.model import names
from intertie.pki.issue import public_key_of_csr
from intertie.pki.join.hosts import check_hosts
from intertie.pki.join.proof import check_proof
from intertie.pki.join.publickeys import key_digest, key_to_text
from intertie.pki.join.requests import JoinRequest, JoinState
from intertie.pki.spiffe import region_trust_domain
from intertie.telemetry.logs import logger
from intertie.transport.versions import agree
from intertie.wire.join import credentials_to_pb, request_to_pb

_log = logger(__name__)


class Rejoining:
    """See the module's text."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def request(self, request: pb.RequestJoinRequest, address: str) -> join_pb2.Join:
        """Certify the key of the CSR, if the proof names it."""
        office, proof = self._office, request.log_key_proof
        agree("the region", request.protocol_min, request.protocol_max)
        record = self._record(proof.region)
        key = public_key_of_csr(request.csr_pem)
        key_sha256 = key_digest(key)
        try:
            check_proof(
                Key.parse(record.log_vkeys[-1]).public,
                proof.signature,
                region=record.id,
                key_sha256=key_sha256,
                signed_ms=proof.signed_ms,
                now_ms=office.clock.now().utc_ms,
            )
        except IntertieError as problem:
            office.guesses.wrong(address, office.clock.now())
            _log.warning("rejoin refused", region=record.id, address=address, why=str(problem))
            raise
        check_hosts(request.hosts, office.access.trust_domain)
        asked = self._asked(request, record, key_to_text(key), key_sha256, address)
        issuance = await office.registry.rebind(office.signer.region(asked))
        _log.warning("region rejoined", region=record.id, address=address, key=key_sha256)
        message = request_to_pb(asked)
        message.credentials.CopyFrom(credentials_to_pb(issuance, office.signer.trust_pem))
        message.federation.CopyFrom(office.access.to_pb())
        return message

    def _record(self, region: str) -> RegionRecord:
        """The region, if it may come back. One answer for all that is unknown."""
        record = self._office.record_of(region) if names.REGION.fullmatch(region) else None
        if record is None or not record.log_vkeys:
            raise error(
                Reason.PERMISSION_DENIED,
                f"No region {region[:40]!r} with a log has been here.",
                remedy="Join with a token (intertie token create --role region).",
            )
        refused = gone(record)
        if refused is not None:
            raise refused
        if self._office.bans.covers(self._subject(region), ""):
            raise error(
                Reason.BANNED,
                f"Region {region} is banned.",
                remedy="Ask an administrator of the federation.",
            )
        return record

    def _subject(self, region: str) -> str:
        domain = region_trust_domain(region, self._office.access.trust_domain)
        return f"spiffe://{domain}/scheduler"

    def _asked(
        self,
        request: pb.RequestJoinRequest,
        record: RegionRecord,
        key_pem: str,
        key_sha256: str,
        address: str,
    ) -> JoinRequest:
        now_ms = self._office.clock.now().utc_ms
        return JoinRequest(
            id=f"rejoin-{record.id}",
            region=record.id,
            subject=self._subject(record.id),
            key_sha256=key_sha256,
            key_pem=key_pem,
            secret_sha256="",
            jurisdiction=record.jurisdiction,
            hosts=tuple(request.hosts),
            software=request.software,
            address=address,
            created_ms=now_ms,
            state=JoinState.APPROVED,
            decided_ms=now_ms,
            decider="log key",
            reason="proved its log key",
        )
