"""Our log, read by code that we did not write: the tlog-scales package.

It reads the tiles as a monitor would, makes its own roots and proofs, and verifies our signatures.
Its parser is lenient about sizes, so it proves what we write and nothing about what we refuse.
"""

import importlib
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from intertie.metering.log import checkpoint, merkle, note
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange, leaf_hash
from intertie.metering.log.note import Signer
from intertie.metering.log.tiles import WIDTH, Tile, TreeEdge, bundle, tiles_after_append

ORIGIN = "fed.example/region/r1/metering"
LOG = Signer.from_seed(ORIGIN, b"\x01" * 32)
WITNESS = Signer.from_seed("fed.example/witness", b"\x02" * 32, note.ED25519_COSIGNATURE)
SIZE = 1_000
LEAVES = [sha256(b"%d" % n).digest() * 3 for n in range(SIZE)]
HASHES = [leaf_hash(leaf) for leaf in LEAVES]


@pytest.fixture(scope="module")
def scales() -> ModuleType:
    for name in ("reader", "backend", "tlog", "signing"):
        importlib.import_module(f"tlog_scales.{name}")
    return importlib.import_module("tlog_scales")


@pytest.fixture(scope="module")
def signed() -> bytes:
    head = Checkpoint(ORIGIN, SIZE, CompactRange().extend(HASHES).root())
    return checkpoint.cosign(checkpoint.sign(head, LOG), WITNESS, 1_700_000_000)


@pytest.fixture(scope="module")
def log_folder(tmp_path_factory: pytest.TempPathFactory, signed: bytes) -> Path:
    """The log as it is exported, after arriving in uneven batches."""
    folder = tmp_path_factory.mktemp("log")
    files: dict[str, bytes] = {}
    edge, at = TreeEdge(), 0
    for step in (1, 254, 3, 300, SIZE - 558):
        edge, writes = tiles_after_append(edge, HASHES[at : at + step])
        files |= {write.tile.path(): write.data for write in writes}
        at += step
    for first in range(0, SIZE, WIDTH):
        some = LEAVES[first : first + WIDTH]
        files[Tile(-1, first // WIDTH, len(some)).path()] = bundle(some)
    files["checkpoint"] = signed
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_a_monitor_finds_our_root_in_our_tiles(scales: ModuleType, log_folder: Path) -> None:
    reader = scales.reader.TilesReader(scales.backend.LocalBackend(log_folder))
    head = reader.get_checkpoint()
    assert head.size == SIZE
    assert reader.calculate_root_hash() == head.root_hash
    assert [reader.get_entry(at) for at in (0, 255, 256, SIZE - 1)] == [
        LEAVES[at] for at in (0, 255, 256, SIZE - 1)
    ]


def test_a_monitor_verifies_our_signatures(scales: ModuleType, signed: bytes) -> None:
    head = scales.tlog.Checkpoint.from_text(signed.decode())
    for key in (LOG.key, WITNESS.key):
        vkey = scales.signing.Vkey.from_string(key.vkey)
        assert vkey.serialize() == key.vkey
        head.verify(vkey)


def test_a_monitor_makes_and_accepts_the_same_proofs(scales: ModuleType, log_folder: Path) -> None:
    reader = scales.reader.TilesReader(scales.backend.LocalBackend(log_folder))
    root = reader.get_checkpoint().root_hash
    node = merkle.nodes_of(HASHES)
    for index in (0, 1, 255, 256, 511, 767, SIZE - 1):
        proof = merkle.inclusion_proof(node, index, SIZE)
        assert reader.get_inclusion_proof(index, SIZE).node_hashes == proof
        scales.tlog.InclusionProof(index, SIZE, proof).check(HASHES[index], root)
    for old in (1, 2, 255, 256, 257, 512, SIZE - 1, SIZE):
        proof = merkle.consistency_proof(node, old, SIZE)
        assert reader.get_consistency_proof(old, SIZE).node_hashes == proof
        old_root = CompactRange().extend(HASHES[:old]).root()
        scales.tlog.ConsistencyProof(old, SIZE, proof).check(old_root, root)


def test_we_read_what_another_signer_wrote(scales: ModuleType) -> None:
    signer = scales.signing.PlainEd25519Signer(ORIGIN, b"\x01" * 32)
    root = CompactRange().extend(HASHES).root()
    theirs = scales.tlog.Checkpoint.make_signed(ORIGIN, SIZE, root, [signer]).serialize().encode()
    assert theirs == checkpoint.sign(Checkpoint(ORIGIN, SIZE, root), LOG)
    received = note.Note.parse(theirs)
    assert received.verified([note.Key.parse(signer.vkey.serialize())])
