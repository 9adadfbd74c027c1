"""What a joining server refuses, over real TLS, and how clearly it says so."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from intertie.clock import SystemClock, SystemIds
from intertie.errors import IntertieError, Reason
from intertie.pki.authority import create_root, new_key, root_pin
from intertie.pki.issue import create_csr
from intertie.pki.join.guesses import MOST
from intertie.pki.join.strings import Purpose, new_join_string, parse_join_string
from intertie.sdk.membership.joiner import Joiner
from intertie.transport.joining.pinning import fetch_pinned

PLACE: dict[str, Any] = {"jurisdiction": "DE/DE-HE/fra1"}
MINUTE_MS = 60_000


async def refused(joiner_of: Any, csr: bytes = b"", **more: Any) -> IntertieError:
    """Why a join is refused."""
    async with await joiner_of as joiner:
        with pytest.raises(IntertieError) as caught:
            await joiner.request_join(csr or create_csr(new_key()), **(PLACE | more))
    return caught.value


def why(problem: IntertieError) -> str:
    assert problem.reason is Reason.JOIN_TOKEN_INVALID
    assert problem.remedy
    return problem.metadata["why"]


def test_another_key_gets_nothing_from_a_used_token(place: Any) -> None:
    token = place.token("region", "--region", "eu")

    async def go() -> None:
        key = create_csr(new_key())
        async with await Joiner.open(place.endpoint, token) as joiner:
            first = await joiner.request_join(key, **PLACE)
            assert await joiner.request_join(key, **PLACE) == first, "the same key may come again"
            assert (await joiner.get_join()).state == first.state
        assert why(await refused(Joiner.open(place.endpoint, token))) == "used"

    asyncio.run(go())


def test_a_second_region_of_the_same_name_is_refused(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    second = place.token("region", "--region", "eu", "--pre-approved")
    told = place.join_region(second, tmp_path / "eu-2", expect=7)
    assert "is taken by another key" in told.output


def test_a_directory_of_another_region_is_refused(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    other = place.token("region", "--region", "us", "--pre-approved")
    told = place.join_region(other, tmp_path / "eu", expect=2)
    assert "holds region eu, and the token is for us" in told.output
    place.join_region(other, tmp_path / "us")


def test_a_removed_region_stays_removed(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    waiting = place.token("region", "--region", "eu")
    place.cli("region", "remove", "eu", "--reason", "gone", "--yes")
    told = place.join_region(waiting, tmp_path / "eu", expect=6)
    assert "was removed from the federation, for good" in told.output
    place.cli("token", "create", "--role", "region", "--region", "eu", expect=6)


def test_a_token_of_another_federation_is_unknown_here(place: Any) -> None:
    pin = parse_join_string(place.token("region", "--region", "eu")).pin
    foreign = new_join_string(Purpose.REGION, pin, SystemIds()).reveal()
    problem = asyncio.run(refused(Joiner.open(place.endpoint, foreign)))
    assert why(problem) == "unknown"


def test_a_server_with_another_root_is_told_nothing(place: Any) -> None:
    other = root_pin(create_root("other.example", SystemClock().now()).cert)
    token = new_join_string(Purpose.REGION, other, SystemIds()).reveal()
    told = place.join(token, "--dir", "x", "--jurisdiction", "DE/DE-HE/fra1", expect=6)
    assert "its root is not the one that the token names" in told.output
    assert "somebody may be between you and the server" in told.output


def test_a_clock_that_is_eleven_minutes_off_is_named(place: Any) -> None:
    token = place.token("region", "--region", "eu")
    clock = SystemClock(offset_ms=11 * MINUTE_MS)
    problem = asyncio.run(refused(Joiner.open(place.endpoint, token, clock=clock)))
    assert problem.reason is Reason.CLOCK_SKEW
    assert "11.0 minutes ahead" in problem.message


def test_names_in_a_csr_are_ignored(place: Any) -> None:
    token = place.token("client", "--project", "demo", "--name", "ann")
    key = new_key()
    builder = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "root")]))
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    x509.UniformResourceIdentifier("spiffe://intertie.example/admin/root"),
                    x509.DNSName("federation.intertie.example"),
                ]
            ),
            critical=False,
        )
    )
    csr = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    async def go() -> bytes:
        async with await Joiner.open(place.endpoint, token) as joiner:
            credentials = (await joiner.request_join(csr)).credentials
            assert credentials is not None
            return credentials.cert_pem

    names = x509.load_pem_x509_certificate(asyncio.run(go())).extensions
    sans = names.get_extension_for_class(x509.SubjectAlternativeName).value
    uris = sans.get_values_for_type(x509.UniformResourceIdentifier)
    assert uris == ["spiffe://intertie.example/project/demo/ann"]
    assert sans.get_values_for_type(x509.DNSName) == ["ann.demo.project.intertie.example"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"jurisdiction": "Atlantis"}, "jurisdiction"),
        ({"hosts": ["federation.intertie.example"]}, "hosts"),
        ({"csr": b"-----BEGIN NONSENSE-----"}, "csr_pem"),
    ],
)
def test_a_bad_field_is_named_and_uses_nothing_up(place: Any, more: Any, told: str) -> None:
    token = place.token("region", "--region", "eu")
    problem = asyncio.run(refused(Joiner.open(place.endpoint, token), **more))
    assert problem.fields[0].field == told
    place.join_region(token, place.path / "eu", "--no-wait")


def test_guesses_are_slowed_down_and_a_right_token_of_elsewhere_is_not(place: Any) -> None:
    pin = parse_join_string(place.token("region", "--region", "eu")).pin

    async def go() -> list[Reason]:
        token = new_join_string(Purpose.REGION, pin, SystemIds()).reveal()
        found = []
        async with await Joiner.open(place.endpoint, token) as joiner:
            for _ in range(MOST + 1):
                with pytest.raises(IntertieError) as caught:
                    await joiner.request_join(b"x", **PLACE)
                found.append(caught.value.reason)
        return found

    reasons = asyncio.run(go())
    assert set(reasons[:-1]) == {Reason.JOIN_TOKEN_INVALID}
    assert reasons[-1] is Reason.RATE_LIMITED


def test_the_joining_port_serves_nothing_else(place: Any) -> None:
    place.cli("whoami")
    told = place.cli(
        "context",
        "add",
        "x",
        "--endpoint",
        place.endpoint,
        "--identity",
        str(place.pki.directory("admin/root")),
    )
    assert told.exit_code == 0
    assert "client certificate" in place.cli("whoami", expect=6).output


def test_a_check_says_what_is_in_order_and_changes_nothing(place: Any) -> None:
    token = place.token("region", "--region", "eu")
    argv = ("--jurisdiction", "DE/DE-HE/fra1", "--host", "localhost", "--check")
    for _ in range(2):
        told = place.join(token, *argv)
        assert told.stdout.count("ok  ") == 4
    assert place.json("region", "requests")["joins"] == []


def test_an_unreachable_federation_is_told_with_a_remedy(place: Any) -> None:
    token = place.token("client", "--project", "demo", "--name", "ann")
    told = place.cli("join", token, "--endpoint", "127.0.0.1:1", config="x.toml", expect=5)
    assert "Check the address" in told.output


def test_a_rejected_region_hears_why(place: Any, tmp_path: Path) -> None:
    token = place.token("region", "--region", "eu")
    place.join_region(token, tmp_path / "eu", "--no-wait")
    place.cli("region", "reject", "eu", "--reason", "not a member of the campus")
    told = place.join_region(token, tmp_path / "eu", expect=4)
    assert "not a member of the campus" in told.output


async def test_a_chain_without_the_pinned_root_is_not_believed(place: Any) -> None:
    with pytest.raises(IntertieError) as caught:
        await fetch_pinned(place.endpoint, "0" * 64)
    assert caught.value.reason is Reason.IDENTITY_INVALID
