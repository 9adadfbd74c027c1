"""Issuing: what a leaf contains, and that nothing in a request but its key counts."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import ExtendedKeyUsageOID

from intertie.errors import IntertieError, Reason
from intertie.pki.authority import create_regional, new_key, root_pin
from intertie.pki.issue import create_csr, issue, public_key_of_csr
from intertie.pki.profile import BACKDATE_MS, HOUR_MS, LEAF_LIFE_MS
from intertie.pki.spiffe import Role
from intertie.ports import Now
from intertie.testing.pki import FederationPki


def leaf_of(
    pki: FederationPki, text: str, now: Now, hosts: tuple[str, ...] = ()
) -> x509.Certificate:
    spiffe_id = pki.spiffe_id(text)
    issued = issue(pki.authority(spiffe_id), spiffe_id, new_key().public_key(), now, hosts=hosts)
    return x509.load_pem_x509_certificate(issued.cert_pem)


def test_a_leaf_has_one_uri_the_derived_name_and_the_dialled_hosts(
    pki: FederationPki, now: Now
) -> None:
    leaf = leaf_of(pki, "federation/r1", now, hosts=("localhost", "127.0.0.1"))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [
        "spiffe://intertie.example/federation/r1"
    ]
    assert names.get_values_for_type(x509.DNSName) == [
        "r1.federation.intertie.example",
        "federation.intertie.example",
        "localhost",
    ]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_leaf_may_sign_handshakes_and_nothing_else(pki: FederationPki, now: Now) -> None:
    extensions = leaf_of(pki, "eu:node/n1", now).extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature
    assert not usage.key_cert_sign
    purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(purposes) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("federation/r1", 24),
        ("eu:scheduler", 24),
        ("eu:node/n1", 1),
        ("eu:operator/olga", 12),
        ("admin/ann", 12),
        ("project/genome/bob", 12),
    ],
)
def test_a_leaf_lives_as_long_as_its_role_says(
    pki: FederationPki, now: Now, text: str, hours: int
) -> None:
    leaf = leaf_of(pki, text, now)
    issued_s = now.utc_ms // 1000
    assert leaf.not_valid_before_utc.timestamp() == pytest.approx(issued_s - 15 * 60, abs=1)
    assert leaf.not_valid_after_utc.timestamp() == pytest.approx(issued_s + hours * 3600, abs=1)
    assert BACKDATE_MS == 15 * 60_000


def test_every_role_that_has_certificates_has_a_life() -> None:
    assert set(LEAF_LIFE_MS) == set(Role) - {Role.ANONYMOUS}


def test_the_names_in_a_request_are_ignored(pki: FederationPki, now: Now) -> None:
    key = new_key()
    wish = x509.SubjectAlternativeName(
        [x509.UniformResourceIdentifier("spiffe://intertie.example/admin/root")]
    )
    csr = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(wish, critical=False)
        .sign(key, hashes.SHA256())
    )
    public_key = public_key_of_csr(csr.public_bytes(serialization.Encoding.PEM))
    spiffe_id = pki.spiffe_id("eu:node/n1")
    issued = issue(pki.regions["eu"], spiffe_id, public_key, now)
    assert b"admin" not in x509.load_pem_x509_certificate(issued.cert_pem).public_bytes(
        serialization.Encoding.DER
    )


def test_a_request_signed_by_another_key_is_refused() -> None:
    der = bytearray(x509.load_pem_x509_csr(create_csr(new_key())).public_bytes(_DER))
    der[-1] ^= 1
    pem = x509.load_der_x509_csr(bytes(der)).public_bytes(serialization.Encoding.PEM)
    with pytest.raises(IntertieError) as caught:
        public_key_of_csr(pem)
    assert caught.value.fields[0].field == "csr_pem"


_DER = serialization.Encoding.DER


@pytest.mark.parametrize("pem", [b"", b"nonsense", b"x" * 20_000])
def test_bytes_that_are_no_request_are_refused(pem: bytes) -> None:
    with pytest.raises(IntertieError) as caught:
        public_key_of_csr(pem)
    assert caught.value.reason is Reason.INVALID_FIELD


def test_a_request_for_another_kind_of_key_is_refused() -> None:
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    ed25519 = builder.sign(Ed25519PrivateKey.generate(), None)
    p384 = builder.sign(ec.generate_private_key(ec.SECP384R1()), hashes.SHA256())
    for csr in (ed25519, p384):
        with pytest.raises(IntertieError, match="P-256"):
            public_key_of_csr(csr.public_bytes(serialization.Encoding.PEM))


def test_a_regional_ca_issues_for_no_other_region(pki: FederationPki, now: Now) -> None:
    with pytest.raises(IntertieError, match=r"cannot issue spiffe://us\."):
        issue(pki.regions["eu"], pki.spiffe_id("us:node/n1"), new_key().public_key(), now)


def test_a_person_gets_no_host_names(pki: FederationPki, now: Now) -> None:
    with pytest.raises(IntertieError, match="hosts"):
        leaf_of(pki, "admin/ann", now, hosts=("federation.intertie.example",))


@pytest.mark.parametrize("life_ms", [0, -1, 25 * HOUR_MS])
def test_a_life_longer_than_the_role_s_is_refused(
    pki: FederationPki, now: Now, life_ms: int
) -> None:
    with pytest.raises(IntertieError, match="life_ms"):
        issue(
            pki.root, pki.spiffe_id("federation/r1"), new_key().public_key(), now, life_ms=life_ms
        )


def test_the_constraint_names_the_region_and_excludes_addresses(
    pki: FederationPki, now: Now
) -> None:
    def constraint(cert: x509.Certificate) -> x509.NameConstraints:
        extension = cert.extensions.get_extension_for_class(x509.NameConstraints)
        assert extension.critical
        return extension.value

    closed = constraint(pki.regions["eu"].cert)
    assert [name.value for name in closed.permitted_subtrees or ()] == ["eu.intertie.example"] * 2
    assert len(closed.excluded_subtrees or ()) == 2
    hosts = ("gw.park.example", "10.0.0.4")
    opened = constraint(create_regional(pki.root, "cn", now, hosts=hosts).cert)
    assert "gw.park.example" in [name.value for name in opened.permitted_subtrees or ()]
    assert opened.excluded_subtrees is None


def test_the_pin_of_a_root_is_the_digest_of_its_public_key(pki: FederationPki) -> None:
    assert len(root_pin(pki.root.cert)) == 64
    assert root_pin(pki.root.cert) != root_pin(pki.regions["eu"].cert)
