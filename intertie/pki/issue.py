"""Issues leaves: one URI SAN, never a CA, short-lived, and nothing that the requester asked for.

From a CSR only the public key is used, after its self-signature has been checked; its names are
ignored. Follows X509-SVID sections 2 to 4. Must not decide who may have which ID.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from intertie.errors import Reason, error, invalid
from intertie.pki.authority import Authority, is_address, utc
from intertie.pki.profile import BACKDATE_MS, LEAF_LIFE_MS
from intertie.pki.spiffe import SERVING_ROLES, SpiffeId
from intertie.ports import Now

MAX_CSR_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Issued:
    """A leaf with what must travel with it, as PEM. `serial` is hex as in `Identity`."""

    cert_pem: bytes
    chain_pem: bytes
    trust_pem: bytes
    serial: str
    not_after_ms: int


def public_key_of_csr(csr_pem: bytes) -> ec.EllipticCurvePublicKey:
    """The P-256 key of a CSR whose self-signature holds.

    Raises:
        IntertieError: INVALID_FIELD for `csr_pem` otherwise.
    """
    if len(csr_pem) > MAX_CSR_BYTES:
        raise invalid("csr_pem", f"has {len(csr_pem)} bytes; at most {MAX_CSR_BYTES} are allowed.")
    try:
        csr = x509.load_pem_x509_csr(csr_pem)
        key = csr.public_key()
        signed = csr.is_signature_valid
    except (ValueError, TypeError, InvalidSignature) as problem:
        raise invalid("csr_pem", "is no PKCS#10 request in PEM.") from problem
    if not signed:
        raise invalid("csr_pem", "is not signed by its own key.")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise invalid("csr_pem", "must hold an ECDSA P-256 key.")
    return key


def create_csr(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A request that proves possession of `key`; it names nothing, names would be ignored."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def issue(
    authority: Authority,
    spiffe_id: SpiffeId,
    public_key: ec.EllipticCurvePublicKey,
    now: Now,
    *,
    hosts: Sequence[str] = (),
    life_ms: int | None = None,
) -> Issued:
    """Issue a leaf for `spiffe_id`.

    Args:
        authority: must be the CA of the ID's trust domain.
        spiffe_id: the identity; whoever calls has decided that the key's owner may have it.
        public_key: the key to certify.
        now: the time of issue.
        hosts: host names and addresses that clients dial, for roles that serve.
        life_ms: a shorter life than the role's, in milliseconds.
    """
    _check_authority(authority, spiffe_id)
    if hosts and spiffe_id.role not in SERVING_ROLES:
        raise invalid("hosts", f"{spiffe_id.role} accepts no connections, so it has no hosts.")
    longest_ms = LEAF_LIFE_MS[spiffe_id.role]
    life_ms = longest_ms if life_ms is None else life_ms
    if not 0 < life_ms <= longest_ms:
        raise invalid("life_ms", f"must be above 0 and at most {longest_ms} for {spiffe_id.role}.")
    cert = build_leaf(authority, spiffe_id, public_key, now, life_ms, hosts)
    return Issued(
        cert_pem=_pem(cert),
        chain_pem=b"".join(_pem(above) for above in authority.chain),
        trust_pem=_pem(authority.root),
        serial=f"{cert.serial_number:x}",
        not_after_ms=(now.utc_ms + life_ms) // 1000 * 1000,
    )


def build_leaf(
    authority: Authority,
    spiffe_id: SpiffeId,
    public_key: ec.EllipticCurvePublicKey,
    now: Now,
    life_ms: int,
    hosts: Sequence[str],
) -> x509.Certificate:
    """Build and sign the certificate itself."""
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(str(spiffe_id))]
    names += [x509.DNSName(name) for name in spiffe_id.dns_names]
    names += [_host(host) for host in hosts if host not in spiffe_id.dns_names]
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Intertie")]))
        .issuer_name(authority.cert.subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(utc(now.utc_ms - BACKDATE_MS))
        .not_valid_after(utc(now.utc_ms + life_ms))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_LEAF_USAGE, critical=True)
        .add_extension(_LEAF_PURPOSE, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
    )
    return builder.sign(authority.key, hashes.SHA256())


_LEAF_USAGE = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)
_LEAF_PURPOSE = x509.ExtendedKeyUsage(
    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
)


def _check_authority(authority: Authority, spiffe_id: SpiffeId) -> None:
    if authority.trust_domain != spiffe_id.trust_domain:
        raise error(
            Reason.IDENTITY_INVALID,
            f"The CA of {authority.trust_domain} cannot issue {spiffe_id}.",
            remedy=f"Use the CA of {spiffe_id.trust_domain}.",
        )


def _host(host: str) -> x509.GeneralName:
    if is_address(host):
        return x509.IPAddress(ip_address(host))
    return x509.DNSName(host)


def _pem(cert: x509.Certificate) -> bytes:
    return cert.public_bytes(serialization.Encoding.PEM)
