"""Signs for the federation: CAs of regions, leaves of people. Must not decide who may have them.

The key is that of the root, or better of an intermediate below it, so that the root stays offline.
"""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from intertie.errors import invalid
from intertie.pki.authority import Authority, root_pin, sign_regional
from intertie.pki.issue import issue
from intertie.pki.join.issued import Issuance
from intertie.pki.join.publickeys import key_digest, key_from_text
from intertie.pki.join.requests import JoinRequest
from intertie.pki.spiffe import parse
from intertie.ports import Clock


class Signer:
    """See the module's text.

    Args:
        authority: the root or its intermediate.
        clock: for validity.
    """

    def __init__(self, authority: Authority, clock: Clock) -> None:
        assert authority.region is None, "a region's CA signs for its own domain only"
        self._authority = authority
        self._clock = clock
        self.pin = root_pin(authority.root)
        self.trust_domain = authority.federation
        self.trust_pem = authority.root.public_bytes(serialization.Encoding.PEM)
        self._chain_pem = "".join(
            cert.public_bytes(serialization.Encoding.PEM).decode() for cert in authority.chain
        )

    def region(self, request: JoinRequest) -> Issuance:
        """Certify a region's CA, constrained to its own names."""
        now = self._clock.now()
        key = key_from_text(request.key_pem)
        cert = sign_regional(self._authority, request.region, key, now, hosts=request.hosts)
        return Issuance(
            subject=request.subject,
            key_sha256=request.key_sha256,
            serial=f"{cert.serial_number:x}",
            issued_ms=now.utc_ms,
            expires_ms=int(cert.not_valid_after_utc.timestamp()) * 1000,
            cert_pem=cert.public_bytes(serialization.Encoding.PEM).decode(),
            chain_pem=self._chain_pem,
            token_id=request.id,
        )

    def leaf(self, subject: str, key: ec.EllipticCurvePublicKey, token_id: str = "") -> Issuance:
        """Issue a leaf to a person or program."""
        now = self._clock.now()
        spiffe_id = parse(subject, self.trust_domain)
        if spiffe_id.region is not None:
            raise invalid("subject", f"{subject} is issued by its region.")
        issued = issue(self._authority, spiffe_id, key, now)
        return Issuance(
            subject=subject,
            key_sha256=key_digest(key),
            serial=issued.serial,
            issued_ms=now.utc_ms,
            expires_ms=issued.not_after_ms,
            cert_pem=issued.cert_pem.decode(),
            chain_pem=issued.chain_pem.decode(),
            token_id=token_id,
        )
