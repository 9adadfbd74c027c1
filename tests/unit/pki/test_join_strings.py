"""Join strings: what they hold, and how clearly a damaged one is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import IntertieError
from intertie.pki.join.strings import (
    JoinString,
    Purpose,
    hash_secret,
    is_secret,
    new_join_string,
    parse_join_string,
)
from intertie.testing.clock import FakeClock, SeededIds

PIN = "ab" * 32


def make(purpose: Purpose = Purpose.REGION, region: str = "", request: str = "") -> JoinString:
    ids = SeededIds(1, FakeClock())
    return new_join_string(purpose, PIN, ids, region=region, request=request)


@pytest.mark.parametrize("purpose", list(Purpose))
def test_a_string_says_what_it_is_for_and_comes_back(purpose: Purpose) -> None:
    made = make(purpose, region="suzhou-core" if purpose is Purpose.NODE else "")
    assert parse_join_string(f" {made.reveal()}\n") == made
    assert made.token_id.startswith(purpose)


def test_a_node_token_names_its_region() -> None:
    assert parse_join_string(make(Purpose.NODE, "eu-west-1").reveal()).region == "eu-west-1"


def test_the_secret_is_in_the_string_alone() -> None:
    made = make()
    secret = made.reveal().split(".")[2]
    assert secret not in repr(made)
    assert secret not in hash_secret(made.secret)
    assert is_secret(made.secret, hash_secret(made.secret))
    assert not is_secret(b"x" * 32, hash_secret(made.secret))


def test_the_same_request_gives_the_same_id_and_another_secret() -> None:
    ids = SeededIds(1, FakeClock())
    first, second = (new_join_string(Purpose.ADMIN, PIN, ids, request="root\n1") for _ in range(2))
    assert first.token_id == second.token_id
    assert first.secret != second.secret


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: "", "is no join string"),
        (lambda text: "hello", "is no join string"),
        (lambda text: text.replace("intertie1", "intertie2"), "another version (intertie2)"),
        (lambda text: text.rpartition(".")[0], "has 3 parts"),
        (lambda text: text[:-3], "no SHA-256"),
        (lambda text: text + "." + text, "characters"),
        (lambda text: text.replace("region-", "planet-"), "planet"),
        (lambda text: text.replace("region-", "../-"), "parts"),
        (lambda text: text.replace("region-", "REGION-"), "token id"),
        (lambda text: ".".join([*text.split(".")[:2], "short", PIN]), "secret"),
        (lambda text: ".".join([*text.split(".")[:2], "ü" * 43, PIN]), "secret"),
    ],
)
def test_what_is_wrong_with_a_string_is_named(damage: object, told: str) -> None:
    assert callable(damage)
    with pytest.raises(IntertieError) as caught:
        parse_join_string(damage(make().reveal()))
    assert told in caught.value.message
    assert caught.value.remedy


@given(st.text(max_size=300))
def test_whatever_is_no_join_string_is_refused_and_never_shown(text: str) -> None:
    with pytest.raises(IntertieError) as caught:
        parse_join_string(f"intertie1.region-0123456789abcdef.{text}.{PIN}")
    assert len(text) < 20 or text not in caught.value.message
