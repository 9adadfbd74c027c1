"""What enrolment stands on: the registry, the region's CA, what a node is told.

A region without its CA's key at hand serves the methods all the same and says what is missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from intertie.errors import Reason, error
from intertie.pki.authority import Authority, root_pin
from intertie.pki.issue import issue
from intertie.pki.join.guesses import Guesses
from intertie.pki.join.issued import Issuance
from intertie.pki.join.publickeys import key_digest
from intertie.pki.spiffe import SpiffeId, parse
from intertie.ports import Clock, IdSource
from intertie.store.enrollment.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What a node must know of the region."""

    region: str
    trust_domain: str
    jurisdiction: str
    endpoints: Sequence[str]
    join_endpoints: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """See the module's text."""

    registry: Registry
    site: Site
    clock: Clock
    ids: IdSource
    signing: Authority | None = None
    guesses: Guesses = field(default_factory=Guesses)

    @property
    def authority(self) -> Authority:
        """The region's CA. Raises CONFIG_INVALID where its key is not at hand."""
        if self.signing is None:
            raise error(
                Reason.CONFIG_INVALID,
                "This scheduler holds no key to certify nodes with.",
                remedy="Set enrollment.ca_dir and enrollment.listen in its configuration.",
            )
        return self.signing

    @property
    def pin(self) -> str:
        """Of the federation's root."""
        return root_pin(self.authority.root)

    @property
    def trust_pem(self) -> bytes:
        """The federation's root."""
        return self.authority.root.public_bytes(serialization.Encoding.PEM)

    def node(self, id_: str) -> SpiffeId:
        """The SPIFFE ID of a node. Raises IDENTITY_INVALID for what is no node id."""
        domain = f"{self.site.region}.{self.site.trust_domain}"
        return parse(f"spiffe://{domain}/node/{id_}", self.site.trust_domain)

    def leaf(self, subject: str, key: ec.EllipticCurvePublicKey, token_id: str = "") -> Issuance:
        """Issue a leaf to a node or an operator."""
        now = self.clock.now()
        issued = issue(self.authority, parse(subject, self.site.trust_domain), key, now)
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
