"""etcd over mutual TLS: who is let in, who is not, and going on with new certificates."""

import datetime
import ipaddress
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from intertie.clock import SystemClock
from intertie.store.etcd.channels import Tls
from intertie.store.etcd.client import EtcdClient
from intertie.store.etcd.faults import EtcdUnavailableError
from intertie.store.etcd.port import Write
from intertie.testing.etcd import EtcdServers, ServerTls, etcd_binary, running_etcd
from intertie.testing.watched import Watched

Connect = Callable[..., EtcdClient]


class Authority:
    """A root that signs leaves for 127.0.0.1."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        built = self._certificate(self._name, self._key.public_key(), is_ca=True)
        self.root = built.public_bytes(serialization.Encoding.PEM)

    def leaf(self, name: str) -> tuple[bytes, bytes]:
        """Certificate and key, both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        built = self._certificate(subject, key.public_key(), is_ca=False)
        return built.public_bytes(serialization.Encoding.PEM), key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def _certificate(
        self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey, *, is_ca: bool
    ) -> x509.Certificate:
        now = datetime.datetime.fromtimestamp(SystemClock().now().utc_ms / 1000, datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=15))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        )
        if not is_ca:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(
                x509.SubjectAlternativeName([address]), critical=False
            ).add_extension(x509.ExtendedKeyUsage(both), critical=False)
        return builder.sign(self._key, hashes.SHA256())


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("etcd root")


@pytest.fixture(scope="module")
def tls_etcd(
    authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EtcdServers]:
    if etcd_binary() is None:
        pytest.skip("no etcd on this machine (Debian: apt-get install etcd-server)")
    directory = tmp_path_factory.mktemp("tls-etcd")
    certificate, key = authority.leaf("etcd")
    files = {"root.pem": authority.root, "etcd.pem": certificate, "etcd.key": key}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    paths: list[Path] = [directory / name for name in files]
    with running_etcd(directory / "servers", tls=ServerTls(*paths)) as servers:
        yield servers


def client_tls(authority: Authority, signer: Authority) -> Tls:
    certificate, key = signer.leaf("replica")
    return Tls(root=authority.root, certificate=certificate, key=key)


async def test_a_client_with_a_certificate_of_the_root_is_let_in(
    tls_etcd: EtcdServers, authority: Authority, connect: Connect, root: str
) -> None:
    client = connect(*tls_etcd.endpoints, tls=client_tls(authority, authority))
    await client.txn((), (Write(root + "a", b"1"),))
    async with Watched(client, root) as told:
        await client.txn((), (Write(root + "a", b"2"),))
        await told.until(lambda told: told.rows == {root + "a": b"2"}, 5)


async def test_a_client_with_a_certificate_of_another_root_is_not_let_in(
    tls_etcd: EtcdServers, authority: Authority, connect: Connect, root: str
) -> None:
    client = connect(
        *tls_etcd.endpoints, call_s=1, tls=client_tls(authority, Authority("stranger"))
    )
    with pytest.raises(EtcdUnavailableError):
        await client.get(root + "a")


async def test_a_client_without_tls_is_not_let_in(
    tls_etcd: EtcdServers, connect: Connect, root: str
) -> None:
    with pytest.raises(EtcdUnavailableError):
        await connect(*tls_etcd.endpoints, call_s=1).get(root + "a")


async def test_a_server_of_another_root_is_not_trusted(
    tls_etcd: EtcdServers, authority: Authority, connect: Connect, root: str
) -> None:
    tls = client_tls(Authority("another etcd"), authority)
    with pytest.raises(EtcdUnavailableError, match="CERTIFICATE_VERIFY_FAILED"):
        await connect(*tls_etcd.endpoints, call_s=1, tls=tls).get(root + "a")


async def test_new_certificates_are_taken_up_without_a_gap_in_a_watch(
    tls_etcd: EtcdServers, authority: Authority, connect: Connect, root: str
) -> None:
    client = connect(*tls_etcd.endpoints, tls=client_tls(authority, authority))
    async with Watched(client, root) as told:
        await client.txn((), (Write(root + "a", b"1"),))
        await client.replace_tls(client_tls(authority, authority))
        await client.txn((), (Write(root + "a", b"2"),))
        await told.until(lambda told: told.rows == {root + "a": b"2"}, 5)
    assert told.resyncs == 1


def test_a_private_key_is_not_shown_when_tls_is_printed(authority: Authority) -> None:
    tls = client_tls(authority, authority)
    assert "PRIVATE" not in repr(tls)
