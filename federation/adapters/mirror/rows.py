"""What the mirror knows of one log, and the rows that it is made of.

Pure bookkeeping; reading and committing is the mirror's.
"""

from dataclasses import dataclass

from intertie.metering.log.merkle import EMPTY_ROOT
from intertie.metering.log.tiles import Tile, TileWrite
from intertie.metering.log.witness import WitnessState
from intertie.ports import Change, Delete, Put

SHARD = 64
"""Beside the shards of tasks, so that metering and tasks never wait for each other."""

HEAD, ENTRY, TILE = "log", "entry", "tile"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogHead:
    """One log: how much is mirrored, what was cosigned last, what is shown to readers.

    `published` is the newest cosigned checkpoint of which every entry is here and hashes to its
    root.
    """

    mirrored: int = 0
    witnessed_size: int = 0
    witnessed_root: bytes = EMPTY_ROOT
    witnessed: bytes = b""
    published_size: int = 0
    published: bytes = b""

    @property
    def witness(self) -> WitnessState:
        """The part that the witness decides on."""
        return WitnessState(self.witnessed_size, self.witnessed_root, self.witnessed)


def order(seq: int) -> str:
    """Entries are listed in the order of this text."""
    return f"{seq:016d}"


def put_entry(origin: str, seq: int, leaf: bytes) -> Change:
    """Store one entry, its exact bytes."""
    return Put(ENTRY, f"{origin}/{order(seq)}", leaf, origin, order(seq))


def drop_entry(origin: str, seq: int) -> Change:
    """Forget an entry that no checkpoint covers."""
    return Delete(ENTRY, f"{origin}/{order(seq)}")


def put_tile(origin: str, write: TileWrite) -> Change:
    """Store a tile; a wider one replaces a narrower one."""
    return Put(TILE, tile_key(origin, write.tile), write.data)


def tile_key(origin: str, tile: Tile) -> str:
    """Where a tile of any width is."""
    return f"{origin}/{tile.level}/{tile.index}"
