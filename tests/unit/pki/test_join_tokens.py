"""How a token is redeemed: once, for one key, in time, from where it may."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError, Reason
from intertie.pki.identity import Identity
from intertie.pki.join.guesses import MOST, Guesses
from intertie.pki.join.hosts import check_hosts
from intertie.pki.join.issued import Issuance, check_free, issued, renewal
from intertie.pki.join.requests import JoinRequest, JoinState, decided
from intertie.pki.join.strings import Purpose, hash_secret
from intertie.pki.join.tokens import REPLAY_MS, Redemption, Token, check_new, redeem
from intertie.pki.profile import DAY_MS, HOUR_MS, MINUTE_MS
from intertie.pki.spiffe import parse
from intertie.testing.clock import FakeClock

SECRET = b"s" * 32
NOW_MS = 1_700_000_000_000
EU = "spiffe://eu.intertie.example/scheduler"
NODE = "spiffe://eu.intertie.example/node/n1"


def token(**changes: Any) -> Token:
    fields: dict[str, Any] = {
        "id": "region-1",
        "purpose": Purpose.REGION,
        "secret_sha256": hash_secret(SECRET),
        "subject": EU,
        "created_ms": NOW_MS,
        "expires_ms": NOW_MS + HOUR_MS,
    }
    return Token(**(fields | changes))


def node_token(**changes: Any) -> Token:
    return token(purpose=Purpose.NODE, subject="", **changes)


def use(of: Token | None, key: str = "k1", **changes: Any) -> Redemption:
    fields: dict[str, Any] = {
        "secret": SECRET,
        "key_sha256": key,
        "subject": EU,
        "address": "10.0.0.7",
        "now_ms": NOW_MS + MINUTE_MS,
    }
    given_ = fields | changes
    return redeem(of, given_.pop("secret"), **given_)


def why(of: Token | None, **changes: Any) -> str:
    with pytest.raises(IntertieError) as caught:
        use(of, **changes)
    assert caught.value.reason is Reason.JOIN_TOKEN_INVALID
    return caught.value.metadata["why"]


def test_a_token_is_used_once_and_bound_to_its_key() -> None:
    used = use(token())
    assert not used.is_replay
    assert used.token.uses == 1
    assert why(used.token, key="k2") == "used"


def test_the_same_key_may_come_again_for_ten_minutes() -> None:
    used = use(token()).token
    at_ms = NOW_MS + MINUTE_MS
    assert use(used, now_ms=at_ms + REPLAY_MS).is_replay
    assert use(used, now_ms=at_ms + REPLAY_MS).token == used
    assert why(used, now_ms=at_ms + REPLAY_MS + 1) == "used"


def test_a_replay_is_answered_though_the_token_has_ended_since() -> None:
    late_ms = NOW_MS + HOUR_MS - 1
    used = use(token(), now_ms=late_ms).token
    assert use(used, now_ms=late_ms + MINUTE_MS).is_replay
    assert why(token(), now_ms=NOW_MS + HOUR_MS) == "expired"


def test_a_guess_and_an_unknown_id_are_told_alike() -> None:
    assert why(None) == why(token(), secret=b"x" * 32) == "unknown"
    assert why(token(revoked=True), secret=b"x" * 32) == "unknown", "nothing is told to a guess"


def test_a_token_of_one_name_gives_no_other() -> None:
    assert why(token(), subject="spiffe://us.intertie.example/scheduler") == "name"


def test_a_token_that_was_taken_back_is_good_for_nothing() -> None:
    used = use(token()).token
    assert why(replace(used, revoked=True)) == "revoked"


def test_a_node_token_counts_its_uses_and_minds_its_networks() -> None:
    made = node_token(max_uses=2, networks=("10.0.0.0/24", "fd00::/8"))
    assert why(made, subject=NODE, address="10.0.1.7") == "network"
    assert why(made, subject=NODE, address="unix") == "network"
    first = use(made, subject=NODE).token
    second = use(first, key="k2", subject=NODE.replace("n1", "n2"), address="fd00::7").token
    assert second.uses == 2
    assert why(second, key="k3", subject=NODE.replace("n1", "n3")) == "used"
    assert use(second, subject=NODE).is_replay


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (token(expires_ms=NOW_MS), "ttl"),
        (token(expires_ms=NOW_MS + HOUR_MS + 1), "ttl"),
        (node_token(expires_ms=NOW_MS + DAY_MS + 1), "ttl"),
        (token(max_uses=2), "max_uses"),
        (node_token(max_uses=0), "max_uses"),
        (node_token(max_uses=10_001), "max_uses"),
        (node_token(networks=("10.0.0.1/8",)), "networks"),
        (node_token(networks=("::/0",) * 33), "networks"),
        (replace(node_token(max_uses=2), subject=NODE), "max_uses"),
    ],
)
def test_a_token_that_nobody_may_make_is_refused_by_field(made: Token, field: str) -> None:
    with pytest.raises(IntertieError) as caught:
        check_new(made)
    assert caught.value.fields[0].field == field


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30 * MINUTE_MS)), max_size=12))
def test_no_history_gives_a_token_to_more_keys_than_it_has_uses(
    history: list[tuple[str, int]],
) -> None:
    made, fresh, now_ms = node_token(max_uses=2), 0, NOW_MS
    for key, passed_ms in history:
        now_ms += passed_ms
        try:
            used = use(made, key=key, subject=NODE + key, now_ms=now_ms)
        except IntertieError:
            continue
        made, fresh = used.token, fresh + (not used.is_replay)
        assert fresh == made.uses <= 2
        assert now_ms < made.expires_ms + REPLAY_MS


# --- names and renewals --------------------------------------------------------------------------


def issuance(**changes: Any) -> Issuance:
    fields: dict[str, Any] = {
        "subject": EU,
        "key_sha256": "k1",
        "serial": "a",
        "issued_ms": NOW_MS,
        "expires_ms": NOW_MS + HOUR_MS,
    }
    return Issuance(**(fields | changes))


def caller(serial: str) -> Identity:
    spiffe_id = parse(EU, "intertie.example")
    return Identity.of(spiffe_id, serial=serial, not_before_ms=0, not_after_ms=NOW_MS * 2)


def test_one_key_per_name() -> None:
    check_free(None, EU, "k2", NOW_MS)
    check_free(issuance(), EU, "k1", NOW_MS)
    for taken in (issuance(), issuance(serial="")):
        with pytest.raises(IntertieError) as caught:
            check_free(taken, EU, "k2", NOW_MS)
        assert caught.value.reason is Reason.ALREADY_EXISTS


def test_a_name_is_free_when_its_certificate_ended_or_was_banned() -> None:
    check_free(issuance(), EU, "k2", NOW_MS + HOUR_MS)
    check_free(issuance(), EU, "k2", NOW_MS, is_banned=True)


def test_only_the_newest_certificate_renews() -> None:
    first = issuance()
    assert renewal(first, caller("a"), "k2") is None
    second = issued(first, issuance(serial="b", key_sha256="k2"))
    assert renewal(second, caller("b"), "k3") is None
    with pytest.raises(IntertieError) as caught:
        renewal(second, caller("a"), "k3")
    assert caught.value.reason is Reason.PERMISSION_DENIED


def test_a_renewal_whose_answer_was_lost_is_answered_again_for_its_key() -> None:
    second = issued(issuance(), issuance(serial="b", key_sha256="k2"))
    assert renewal(second, caller("a"), "k2") == second


# --- requests, hosts, guesses --------------------------------------------------------------------


def test_a_request_is_decided_once() -> None:
    asked = JoinRequest(
        id="region-1",
        region="eu",
        subject=EU,
        key_sha256="k1",
        key_pem="",
        secret_sha256="",
        jurisdiction="DE",
    )
    told = {"decider": "root", "reason": "known", "now_ms": NOW_MS}
    approved = decided(asked, JoinState.APPROVED, **told)  # type: ignore[arg-type]  # as above
    assert approved is not None
    assert approved.state is JoinState.APPROVED
    assert decided(approved, JoinState.APPROVED, **told) is None  # type: ignore[arg-type]  # same
    with pytest.raises(IntertieError) as caught:
        decided(approved, JoinState.REJECTED, **told)  # type: ignore[arg-type]  # as above
    assert caught.value.reason is Reason.WRONG_STATE


@pytest.mark.parametrize(
    "host",
    [
        "intertie.example",
        "example",
        "federation.intertie.example",
        "us.intertie.example",
        "UPPER",
        "a b",
        "-x",
        "",
        "*.corp",
        "a" * 64,
    ],
)
def test_a_region_may_not_reach_into_the_federations_names(host: str) -> None:
    with pytest.raises(IntertieError):
        check_hosts([host], "intertie.example")


def test_names_and_addresses_of_its_own_are_fine() -> None:
    check_hosts(["gpu.corp.internal", "10.1.2.3", "fd00::1", "localhost"], "intertie.example")
    with pytest.raises(IntertieError):
        check_hosts(["a"] * 17, "intertie.example")


def test_guessing_is_slowed_down_by_address_for_a_minute() -> None:
    guesses, clock = Guesses(), FakeClock()
    for _ in range(MOST):
        guesses.check("10.0.0.1", clock.now())
        guesses.wrong("10.0.0.1", clock.now())
    guesses.check("10.0.0.2", clock.now())
    with pytest.raises(IntertieError) as caught:
        guesses.check("10.0.0.1", clock.now())
    assert caught.value.reason is Reason.RATE_LIMITED
    assert 0 < (caught.value.retry_after_ms or 0) <= 60_001
    clock.advance_ns(60 * 10**9)
    guesses.check("10.0.0.1", clock.now())
