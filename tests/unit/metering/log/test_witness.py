"""The witness: every answer that C2SP tlog-witness and metering.md name."""

from dataclasses import replace
from hashlib import sha256

import pytest

from intertie.errors import IntertieError, Reason
from intertie.metering.faults import MeteringError
from intertie.metering.log import checkpoint, merkle, note
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import EMPTY_ROOT, CompactRange
from intertie.metering.log.note import Note, Signer
from intertie.metering.log.witness import (
    SIZE_TYPE,
    Decision,
    WitnessState,
    adopt,
    build_request,
    decide,
    parse_request,
)

ORIGIN = "fed.example/region/r1/metering"
LOG = Signer.from_seed(ORIGIN, b"\x01" * 32)
OWN = Signer.from_seed("fed.example/witness", b"\x02" * 32, 4)
HASHES = [sha256(bytes([n])).digest() for n in range(20)]
NODE = merkle.nodes_of(HASHES)


def root(size: int) -> bytes:
    return CompactRange().extend(HASHES[:size]).root()


def signed(size: int, log: Signer = LOG, of: bytes | None = None) -> bytes:
    return checkpoint.sign(Checkpoint(log.key.name, size, of or root(size)), log)


def request(old: int, new: int) -> bytes:
    return build_request(old, merkle.consistency_proof(NODE, old, new), signed(new))


def answer(state: WitnessState, body: bytes) -> Decision:
    return decide({ORIGIN: state}, {ORIGIN: [LOG.key]}, body, witness=OWN, time_s=1_000)


def test_a_consistent_log_is_cosigned_step_by_step() -> None:
    state = WitnessState()
    for old, new in [(0, 3), (3, 3), (3, 8), (8, 19)]:
        decision = answer(state, request(old, new))
        assert decision.status == 200
        state = decision.state
        assert (state.size, state.root) == (new, root(new))
        cosigned = Note.parse(signed(new) + decision.body)
        assert len(cosigned.verified([LOG.key, OWN.key])) == 2
        assert Note.parse(state.signed).verified([OWN.key])


def test_an_origin_without_state_starts_empty() -> None:
    decision = decide({}, {ORIGIN: [LOG.key]}, request(0, 5), witness=OWN, time_s=1)
    assert decision.status == 200
    empty = decide({}, {ORIGIN: [LOG.key]}, request(0, 0), witness=OWN, time_s=1)
    assert (empty.status, empty.state.root) == (200, EMPTY_ROOT)


def test_another_old_size_is_answered_with_the_latest() -> None:
    state = WitnessState(3, root(3))
    for old in (0, 2, 4):
        decision = answer(state, request(old, 8))
        assert (decision.status, decision.body) == (409, b"3\n")
        assert decision.content_type == SIZE_TYPE == "text/x.tlog.size"
        assert decision.state == state


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 3\n",
        b"3\n\n" + signed(8),
        b"old 03\n\n" + signed(8),
        b"old +3\n\n" + signed(8),
        b"old \xd9\xa3\n\n" + signed(8),
        b"old 3\nnot base64\n\n" + signed(8),
        b"old 3\nAAAA\n\n" + signed(8),
        b"old 9\n\n" + signed(8),
        build_request(3, [HASHES[0]] * 63, signed(8)).replace(
            b"\n\n", b"\n" + b"A" * 43 + b"=\n\n", 1
        ),
        b"old 3\n\n" + signed(8)[:-1],
        b"old 3\n\n" + note.assemble(b"two\nlines\n", [LOG.sign_line(b"two\nlines\n")]),
    ],
)
def test_malformed_requests_are_400(body: bytes) -> None:
    state = WitnessState(3, root(3))
    decision = answer(state, body)
    assert decision.status == 400
    if b"old 9" in body:
        assert decision.state == state


def test_unknown_origins_are_404_and_strangers_403() -> None:
    elsewhere = Signer.from_seed("fed.example/region/r9/metering", b"\x01" * 32)
    stranger = Signer.from_seed(ORIGIN, b"\x07" * 32)
    assert answer(WitnessState(), build_request(0, [], signed(3, elsewhere))).status == 404
    assert answer(WitnessState(), build_request(0, [], signed(3, stranger))).status == 403
    bent = signed(3).replace(b"\n3\n", b"\n4\n")
    assert answer(WitnessState(), build_request(0, [], bent)).status == 403


def test_strangers_beside_the_log_are_ignored() -> None:
    stranger = Signer.from_seed("s.example", b"\x07" * 32)
    body = build_request(0, [], signed(3) + stranger.sign_line(b"whatever\n"))
    decision = answer(WitnessState(), body)
    assert decision.status == 200
    assert len(Note.parse(decision.state.signed).signatures) == 3


def test_bad_proofs_and_forks_are_422() -> None:
    state = WitnessState(3, root(3))
    good = merkle.consistency_proof(NODE, 3, 8)
    fork = signed(3, of=b"\x66" * 32)
    for body in [
        build_request(3, good[:-1], signed(8)),
        build_request(3, [*good[:-1], HASHES[9]], signed(8)),
        build_request(3, good, signed(8, of=b"\x66" * 32)),
        build_request(3, [], fork),
        build_request(3, [HASHES[0]], signed(3)),
    ]:
        decision = answer(state, body)
        assert (decision.status, decision.state) == (422, state)
    assert answer(WitnessState(), build_request(0, [HASHES[0]], signed(3))).status == 422


def test_requests_round_trip_byte_for_byte() -> None:
    parsed = parse_request(request(3, 8))
    assert build_request(parsed.old, parsed.proof, parsed.signed) == request(3, 8)


def test_after_a_restore_its_own_larger_cosignature_is_adopted() -> None:
    restored = WitnessState(3, root(3))
    seen = checkpoint.cosign(signed(8), OWN, 900)
    state = adopt(restored, seen, [LOG.key], OWN.key)
    assert state == WitnessState(8, root(8), seen)
    assert adopt(state, checkpoint.cosign(signed(5), OWN, 1), [LOG.key], OWN.key) == state
    assert adopt(restored, signed(8), [LOG.key], OWN.key) == restored
    stranger = Signer.from_seed(ORIGIN, b"\x07" * 32)
    assert adopt(restored, seen, [stranger.key], OWN.key) == restored
    decision = answer(restored, build_request(3, merkle.consistency_proof(NODE, 3, 8), seen))
    assert (decision.status, decision.body, decision.state) == (409, b"8\n", state)


def test_its_own_cosignature_under_another_root_is_a_fork_alarm() -> None:
    state = WitnessState(8, root(8))
    other = checkpoint.cosign(signed(8, of=b"\x66" * 32), OWN, 900)
    with pytest.raises(IntertieError, match="two roots of size 8") as caught:
        adopt(state, other, [LOG.key], OWN.key)
    assert caught.value.reason is Reason.LOG_FORK


def test_a_forged_own_cosignature_is_refused() -> None:
    forged = replace(Note.parse(checkpoint.cosign(signed(8), OWN, 900)).signatures[1])
    line = note.Signature(forged.name, forged.key_id, b"\0" * 72).line()
    state = WitnessState(3, root(3))
    with pytest.raises(MeteringError, match="does not verify"):
        adopt(state, signed(8) + line, [LOG.key], OWN.key)
    decision = answer(state, build_request(3, [], signed(8) + line))
    assert (decision.status, decision.state) == (403, state)
