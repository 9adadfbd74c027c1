"""Tiles: the tree cut into files, and proofs made from them."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intertie.metering.faults import MeteringError
from intertie.metering.log import merkle
from intertie.metering.log.merkle import CompactRange, leaf_hash
from intertie.metering.log.tiles import (
    Tile,
    TileWrite,
    TreeEdge,
    bundle,
    load_edge,
    parse_bundle,
    parse_path,
    stored_nodes,
    tiles_after_append,
)

HASHES = [leaf_hash(b"%d" % n) for n in range(1_100)]


@dataclass
class Stored:
    """Tiles as a region stores them: one row a tile, the widest wins."""

    rows: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def put(self, writes: list[TileWrite]) -> None:
        for write in writes:
            assert len(write.data) == 32 * write.tile.width
            key = (write.tile.level, write.tile.index)
            before = self.rows.get(key, b"")
            assert write.data.startswith(before), "a tile only grows"
            self.rows[key] = write.data

    def hashes(self, tile: Tile) -> bytes:
        return self.rows.get((tile.level, tile.index), b"")


@settings(max_examples=25)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=4), st.data())
def test_tiles_give_the_same_tree_however_leaves_arrive(
    steps: list[int], data: st.DataObject
) -> None:
    store, edge, size = Stored(), TreeEdge(), 0
    for step in steps:
        step = min(step, len(HASHES) - size)
        edge, writes = tiles_after_append(edge, HASHES[size : size + step])
        store.put(writes)
        size += step
        assert load_edge(store, size) == edge
        assert edge.range == CompactRange().extend(HASHES[:size])
    if size < 2:
        return
    node, plain = stored_nodes(store, size), merkle.nodes_of(HASHES[:size])
    index = data.draw(st.integers(0, size - 1))
    old = data.draw(st.integers(1, size))
    root = edge.range.root()
    proof = merkle.inclusion_proof(node, index, size)
    assert proof == merkle.inclusion_proof(plain, index, size)
    merkle.verify_inclusion(HASHES[index], index, size, root, proof)
    assert merkle.consistency_proof(node, old, size) == merkle.consistency_proof(plain, old, size)


def test_proofs_cross_tile_levels() -> None:
    many = [leaf_hash(b"%d" % n) for n in range(256 * 257 + 3)]
    store = Stored()
    edge, writes = tiles_after_append(TreeEdge(), many)
    store.put(writes)
    size = len(many)
    assert (2, 0) in store.rows
    assert load_edge(store, size) == edge
    node = stored_nodes(store, size)
    for index in (0, 255, 256, 65_535, 65_536, size - 1):
        proof = merkle.inclusion_proof(node, index, size)
        merkle.verify_inclusion(many[index], index, size, edge.range.root(), proof)
    for old in (1, 256, 65_536, 65_537):
        proof = merkle.consistency_proof(node, old, size)
        old_root = CompactRange().extend(many[:old]).root()
        merkle.verify_consistency(old, old_root, size, edge.range.root(), proof)


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "tile/0/000"),
        (Tile(0, 1_234_067), "tile/0/x001/x234/067"),
        (Tile(3, 999, 7), "tile/3/999.p/7"),
        (Tile(-1, 1_000), "tile/entries/x001/000"),
        (Tile(-1, 5, 255), "tile/entries/005.p/255"),
    ],
)
def test_each_tile_has_one_path(tile: Tile, path: str) -> None:
    assert tile.path() == path
    assert parse_path(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/0",
        "tile/0/0000",
        "tile/0/001/067",
        "tile/0/x000/067",
        "tile/0/000.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/",
        "tile/00/000",
        "tile/8/000",
        "tile/-1/000",
        "tile/0/000\n",
        "tile/0/\u0660\u0660\u0660",
        "entries/000",
        "tile/0/../000",
        "",
    ],
)
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(MeteringError):
        parse_path(path)


def test_a_tile_that_is_cut_short_is_named() -> None:
    store = Stored({(0, 0): HASHES[0]})
    with pytest.raises(MeteringError, match=r"tile/0/000\.p/3: expected 96 bytes, got 32"):
        stored_nodes(store, 3)(0, 1)


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_entry_bundles_round_trip(leaves: list[bytes]) -> None:
    assert parse_bundle(bundle(leaves)) == leaves


def test_broken_entry_bundles_are_refused() -> None:
    for data in (b"\x00", b"\x00\x05abc", bundle([b"x"])[:-1]):
        with pytest.raises(MeteringError, match="cut short"):
            parse_bundle(data)
    with pytest.raises(MeteringError, match="257 entries"):
        parse_bundle(b"\x00\x00" * 257)
