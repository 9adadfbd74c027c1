"""The worked vector, byte for byte: formats that other implementations must agree with."""

import base64
from pathlib import Path
from typing import Any

import pytest

from intertie.metering import canonical
from intertie.metering.log import checkpoint, merkle, note, witness
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import Note, Signer
from intertie.metering.log.receipt import Receipt, check_receipt
from intertie.metering.log.tiles import (
    Tile,
    TreeEdge,
    bundle,
    parse_bundle,
    parse_path,
    tiles_after_append,
)
from intertie.metering.log.trust import Trust, open_checkpoint

TIME_S = 1_796_040_000
DATA = Path(__file__).parents[3] / "data" / "metering"


@pytest.fixture
def log(vector: dict[str, Any]) -> Signer:
    return Signer.from_seed(vector["origin"], bytes.fromhex(vector["log_seed"]))


@pytest.fixture
def cosigner(vector: dict[str, Any]) -> Signer:
    seed = bytes.fromhex(vector["witness_seed"])
    return Signer.from_seed(vector["witness_name"], seed, note.ED25519_COSIGNATURE)


@pytest.fixture
def trust(vector: dict[str, Any]) -> Trust:
    log, cosigner = note.Key.parse(vector["log_vkey"]), note.Key.parse(vector["witness_vkey"])
    return Trust((log,), {"w": cosigner}, {}, "w")


@pytest.fixture
def leaves(vector: dict[str, Any]) -> list[bytes]:
    return [leaf.encode() for leaf in vector["leaves"]]


def test_seeds_give_the_vkeys(vector: dict[str, Any], log: Signer, cosigner: Signer) -> None:
    assert log.key.vkey == vector["log_vkey"]
    assert cosigner.key.vkey == vector["witness_vkey"]
    assert note.Key.parse(vector["log_vkey"]) == log.key
    assert note.Key.parse(vector["witness_vkey"]) == cosigner.key


def test_leaves_are_in_canonical_form(leaves: list[bytes]) -> None:
    assert [canonical.encode(canonical.parse(leaf)) for leaf in leaves] == leaves


def test_leaf_hashes_and_roots(vector: dict[str, Any], leaves: list[bytes]) -> None:
    assert [merkle.leaf_hash(leaf).hex() for leaf in leaves] == vector["leaf_hashes"]
    assert CompactRange().absorb(leaves[:2]).root().hex() == vector["root_size2"]
    assert CompactRange().absorb(leaves).root().hex() == vector["root_size3"]


def test_checkpoints_are_signed_byte_for_byte(
    vector: dict[str, Any], log: Signer, cosigner: Signer, trust: Trust
) -> None:
    origin = vector["origin"]
    two = Checkpoint(origin, 2, bytes.fromhex(vector["root_size2"]))
    three = Checkpoint(origin, 3, bytes.fromhex(vector["root_size3"]))
    assert checkpoint.sign(two, log).decode() == vector["checkpoint_size2"]
    cosigned = checkpoint.cosign(checkpoint.sign(three, log), cosigner, TIME_S)
    assert cosigned.decode() == vector["checkpoint_size3_cosigned"]
    assert cosigned == (DATA / "checkpoint.note").read_bytes()
    message = note.cosigned_message(three.text(), TIME_S)
    assert message.decode() == vector["cosigned_message"]
    opened = open_checkpoint(cosigned, trust)
    assert opened.checkpoint == three
    assert opened.cosignatures == (("w", TIME_S),)


def test_proofs_are_those_of_the_vector(vector: dict[str, Any]) -> None:
    hashes = [bytes.fromhex(text) for text in vector["leaf_hashes"]]
    node = merkle.nodes_of(hashes)
    consistency = merkle.consistency_proof(node, 2, 3)
    inclusion = merkle.inclusion_proof(node, 1, 3)
    assert [digest.hex() for digest in consistency] == vector["consistency_2_3"]
    assert [digest.hex() for digest in inclusion] == vector["inclusion_1_3"]


def test_add_checkpoint_is_cosigned(vector: dict[str, Any], log: Signer, cosigner: Signer) -> None:
    three = Checkpoint(vector["origin"], 3, bytes.fromhex(vector["root_size3"]))
    proof = [bytes.fromhex(text) for text in vector["consistency_2_3"]]
    body = witness.build_request(2, proof, checkpoint.sign(three, log))
    assert body.decode() == vector["add_checkpoint_request"]
    state = witness.WitnessState(2, bytes.fromhex(vector["root_size2"]))
    origin = vector["origin"]
    decision = witness.decide(
        {origin: state}, {origin: [log.key]}, body, witness=cosigner, time_s=TIME_S
    )
    assert decision.status == 200
    assert checkpoint.sign(three, log) + decision.body == decision.state.signed
    assert decision.state.signed.decode() == vector["checkpoint_size3_cosigned"]


def test_the_receipt_is_byte_for_byte(
    vector: dict[str, Any], leaves: list[bytes], trust: Trust
) -> None:
    proof = tuple(bytes.fromhex(text) for text in vector["inclusion_1_3"])
    signed = vector["checkpoint_size3_cosigned"].encode()
    encoded = Receipt(1, proof, signed, leaves[1]).encode()
    assert encoded.decode() == vector["tlog_proof"]
    assert encoded == (DATA / "receipt.tlog-proof").read_bytes()
    assert Receipt.parse(encoded).encode() == encoded
    checked = check_receipt(encoded, trust)
    assert (checked.record, checked.index) == (leaves[1], 1)


def test_tiles_and_entries_are_byte_for_byte(vector: dict[str, Any], leaves: list[bytes]) -> None:
    assert bundle(leaves).hex() == vector["entry_bundle_hex"]
    assert parse_bundle(bundle(leaves)) == leaves
    _, writes = tiles_after_append(TreeEdge(), [merkle.leaf_hash(leaf) for leaf in leaves])
    assert [write.tile.path() for write in writes] == [vector["tile_path"]]
    assert writes[0].data.hex() == "".join(vector["leaf_hashes"])
    assert Tile(-1, 0, 3).path() == vector["entries_path"]
    assert parse_path(vector["entries_path"]) == Tile(-1, 0, 3)


def test_note_is_read_as_received(vector: dict[str, Any]) -> None:
    received = Note.parse(vector["checkpoint_size3_cosigned"].encode())
    assert [line.name for line in received.signatures] == [
        vector["origin"],
        vector["witness_name"],
    ]
    assert received.signatures[1].time_s == TIME_S
    assert base64.b64encode(Checkpoint.parse(received.text).root).decode() in received.text.decode()
