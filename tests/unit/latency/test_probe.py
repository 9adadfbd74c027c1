"""Probes and echoes as bytes."""

from hypothesis import given
from hypothesis import strategies as st

from intertie.latency import SIZE, echo, is_echo, probe

NONCES = st.binary(min_size=16, max_size=16)


@given(NONCES, NONCES)
def test_an_echo_answers_its_own_probe_and_is_no_longer(nonce: bytes, other: bytes) -> None:
    sent = probe(nonce)
    answer = echo(sent)
    assert answer is not None
    assert len(answer) == len(sent) == SIZE
    assert is_echo(answer, nonce)
    assert is_echo(answer, other) == (nonce == other)


@given(NONCES)
def test_an_echo_is_no_probe_so_beacons_do_not_answer_each_other(nonce: bytes) -> None:
    answer = echo(probe(nonce))
    assert answer is not None
    assert echo(answer) is None


@given(st.binary(max_size=60))
def test_what_is_no_probe_gets_no_answer(datagram: bytes) -> None:
    assert echo(datagram) is None
