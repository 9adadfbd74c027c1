"""Receipts: checked offline, and refused in every bent form."""

from typing import Any

import pytest

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import merkle
from intertie.metering.log.receipt import Receipt, check_receipt


@pytest.fixture
def receipt(world: Any) -> Receipt:
    world.append(*(world.usage(n) for n in range(1, 6)))
    node = merkle.nodes_of([merkle.leaf_hash(leaf) for leaf in world.leaves])
    proof = merkle.inclusion_proof(node, 2, 5)
    return Receipt(2, tuple(proof), world.signed(), world.leaves[2])


def test_a_receipt_proves_its_record(world: Any, receipt: Receipt) -> None:
    checked = check_receipt(receipt.encode(), world.trust)
    assert (checked.record, checked.index) == (world.leaves[2], 2)
    assert checked.opened.checkpoint.size == 5
    assert check_receipt(receipt.encode(), world.trust, world.leaves[2]) == checked


def test_a_receipt_without_its_record_needs_it(world: Any, receipt: Receipt) -> None:
    bare = Receipt(receipt.index, receipt.proof, receipt.signed).encode()
    assert check_receipt(bare, world.trust, world.leaves[2]).index == 2
    with pytest.raises(MeteringError, match="holds no record"):
        check_receipt(bare, world.trust)
    with pytest.raises(MeteringError, match="expected root"):
        check_receipt(bare, world.trust, world.leaves[1])


def test_another_record_is_refused(world: Any, receipt: Receipt) -> None:
    with pytest.raises(MeteringError, match="about another record"):
        check_receipt(receipt.encode(), world.trust, world.leaves[1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"c2sp.org/tlog-proof@v1", b"c2sp.org/tlog-proof@v2"),
        (b"extra ", b"extra  "),
        (b"extra ", b"extras "),
        (b"index 2", b"index 02"),
        (b"index 2", b"index +2"),
        (b"index 2", b"index 3"),
        (b"index 2\n", b""),
        (b"index 2\n", b"index 2\nAAAA\n"),
        (b"index 2\n", b"index 2\n" + (b"A" * 43 + b"=\n") * 64),
        (b"index 2\n", "index \u0662\n".encode()),
        (b"\n\n", b"\n"),
    ],
)
def test_bent_receipts_are_refused(world: Any, receipt: Receipt, old: bytes, new: bytes) -> None:
    bent = receipt.encode().replace(old, new)
    assert bent != receipt.encode()
    with pytest.raises(MeteringError) as caught:
        check_receipt(bent, world.trust)
    assert caught.value.fault is Fault.BAD_PROOF


def test_a_proof_for_another_log_is_refused(world: Any, receipt: Receipt, make_world: Any) -> None:
    other = make_world()
    other.append(*(other.usage(n, quantity=7) for n in range(1, 6)))
    swapped = Receipt(receipt.index, receipt.proof, other.signed(), receipt.record)
    with pytest.raises(MeteringError, match="expected root"):
        check_receipt(swapped.encode(), world.trust)


def test_oversized_receipts_are_refused() -> None:
    with pytest.raises(MeteringError, match="at most"):
        Receipt.parse(b"x" * 1_200_001)
