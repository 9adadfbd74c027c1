"""Certificate authorities: the federation's root and the regional CAs that it name-constrains.

Keys are ECDSA P-256, which every TLS library accepts (BoringSSL offers no Ed25519 by default).
The constraint holds a region to its own trust domain for URIs and host names. BoringSSL cannot
evaluate IP constraints, so IP addresses are excluded altogether unless the root allows them.
Must not write files and must not issue leaves (`issue`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from intertie.pki.profile import BACKDATE_MS, CA_LIFE_MS, REGIONAL_CA_LIFE_MS
from intertie.pki.spiffe import check_trust_domain, region_trust_domain
from intertie.ports import Now

ALL_ADDRESSES = (ip_network("0.0.0.0/0"), ip_network("::/0"))


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA: its key, its certificate, and the certificates above it except the root itself.

    `federation` is the federation's trust domain; `region` is None for the root.
    """

    key: ec.EllipticCurvePrivateKey
    cert: x509.Certificate
    chain: tuple[x509.Certificate, ...]
    root: x509.Certificate
    federation: str
    region: str | None

    @property
    def trust_domain(self) -> str:
        """The trust domain whose IDs this CA issues."""
        if self.region is None:
            return self.federation
        return region_trust_domain(self.region, self.federation)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh P-256 key."""
    return ec.generate_private_key(ec.SECP256R1())


def utc(ms: int) -> datetime:
    """An instant as X.509 wants it: whole seconds."""
    return datetime.fromtimestamp(ms // 1000, UTC)


def create_root(
    federation: str, now: Now, *, key: ec.EllipticCurvePrivateKey | None = None
) -> Authority:
    """Make the root of a federation."""
    check_trust_domain(federation)
    key = key or new_key()
    name = _name(f"root of {federation}")
    builder = _ca(name, name, key.public_key(), now, CA_LIFE_MS, path_length=2)
    # X509-SVID section 4.2: a signing certificate may name its trust domain. Whoever joins with
    # nothing but the hash of this key learns the domain from it, and from no leaf.
    uri = x509.UniformResourceIdentifier(f"spiffe://{federation}")
    builder = builder.add_extension(x509.SubjectAlternativeName([uri]), critical=False)
    cert = builder.sign(key, hashes.SHA256())
    return Authority(key, cert, (), cert, federation, None)


def create_intermediate(root: Authority, now: Now) -> Authority:
    """Make a CA that signs for the federation while the root's key stays offline.

    A replica that lets regions and people join holds this one; it can be replaced without a change
    of the root that everybody trusts.
    """
    assert root.region is None, "only the root makes intermediates"
    assert not root.chain, "an intermediate below an intermediate"
    key = new_key()
    builder = _ca(
        _name(f"signer of {root.federation}"),
        root.cert.subject,
        key.public_key(),
        now,
        REGIONAL_CA_LIFE_MS,
        path_length=1,
    ).add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(root.key.public_key()), critical=False
    )
    cert = builder.sign(root.key, hashes.SHA256())
    return Authority(key, cert, (cert,), root.root, root.federation, None)


def create_regional(
    root: Authority,
    region: str,
    now: Now,
    *,
    hosts: Sequence[str] = (),
    key: ec.EllipticCurvePrivateKey | None = None,
) -> Authority:
    """Make a regional CA under `root`, held by the region's operator.

    Args:
        root: the federation's root, or its intermediate.
        region: the region id; the CA is constrained to `<region>.<federation>`.
        now: the time of issue.
        hosts: further host names, or addresses, under which the region's scheduler is dialled.
        key: the region's key; made here if absent.
    """
    assert root.region is None, "only the root makes regional CAs"
    key = key or new_key()
    cert = sign_regional(root, region, key.public_key(), now, hosts=hosts)
    return Authority(key, cert, (cert, *root.chain), root.root, root.federation, region)


def sign_regional(
    root: Authority,
    region: str,
    public_key: ec.EllipticCurvePublicKey,
    now: Now,
    *,
    hosts: Sequence[str] = (),
) -> x509.Certificate:
    """Certify a region's CA key, which may have been made elsewhere."""
    domain = region_trust_domain(region, root.federation)
    builder = _ca(
        _name(f"CA of {domain}"),
        root.cert.subject,
        public_key,
        now,
        REGIONAL_CA_LIFE_MS,
        path_length=0,
    )
    builder = builder.add_extension(_constraint(domain, hosts), critical=True)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(root.key.public_key()), critical=False
    )
    return builder.sign(root.key, hashes.SHA256())


def root_pin(root: x509.Certificate) -> str:
    """SHA-256 of the root's SubjectPublicKeyInfo in hex: what a join token carries."""
    digest = hashes.Hash(hashes.SHA256())
    digest.update(
        root.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return digest.finalize().hex()


def trust_domain_of(root: x509.Certificate) -> str | None:
    """The trust domain that a root names; None if it names none."""
    try:
        names = root.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None
    uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    if len(uris) != 1 or not uris[0].startswith("spiffe://"):
        return None
    return check_trust_domain(uris[0].removeprefix("spiffe://"))


def is_address(host: str) -> bool:
    """True for an IPv4 or IPv6 literal."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _constraint(domain: str, hosts: Sequence[str]) -> x509.NameConstraints:
    names = [domain, *(host for host in hosts if not is_address(host))]
    addresses_allowed = any(is_address(host) for host in hosts)
    return x509.NameConstraints(
        permitted_subtrees=[
            x509.UniformResourceIdentifier(domain),
            *(x509.DNSName(name) for name in names),
        ],
        excluded_subtrees=None
        if addresses_allowed
        else [x509.IPAddress(network) for network in ALL_ADDRESSES],
    )


def _name(common_name: str) -> x509.Name:
    # X.520 limits a common name to 64 characters; it is for people, the ID is in the URI SAN.
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Intertie"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64]),
        ]
    )


def _ca(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: Now,
    life_ms: int,
    path_length: int,
) -> x509.CertificateBuilder:
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(utc(now.utc_ms - BACKDATE_MS))
        .not_valid_after(utc(now.utc_ms + life_ms))
        .add_extension(x509.BasicConstraints(ca=True, path_length=path_length), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )
