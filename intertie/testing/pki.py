"""A federation's certificates for tests: real CAs, identity directories in a moment, and forgeries.

`testing_federation(tmp_path, regions=["eu"])` makes the root and the regional CAs;
`directory("spiffe://...")` issues an identity and returns its directory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from intertie.clock import SystemClock
from intertie.pki.authority import Authority, create_regional, create_root, new_key, utc
from intertie.pki.bans import Bans
from intertie.pki.check import PeerCheck
from intertie.pki.issue import Issued, issue
from intertie.pki.load import IdentityDirectory, write_identity
from intertie.pki.profile import BACKDATE_MS, HOUR_MS
from intertie.pki.spiffe import SERVING_ROLES, SpiffeId, parse
from intertie.ports import Clock

TRUST_DOMAIN = "intertie.example"
LOOPBACK_HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Forgery:
    """A leaf with chosen faults; the defaults are those of a good one.

    `dns` and `uris` are written as they stand. Instants are relative to now, in milliseconds.
    """

    uris: Sequence[str]
    dns: Sequence[str] = ()
    ca: bool = False
    starts_in_ms: int = -BACKDATE_MS
    ends_in_ms: int = HOUR_MS
    purposes: Sequence[x509.ObjectIdentifier] = (
        ExtendedKeyUsageOID.SERVER_AUTH,
        ExtendedKeyUsageOID.CLIENT_AUTH,
    )


@dataclass(slots=True)
class FederationPki:
    """The CAs of a federation and a folder for identities."""

    path: Path
    root: Authority
    regions: Mapping[str, Authority]
    clock: Clock
    bans: Bans = field(default_factory=Bans)
    _count: int = 0

    @property
    def trust_domain(self) -> str:
        """The federation's trust domain."""
        return self.root.federation

    def spiffe_id(self, text: str) -> SpiffeId:
        """Parse an ID; `federation/r1` and `eu:node/n1` are short forms."""
        if not text.startswith("spiffe://"):
            region, colon, path = text.rpartition(":")
            host = f"{region}.{self.trust_domain}" if colon else self.trust_domain
            text = f"spiffe://{host}/{path}"
        return parse(text, self.trust_domain)

    def authority(self, spiffe_id: SpiffeId) -> Authority:
        """The CA that issues the ID."""
        return self.root if spiffe_id.region is None else self.regions[spiffe_id.region]

    def directory(
        self,
        text: str,
        *,
        clock: Clock | None = None,
        life_ms: int | None = None,
        path: Path | None = None,
    ) -> Path:
        """Issue an identity and return its directory; `path` rotates an existing one."""
        spiffe_id = self.spiffe_id(text)
        # The regional CAs of this builder allow no addresses, as a region's should not.
        serves = spiffe_id.role in SERVING_ROLES and spiffe_id.region is None
        key = new_key()
        issued = issue(
            self.authority(spiffe_id),
            spiffe_id,
            key.public_key(),
            (clock or self.clock).now(),
            hosts=LOOPBACK_HOSTS if serves else (),
            life_ms=life_ms,
        )
        return self._written(key, issued, path)

    def identity(self, text: str) -> IdentityDirectory:
        """Issue an identity and load it."""
        return IdentityDirectory(self.directory(text), self.trust_domain)

    def forge(self, forgery: Forgery, authority: Authority | None = None) -> Path:
        """Write an identity directory with a faulty leaf, signed by `authority` (the root)."""
        authority = authority or self.root
        key = new_key()
        cert = _forged(forgery, authority, key.public_key(), self.clock.now().utc_ms)
        issued = Issued(
            cert_pem=cert.public_bytes(serialization.Encoding.PEM),
            chain_pem=b"".join(
                above.public_bytes(serialization.Encoding.PEM) for above in authority.chain
            ),
            trust_pem=self.root.root.public_bytes(serialization.Encoding.PEM),
            serial=f"{cert.serial_number:x}",
            not_after_ms=0,
        )
        return self._written(key, issued, None)

    def check(self) -> PeerCheck:
        """A check of peers over this federation's ban list."""
        return PeerCheck(self.trust_domain, self.bans)

    def _written(self, key: ec.EllipticCurvePrivateKey, issued: Issued, path: Path | None) -> Path:
        if path is None:
            self._count += 1
            path = self.path / f"identity-{self._count}"
        write_identity(path, key, issued)
        return path


def federation_pki(
    path: Path,
    *,
    regions: Sequence[str] = ("eu",),
    trust_domain: str = TRUST_DOMAIN,
    clock: Clock | None = None,
) -> FederationPki:
    """Make the CAs of a federation in memory; identity directories go under `path`."""
    clock = clock or SystemClock()
    root = create_root(trust_domain, clock.now())
    regional = {region: create_regional(root, region, clock.now()) for region in regions}
    return FederationPki(path, root, regional, clock)


testing_federation = federation_pki
testing_federation.__test__ = False  # type: ignore[attr-defined]  # its name looks like a test's


def _forged(
    forgery: Forgery, authority: Authority, public_key: ec.EllipticCurvePublicKey, utc_ms: int
) -> x509.Certificate:
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(uri) for uri in forgery.uris]
    names += [x509.DNSName(name) for name in forgery.dns]
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=forgery.ca,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Forger")]))
        .issuer_name(authority.cert.subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(utc(utc_ms + forgery.starts_in_ms))
        .not_valid_after(utc(utc_ms + forgery.ends_in_ms))
        .add_extension(x509.BasicConstraints(ca=forgery.ca, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage(list(forgery.purposes)), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(authority.key, hashes.SHA256())
