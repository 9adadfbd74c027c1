"""RFC 6962 trees against a naive recursive root, for every size up to 70."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import merkle
from intertie.metering.log.merkle import EMPTY_ROOT, CompactRange, leaf_hash

SIZES = 70
LEAVES = [b"leaf %d" % n for n in range(SIZES)]
HASHES = [leaf_hash(leaf) for leaf in LEAVES]


def naive_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, as it is written."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return sha256(b"\x01" + naive_root(leaves[:k]) + naive_root(leaves[k:])).digest()


ROOTS = [naive_root(LEAVES[:size]) for size in range(SIZES + 1)]
NODE = merkle.nodes_of(HASHES)


@given(st.lists(st.binary(max_size=8), max_size=70), st.integers(0, 70))
def test_a_compact_range_has_the_root_of_rfc_6962_however_it_is_cut(
    leaves: list[bytes], cut: int
) -> None:
    whole = CompactRange().absorb(leaves)
    assert whole.root() == naive_root(leaves)
    assert CompactRange().absorb(leaves[:cut]).absorb(leaves[cut:]) == whole
    assert len(whole.hashes) == len(leaves).bit_count()


def test_a_compact_range_must_fit_its_size() -> None:
    for size, hashes in [(3, HASHES[:1]), (0, HASHES[:1]), (-1, []), (1, [b"short"])]:
        with pytest.raises(MeteringError, match="compact range"):
            CompactRange(size, tuple(hashes))


def test_every_inclusion_proof_holds_and_no_other() -> None:
    for size in range(1, SIZES + 1):
        for index in range(size):
            proof = merkle.inclusion_proof(NODE, index, size)
            merkle.verify_inclusion(HASHES[index], index, size, ROOTS[size], proof)
            with pytest.raises(MeteringError):
                merkle.verify_inclusion(HASHES[index], index, size, ROOTS[size - 1], proof)
            wrong = (index + 1) % size if size > 1 else 1
            with pytest.raises(MeteringError):
                merkle.verify_inclusion(HASHES[index], wrong, size, ROOTS[size], proof)


def test_every_consistency_proof_holds_and_no_other() -> None:
    for new in range(SIZES + 1):
        for old in range(new + 1):
            proof = merkle.consistency_proof(NODE, old, new)
            merkle.verify_consistency(old, ROOTS[old], new, ROOTS[new], proof)
            wrong = ROOTS[old][:-1] + bytes([ROOTS[old][-1] ^ 1])
            with pytest.raises(MeteringError):
                merkle.verify_consistency(old, wrong, new, ROOTS[new], proof)
            if 0 < old < new:
                with pytest.raises(MeteringError):
                    merkle.verify_consistency(old, ROOTS[old], new, wrong, proof)


@given(st.data())
def test_a_changed_proof_does_not_hold(data: st.DataObject) -> None:
    new = data.draw(st.integers(3, SIZES))
    old = data.draw(st.integers(1, new - 1))
    proof = merkle.consistency_proof(NODE, old, new)
    at = data.draw(st.integers(0, len(proof) - 1))
    flipped = bytes([proof[at][0] ^ data.draw(st.integers(1, 255))]) + proof[at][1:]
    changes = [
        [*proof[:at], flipped, *proof[at + 1 :]],
        proof[:at] + proof[at + 1 :],
        [*proof, flipped],
        [flipped, *proof],
    ]
    for changed in changes:
        with pytest.raises(MeteringError) as caught:
            merkle.verify_consistency(old, ROOTS[old], new, ROOTS[new], changed)
        assert caught.value.fault is Fault.BAD_PROOF
    index = data.draw(st.integers(0, new - 1))
    path = merkle.inclusion_proof(NODE, index, new)
    for longer in ([*path, flipped], path[:-1]):
        with pytest.raises(MeteringError) as caught:
            merkle.verify_inclusion(HASHES[index], index, new, ROOTS[new], longer)
        assert caught.value.fault is Fault.BAD_PROOF


def test_impossible_positions_are_refused() -> None:
    with pytest.raises(MeteringError, match="index below 3"):
        merkle.verify_inclusion(HASHES[0], 3, 3, ROOTS[3], [])
    with pytest.raises(MeteringError, match="index below 3"):
        merkle.verify_inclusion(HASHES[0], -1, 3, ROOTS[3], [])
    with pytest.raises(MeteringError, match="old size up to 3"):
        merkle.verify_consistency(4, ROOTS[4], 3, ROOTS[3], [])
    with pytest.raises(MeteringError, match="empty proof"):
        merkle.verify_consistency(0, EMPTY_ROOT, 3, ROOTS[3], [HASHES[0]])
    with pytest.raises(MeteringError, match="at least one hash"):
        merkle.verify_consistency(3, ROOTS[3], 4, ROOTS[4], [])
    with pytest.raises(MeteringError, match="shorter"):
        merkle.verify_inclusion(HASHES[0], 0, 1, ROOTS[1], [HASHES[1]])
