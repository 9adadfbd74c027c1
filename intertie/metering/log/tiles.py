"""Tiles (C2SP tlog-tiles): how a log's hashes and entries are cut into files that never change.

    tile/<L>/<N>[.p/<W>]        256 hashes of level L, or W of them while it fills
    tile/entries/<N>[.p/<W>]    the leaves under a level 0 tile, each u16be(len) || bytes
    1234067 -> x001/x234/067

Level L holds the roots of complete subtrees of 256^L leaves. Says which tiles exist and what is in
them; must not read or write any: proofs get their hashes through a `TileReader`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import strict
from intertie.metering.log.merkle import HASH_BYTES, CompactRange, NodeReader

WIDTH = 256
HEIGHT = 8
LEVELS = 64 // HEIGHT
MAX_ENTRY = 65_535
_NUMBER = re.compile(r"(?:x[0-9]{3}/)*[0-9]{3}")


@dataclass(frozen=True, slots=True)
class Tile:
    """Coordinates of a tile. Level -1 is an entry bundle; `width` 256 is a full tile."""

    level: int
    index: int
    width: int = WIDTH

    def path(self) -> str:
        """Path below the log's prefix."""
        assert -1 <= self.level < LEVELS, f"no tree has a level {self.level}"
        assert 0 < self.width <= WIDTH, f"no tile has {self.width} hashes"
        level = "entries" if self.level < 0 else str(self.level)
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{level}/{_number(self.index)}{partial}"


@dataclass(frozen=True, slots=True)
class TileWrite:
    """A tile and its contents, to be stored. A wider tile replaces a narrower one."""

    tile: Tile
    data: bytes


class TileReader(Protocol):
    """Gives the stored hashes of a tile."""

    def hashes(self, tile: Tile) -> bytes:
        """At least the first `tile.width` hashes of the tile, one after the other."""
        ...


def _number(index: int) -> str:
    assert index >= 0, f"no tile has the number {index}"
    text = f"{index % 1000:03d}"
    while index >= 1000:
        index //= 1000
        text = f"x{index % 1000:03d}/{text}"
    return text


def parse_path(path: str) -> Tile:
    """Read a tile's path; each tile has one spelling."""
    head, _, partial = path.partition(".p/")
    parts = head.split("/", 2)
    if len(parts) == 3 and parts[0] == "tile" and _NUMBER.fullmatch(parts[2]):
        fault = Fault.BAD_PROOF
        level = -1 if parts[1] == "entries" else strict.size(parts[1], "tile level", fault)
        width = strict.size(partial, "tile width", fault) if partial else WIDTH
        index = int(parts[2].replace("x", "").replace("/", ""))
        if 0 < width <= WIDTH and level < LEVELS:
            tile = Tile(level, index, width)
            if tile.path() == path:
                return tile
    raise MeteringError(Fault.BAD_PROOF, f"{path[:120]!r} is no path of a tile")


@dataclass(frozen=True, slots=True)
class TreeEdge:
    """The right edge of a tiled tree: per level, the hashes of its tile that is not full yet."""

    range: CompactRange = field(default_factory=CompactRange)
    partial: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """Number of leaves."""
        return self.range.size


def tiles_after_append(
    edge: TreeEdge, leaf_hashes: Sequence[bytes]
) -> tuple[TreeEdge, list[TileWrite]]:
    """Append leaves, given by their hashes; return the new edge and the tiles to write."""
    assert all(len(digest) == HASH_BYTES for digest in leaf_hashes), "leaves come as hashes"
    writes: list[TileWrite] = []
    partial = [bytearray(data) for data in edge.partial]
    first, level, fresh = edge.size, 0, list(leaf_hashes)
    held = len(partial[0]) // HASH_BYTES if partial else 0
    assert held == first % WIDTH, f"expected {first % WIDTH} hashes at the edge, got {held}"
    while fresh:
        if level == len(partial):
            partial.append(bytearray())
        upper: list[bytes] = []
        tile = partial[level]
        index = first // WIDTH
        while fresh:
            room = WIDTH - len(tile) // HASH_BYTES
            tile += b"".join(fresh[:room])
            fresh = fresh[room:]
            width = len(tile) // HASH_BYTES
            writes.append(TileWrite(Tile(level, index, width), bytes(tile)))
            if width == WIDTH:
                upper.append(_fold(bytes(tile)))
                tile.clear()
                index += 1
        assert len(tile) < WIDTH * HASH_BYTES, "a full tile leaves the edge"
        fresh, first, level = upper, first // WIDTH, level + 1
    return TreeEdge(edge.range.extend(leaf_hashes), tuple(map(bytes, partial))), writes


def load_edge(reader: TileReader, size: int) -> TreeEdge:
    """Rebuild the edge of a stored tree of `size` leaves."""
    partial, level = [], 0
    while size >> (HEIGHT * level):
        index, width = divmod(size >> (HEIGHT * level), WIDTH)
        partial.append(_read(reader, Tile(level, index, width)) if width else b"")
        level += 1
    return TreeEdge(CompactRange(size, load_range(reader, size)), tuple(partial))


def load_range(reader: TileReader, size: int) -> tuple[bytes, ...]:
    """The compact range of a stored tree of at least `size` leaves."""
    node, begin, hashes = stored_nodes(reader, size), 0, []
    for height in reversed(range(size.bit_length())):
        if size >> height & 1:
            hashes.append(node(height, begin >> height))
            begin += 1 << height
    assert begin == size, "the subtrees of a range cover the tree"
    return tuple(hashes)


def stored_nodes(reader: TileReader, size: int) -> NodeReader:
    """Return a reader of the complete subtrees of a stored tree of `size` leaves."""

    def node(height: int, index: int) -> bytes:
        level, rest = divmod(height, HEIGHT)
        first = index << rest
        tile, offset = divmod(first, WIDTH)
        width = min(WIDTH, (size >> (HEIGHT * level)) - tile * WIDTH)
        need = offset + (1 << rest)
        assert need <= width, f"subtree ({height}, {index}) is not complete in a tree of {size}"
        data = _read(reader, Tile(level, tile, width))
        return _fold(data[offset * HASH_BYTES : need * HASH_BYTES])

    return node


def bundle(leaves: Iterable[bytes]) -> bytes:
    """Write an entry bundle."""
    out = bytearray()
    for leaf in leaves:
        assert len(leaf) <= MAX_ENTRY, f"an entry of {len(leaf)} bytes"
        out += len(leaf).to_bytes(2, "big") + leaf
    return bytes(out)


def parse_bundle(data: bytes) -> list[bytes]:
    """Read an entry bundle."""
    leaves, at = [], 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if end > len(data) or at + 2 > len(data):
            raise MeteringError(Fault.BAD_PROOF, f"entry bundle: cut short at byte {at}")
        leaves.append(data[at + 2 : end])
        at = end
    if len(leaves) > WIDTH:
        raise MeteringError(Fault.BAD_PROOF, f"entry bundle: {len(leaves)} entries of {WIDTH}")
    return leaves


def _read(reader: TileReader, tile: Tile) -> bytes:
    data = reader.hashes(tile)
    want = tile.width * HASH_BYTES
    if len(data) < want:
        raise MeteringError(
            Fault.BAD_PROOF, f"{tile.path()}: expected {want} bytes, got {len(data)}"
        )
    return data[:want]


def _fold(data: bytes) -> bytes:
    assert data, "an empty subtree has no root in a tile"
    assert len(data) % HASH_BYTES == 0, f"{len(data)} bytes are no hashes"
    cuts = range(0, len(data), HASH_BYTES)
    return CompactRange().extend(data[at : at + HASH_BYTES] for at in cuts).root()
