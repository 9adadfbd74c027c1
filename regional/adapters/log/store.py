"""The metering log as rows of the region's store: what one transaction writes, and how it is read.

Shard 1, one writer:

    leaves  <first seq>   up to 256 leaves, one after the other (an entry bundle)
    tile    <path>        hashes; a wider tile replaces a narrower one
    head    head          size and counters; the rest of the state is in the tiles
    span    <run>/<rank>  first and last seq of usage of runs that have not ended
    cosigned  newest      the newest cosigned log checkpoint
    apart   <rid>         bodies that could not become leaves, with the reason: for people

and the claims `rid`. Pending usage is in shard 0, which belongs to the core: only rows that were
read here are ever deleted, in the transaction that makes them leaves.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from intertie.metering.log.merkle import CompactRange, consistency_proof
from intertie.metering.log.tiles import (
    WIDTH,
    Tile,
    bundle,
    load_edge,
    load_range,
    parse_bundle,
    stored_nodes,
)
from intertie.metering.sequence import Batch, LogState
from intertie.ports import Change, Claim, Delete, Put, ShardCommit, ShardHead, Store
from regional.domain.core import PENDING, SHARD

LOG_SHARD = 1
LEAVES, TILE, HEAD, SPAN, COSIGNED, APART = "leaves", "tile", "head", "span", "cosigned", "apart"
RID = "rid"

T = TypeVar("T")

_ROWS = 32
"""Rows of leaves read at once."""


@dataclass(frozen=True, slots=True)
class Pending:
    """One row of pending usage: its key, which is its rid, and the body."""

    key: str
    body: bytes


class _MissingTileError(Exception):
    """A proof needs a tile that was not read yet."""

    def __init__(self, tile: Tile) -> None:
        super().__init__(tile.path())
        self.tile = tile


class _Tiles:
    """Tiles read so far; asks for more by raising, because proofs are made without waiting."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], bytes] = {}

    def hashes(self, tile: Tile) -> bytes:
        """See `TileReader.hashes`."""
        data = self.known.get((tile.level, tile.index))
        if data is None:
            raise _MissingTileError(tile)
        return data


class LogStore:
    """See the module's text.

    Args:
        store: the region's store.
        heads: the shards as they are owned now; they change when the core is loaded anew.
        origin: of the log.
        region: our id.
    """

    def __init__(
        self, store: Store, heads: Callable[[], Mapping[int, ShardHead]], origin: str, region: str
    ) -> None:
        self._store = store
        self._heads = heads
        self.origin = origin
        self.region = region

    # --- reading ---------------------------------------------------------------------------------

    async def has_head(self) -> bool:
        """Whether there is a log at all."""
        return await self._store.get(LOG_SHARD, HEAD, HEAD) is not None

    async def load(self) -> LogState:
        """The log as committed."""
        body = await self._store.get(LOG_SHARD, HEAD, HEAD)
        head = json.loads(body) if body is not None else {"size": 0}
        size = head["size"]
        edge = await self._with_tiles(lambda tiles: load_edge(tiles, size))
        return LogState(
            origin=self.origin,
            region=self.region,
            edge=edge,
            heartbeats=head.get("heartbeats", 0),
            key_rotations=head.get("key_rotations", 0),
        )

    async def proof(self, old: int, new: int) -> list[bytes]:
        """The consistency proof between two sizes of the log."""
        return await self._with_tiles(
            lambda tiles: consistency_proof(stored_nodes(tiles, new), old, new)
        )

    async def range_at(self, size: int) -> CompactRange:
        """The compact range of the first `size` leaves."""
        hashes = await self._with_tiles(lambda tiles: load_range(tiles, size))
        return CompactRange(size, hashes)

    async def _with_tiles(self, make: Callable[[_Tiles], T]) -> T:
        """Make something of tiles, reading those that it turns out to need."""
        tiles = _Tiles()
        while True:
            try:
                return make(tiles)
            except _MissingTileError as missing:
                tile = missing.tile
                data = await self._store.get(LOG_SHARD, TILE, _row(tile))
                tiles.known[tile.level, tile.index] = data or b""

    async def leaves(self, start: int, end: int) -> AsyncIterator[list[bytes]]:
        """Leaves [start, end) in pieces of at most 256, in order, as they are on disk.

        Ends at the first that is not there: whoever needs all of them counts or hashes them.
        """
        at, before = start, -1
        while before < at < end:
            before = at
            first = await self._store.list_rows(
                LEAVES, "", before=_order(at + 1), limit=1, descending=True
            )
            rest = await self._store.list_rows(LEAVES, "", after=_order(at), limit=_ROWS)
            for row in (*first, *rest):
                begin, found = int(row.key), parse_bundle(row.body)
                if at >= end or begin > at:
                    break
                piece = found[at - begin : end - begin]
                at += len(piece)
                if piece:
                    yield piece

    async def leaf(self, seq: int) -> bytes | None:
        """One leaf, None if the log is not that long."""
        async for piece in self.leaves(seq, seq + 1):
            return piece[0]
        return None

    async def is_taken(self, rid: str) -> bool:
        """Whether a record of this id is in the log or waits for it."""
        waits = await self._store.get(SHARD, PENDING, rid) is not None
        return waits or bool(await self.known([rid]))

    async def cosigned(self) -> bytes:
        """The newest cosigned note, empty if there is none."""
        return await self._store.get(LOG_SHARD, COSIGNED, COSIGNED) or b""

    async def pending(self, most: int) -> list[Pending]:
        """Rows of pending usage, in the order of their rids."""
        found: list[Pending] = []
        async for row in self._store.scan(SHARD, PENDING):
            found.append(Pending(row.key, row.body))
            if len(found) == most:
                break
        return found

    async def known(self, rids: Sequence[str]) -> dict[str, str]:
        """The digest of each of these rids that is in the log."""
        claims = await self._store.claims([(RID, rid) for rid in rids])
        return {name: claim.digest for (_, name), claim in claims.items()}

    async def spans(self) -> dict[str, tuple[int, int]]:
        """Where usage stands, of all runs that have some in the log and have not ended there."""
        found: dict[str, tuple[int, int]] = {}
        async for row in self._store.scan(LOG_SHARD, SPAN):
            first, last = json.loads(row.body)
            found[row.key] = (first, last)
        return found

    # --- writing ---------------------------------------------------------------------------------

    async def append(
        self,
        batch: Batch,
        taken: Sequence[Pending],
        *,
        spans: Mapping[str, tuple[int, int] | None],
        utc_ms: int,
    ) -> None:
        """Make a batch durable, and the pending rows that it was made of gone: all or nothing.

        Args:
            batch: as decided.
            taken: the rows, by the positions that the batch names.
            spans: what changes in the rows of spans; None removes one.
            utc_ms: the instant, for claims.
        """
        changes: list[Change] = []
        for start in range(0, len(batch.leaves), WIDTH):
            piece = batch.leaves[start : start + WIDTH]
            key = _order(piece[0].seq)
            changes.append(Put(LEAVES, key, bundle(leaf.data for leaf in piece), "", key))
        changes += [
            Claim(RID, leaf.rid, leaf.digest, str(leaf.seq), utc_ms) for leaf in batch.leaves
        ]
        changes += [Put(TILE, _row(write.tile), write.data) for write in batch.tiles]
        changes += [
            Delete(SPAN, run) if span is None else Put(SPAN, run, json.dumps(span).encode())
            for run, span in spans.items()
        ]
        changes += [
            Put(
                APART, taken[refusal.position].key, _apart(taken[refusal.position], refusal.message)
            )
            for refusal in (*batch.conflicts, *batch.poison)
            if refusal.position < len(taken)
        ]
        changes.append(Put(HEAD, HEAD, _head(batch.state)))
        commits = [self._commit(LOG_SHARD, changes)]
        if taken:
            commits.insert(0, self._commit(SHARD, [Delete(PENDING, row.key) for row in taken]))
        await self._store.commit(commits)

    async def keep_cosigned(self, note: bytes) -> None:
        """Keep the newest cosigned note."""
        await self._store.commit([self._commit(LOG_SHARD, [Put(COSIGNED, COSIGNED, note)])])

    def _commit(self, shard: int, changes: Sequence[Change]) -> ShardCommit:
        head = self._heads()[shard]
        return ShardCommit(shard=shard, epoch=head.epoch, first_seq=0, changes=changes)


def _order(seq: int) -> str:
    return f"{seq:016d}"


def _row(tile: Tile) -> str:
    """The key of a tile's row: its path without the width, so that a wider one replaces it."""
    return Tile(tile.level, tile.index).path()


def _head(state: LogState) -> bytes:
    head = {
        "size": state.size,
        "heartbeats": state.heartbeats,
        "key_rotations": state.key_rotations,
    }
    return json.dumps(head).encode()


def _apart(row: Pending, reason: str) -> bytes:
    return json.dumps({"reason": reason, "body": row.body.decode(errors="replace")}).encode()
