"""Reads a mirrored log back: entries, and what follows from its tiles. Changes nothing."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from federation.adapters.mirror.rows import ENTRY, SHARD, TILE, order, tile_key
from intertie.metering.log.merkle import CompactRange, inclusion_proof
from intertie.metering.log.tiles import (
    Tile,
    TileReader,
    TreeEdge,
    load_edge,
    load_range,
    stored_nodes,
)
from intertie.ports import Store, StoreUnavailableError

T = TypeVar("T")


class Reads:
    """See the module's text.

    Args:
        store: where entries and tiles are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def entries(self, origin: str, start: int, end: int) -> Sequence[bytes]:
        """Entries [start, end), all of which are there."""
        rows = await self._store.list_rows(
            ENTRY,
            origin,
            after=order(start - 1) if start else "",
            before=order(end),
            limit=end - start,
        )
        if len(rows) != end - start:
            raise StoreUnavailableError(f"{origin}: {end - start} entries expected at {start}")
        return [row.body for row in rows]

    async def edge_at(self, origin: str, size: int) -> TreeEdge:
        """What a log of this size needs to grow."""
        return await self._with_tiles(origin, lambda tiles: load_edge(tiles, size))

    async def root_at(self, origin: str, size: int) -> bytes:
        """The root of the first `size` entries."""

        def root(tiles: TileReader) -> bytes:
            return CompactRange(size, load_range(tiles, size)).root()

        return await self._with_tiles(origin, root)

    async def proof(self, origin: str, seq: int, size: int) -> Sequence[bytes]:
        """That an entry is in the log of this size."""
        return await self._with_tiles(
            origin, lambda tiles: inclusion_proof(stored_nodes(tiles, size), seq, size)
        )

    async def _with_tiles(self, origin: str, compute: Callable[[TileReader], T]) -> T:
        """Run a computation over stored tiles, reading those that it turns out to need."""
        known: dict[tuple[int, int], bytes] = {}
        while True:
            try:
                return compute(_Known(known))
            except _NotReadError as missing:
                tile = missing.tile
                body = await self._store.get(SHARD, TILE, tile_key(origin, tile))
                known[tile.level, tile.index] = body or b""


class _NotReadError(Exception):
    """A tile is needed that was not read yet."""

    def __init__(self, tile: Tile) -> None:
        super().__init__(tile.path())
        self.tile = tile


class _Known:
    """The tiles that were read so far."""

    def __init__(self, known: dict[tuple[int, int], bytes]) -> None:
        self._known = known

    def hashes(self, tile: Tile) -> bytes:
        """See `TileReader.hashes`."""
        data = self._known.get((tile.level, tile.index))
        if data is None:
            raise _NotReadError(tile)
        return data
