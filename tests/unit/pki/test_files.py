"""Identities, CAs and signing keys on disk: modes, cross-checks, rotation, and helpful errors."""

import stat
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.pki.authority import new_key
from intertie.pki.ca_files import load_authority, write_authority
from intertie.pki.keys import generate_signing_key, load_signing_key, seed_of
from intertie.pki.load import IdentityDirectory, key_to_pem, load
from intertie.pki.profile import BACKDATE_MS, renew_at_ms
from intertie.testing.pki import FederationPki

TD = "intertie.example"


def test_an_identity_is_written_closed_and_loads_back(pki: FederationPki) -> None:
    path = pki.directory("eu:node/n1")
    assert {file.name for file in path.iterdir()} == {
        "key.pem",
        "cert.pem",
        "chain.pem",
        "trust.pem",
    }
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in path.iterdir())
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    credentials = load(path, TD)
    assert str(credentials.identity) == "spiffe://eu.intertie.example/node/n1"
    assert credentials.cert_chain_pem.count(b"BEGIN CERTIFICATE") == 2


def _open_key(path: Path) -> None:
    (path / "key.pem").chmod(0o640)


def _no_cert(path: Path) -> None:
    (path / "cert.pem").unlink()


def _other_key(path: Path) -> None:
    (path / "key.pem").write_bytes(key_to_pem(new_key()))


def _broken(name: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        (path / name).write_bytes(b"nonsense")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_open_key, r"key\.pem has mode 0640.*chmod 600 .*key\.pem"),
        (_no_cert, r"cert\.pem does not exist.*intertie ca issue"),
        (_other_key, r"key\.pem is not the key of .*cert\.pem"),
        (_broken("key.pem"), r"key\.pem holds no private key"),
        (_broken("cert.pem"), r"cert\.pem holds no certificate"),
        (_broken("chain.pem"), r"chain\.pem holds no certificate"),
        (_broken("trust.pem"), r"trust\.pem holds no certificate"),
    ],
)
def test_an_error_names_the_file_and_the_remedy(
    pki: FederationPki, spoil: Callable[[Path], None], message: str
) -> None:
    path = pki.directory("eu:node/n1")
    spoil(path)
    with pytest.raises(IntertieError, match=message) as caught:
        load(path, TD)
    assert caught.value.reason is Reason.CONFIG_INVALID


def test_a_directory_in_place_of_a_file_is_named(pki: FederationPki) -> None:
    path = pki.directory("eu:node/n1")
    (path / "key.pem").unlink()
    (path / "key.pem").mkdir()
    with pytest.raises(IntertieError, match=r"key\.pem cannot be read"):
        load(path, TD)


def test_rotation_is_seen_once_and_a_half_written_one_keeps_the_old(pki: FederationPki) -> None:
    path = pki.directory("eu:node/n1")
    directory = IdentityDirectory(path, TD)
    first = directory.current
    assert not directory.refresh()
    pki.directory("eu:node/n1", path=path)
    assert directory.refresh()
    assert directory.current.identity.serial != first.identity.serial
    second = directory.current
    _no_cert(path)
    with pytest.raises(IntertieError):
        directory.refresh()
    assert directory.current is second


def test_a_ca_is_never_overwritten_and_loads_back(pki: FederationPki, tmp_path: Path) -> None:
    for region, authority in ((None, pki.root), ("eu", pki.regions["eu"])):
        path = tmp_path / f"ca-{region}"
        write_authority(path, authority)
        loaded = load_authority(path, TD, region)
        assert loaded.cert == authority.cert
        assert loaded.chain == authority.chain
        with pytest.raises(IntertieError) as caught:
            write_authority(path, authority)
        assert caught.value.reason is Reason.ALREADY_EXISTS


def test_a_ca_with_another_key_is_refused(pki: FederationPki, tmp_path: Path) -> None:
    write_authority(tmp_path / "ca", pki.root)
    (tmp_path / "ca" / "ca-key.pem").write_bytes(key_to_pem(new_key()))
    with pytest.raises(IntertieError, match="is not the key of"):
        load_authority(tmp_path / "ca", TD)
    (tmp_path / "ca" / "ca.pem").write_bytes(b"nonsense")
    with pytest.raises(IntertieError, match=r"ca\.pem holds no certificate"):
        load_authority(tmp_path / "ca", TD)


def test_a_signing_key_is_made_once_and_loads_back(tmp_path: Path) -> None:
    path = tmp_path / "log-key.pem"
    key = generate_signing_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert seed_of(load_signing_key(path)) == seed_of(key)
    assert len(seed_of(key)) == 32
    with pytest.raises(IntertieError) as caught:
        generate_signing_key(path)
    assert caught.value.reason is Reason.ALREADY_EXISTS


def test_a_wrong_signing_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log-key.pem"
    path.touch(mode=0o600)
    with pytest.raises(IntertieError, match=r"log-key\.pem holds no private key"):
        load_signing_key(path)
    path.write_bytes(key_to_pem(new_key()))
    with pytest.raises(IntertieError, match="not Ed25519"):
        load_signing_key(path)
    path.chmod(0o644)
    with pytest.raises(IntertieError, match="mode 0644"):
        load_signing_key(path)


@given(seed=st.integers(), life_ms=st.integers(1000, 10**10))
def test_renewal_lies_between_half_and_two_thirds_of_the_life(seed: int, life_ms: int) -> None:
    issued_ms = 1_800_000_000_000
    at = renew_at_ms(issued_ms - BACKDATE_MS, issued_ms + life_ms, Random(seed))
    assert life_ms / 2 - 1 <= at - issued_ms <= life_ms * 2 / 3 + 1
