"""The check of a peer's leaf: one URI, time, clocks, bans; and that a good leaf passes."""

from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from intertie.clock import SystemClock
from intertie.errors import IntertieError, Reason
from intertie.pki.profile import BACKDATE_MS, HOUR_MS, MINUTE_MS
from intertie.pki.spiffe import Role
from intertie.ports import Now
from intertie.testing.pki import FederationPki, Forgery

NODE = "spiffe://eu.intertie.example/node/n1"


def leaf(path: Path) -> bytes:
    return (path / "cert.pem").read_bytes()


def shifted(now: Now, ms: int) -> Now:
    return Now(now.boot_ns, now.boot_id, now.utc_ms + ms)


def refused(pki: FederationPki, pem: bytes, now: Now) -> Reason:
    with pytest.raises(IntertieError) as caught:
        pki.check()(pem, now)
    assert caught.value.remedy
    return caught.value.reason


def test_a_good_leaf_gives_its_identity(pki: FederationPki, now: Now) -> None:
    identity = pki.check()(leaf(pki.directory("project/genome/bob")), now)
    assert identity.role is Role.PROJECT
    assert (identity.project, identity.region, identity.name) == ("genome", None, "bob")
    assert str(identity) == "spiffe://intertie.example/project/genome/bob"
    assert identity.not_after_ms > now.utc_ms
    assert int(identity.serial, 16) > 0


@pytest.mark.parametrize(
    ("forgery", "message"),
    [
        (Forgery(uris=()), "0 URI names"),
        (Forgery(uris=(), dns=("n1.example",)), "0 URI names"),
        (Forgery(uris=(NODE, NODE + "2")), "2 URI names"),
        (Forgery(uris=(NODE, NODE)), "2 URI names"),
        (Forgery(uris=("spiffe://other.example/admin/ann",)), "trust domain"),
        (Forgery(uris=("spiffe://intertie.example/root",)), "no role"),
        (Forgery(uris=(NODE,), ca=True), "is a CA"),
        (Forgery(uris=(NODE,), purposes=(ExtendedKeyUsageOID.SERVER_AUTH,)), "clientAuth"),
    ],
)
def test_a_faulty_leaf_is_no_identity(
    pki: FederationPki, now: Now, forgery: Forgery, message: str
) -> None:
    with pytest.raises(IntertieError, match=message) as caught:
        pki.check()(leaf(pki.forge(forgery)), now)
    assert caught.value.reason is Reason.IDENTITY_INVALID


def test_a_faulty_leaf_is_refused_from_the_cache_too(pki: FederationPki, now: Now) -> None:
    check, pem = pki.check(), leaf(pki.forge(Forgery(uris=())))
    for _ in range(2):
        with pytest.raises(IntertieError, match="0 URI names"):
            check(pem, now)


def test_bytes_that_are_no_certificate_are_no_identity(pki: FederationPki, now: Now) -> None:
    assert refused(pki, b"garbage", now) is Reason.IDENTITY_INVALID


def test_an_expired_leaf_is_refused_from_its_last_second_on(pki: FederationPki, now: Now) -> None:
    pem = leaf(pki.directory("eu:node/n1", life_ms=HOUR_MS))
    assert pki.check()(pem, shifted(now, HOUR_MS - 2000)).role is Role.NODE
    assert refused(pki, pem, shifted(now, HOUR_MS + 1000)) is Reason.CERTIFICATE_EXPIRED


def test_a_clock_nine_minutes_off_passes_and_eleven_is_named(pki: FederationPki, now: Now) -> None:
    for minutes, passes in ((9, True), (11, False)):
        pem = leaf(pki.directory("eu:node/n1", clock=SystemClock(offset_ms=minutes * MINUTE_MS)))
        if passes:
            assert pki.check()(pem, now).role is Role.NODE
        else:
            assert refused(pki, pem, now) is Reason.CLOCK_SKEW


def test_a_leaf_that_starts_later_names_the_clocks(pki: FederationPki, now: Now) -> None:
    pem = leaf(pki.forge(Forgery(uris=(NODE,), starts_in_ms=HOUR_MS, ends_in_ms=2 * HOUR_MS)))
    assert refused(pki, pem, now) is Reason.CLOCK_SKEW
    assert BACKDATE_MS > 10 * MINUTE_MS


def test_a_ban_by_serial_and_by_id_holds_at_once(pki: FederationPki, now: Now) -> None:
    check = pki.check()
    first, second = (leaf(pki.directory("eu:node/n1")) for _ in range(2))
    identity = check(first, now)
    pki.bans.ban(serials=[identity.serial.upper().rjust(42, "0")])
    with pytest.raises(IntertieError) as caught:
        check(first, now)
    assert caught.value.reason is Reason.BANNED
    assert check(second, now).name == "n1"
    pki.bans.ban(ids=[NODE])
    assert refused(pki, second, now) is Reason.BANNED
    pki.bans.replace([], [])
    assert check(first, now).name == "n1"


def test_listeners_hear_of_each_change_until_they_leave(pki: FederationPki) -> None:
    heard: list[int] = []

    def listener() -> None:
        heard.append(len(pki.bans.ids))

    pki.bans.listen(listener)
    pki.bans.ban(ids=[NODE])
    pki.bans.forget(listener)
    pki.bans.ban(ids=[NODE + "2"])
    assert heard == [1]
