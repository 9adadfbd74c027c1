"""Tokens: an order that only grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.errors import CallerError
from intertie.model.token import Epoch, Token

COUNTS = st.integers(0, 10**12)
TOKENS = st.builds(Token, st.builds(Epoch, COUNTS, COUNTS), COUNTS)


@given(TOKENS, TOKENS)
def test_tokens_compare_by_generation_then_epoch_then_sub_epoch(one: Token, other: Token) -> None:
    def key(token: Token) -> tuple[int, int, int]:
        return token.epoch.generation, token.epoch.n, token.sub

    assert (one < other) == (key(one) < key(other))


@given(TOKENS)
def test_the_next_token_and_the_next_epoch_replace_the_present_one(token: Token) -> None:
    assert token < token.next()
    assert token.next() < Token(token.epoch.next(), 0)
    restored = Epoch(token.epoch.generation + 1, 0)
    assert token.epoch.next() < restored


@given(TOKENS)
def test_a_token_comes_back_equal_from_its_text(token: Token) -> None:
    assert Token.parse(str(token)) == token


@pytest.mark.parametrize(
    "text",
    ["", "1", "1-2", "1.2", "-1-2.3", "1-2.3.4", "1-2.x", "1-²1.1", "1" * 17],
)
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(CallerError, match=r"GENERATION-N\.SUB"):
        Token.parse(text)
