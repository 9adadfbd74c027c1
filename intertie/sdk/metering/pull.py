"""Pulling a log: every leaf is hashed while it comes, and at the checkpoint the root must hold.

The cursor moves only then, so what a broken or lying server sent is never built upon. Must not
judge records: that is `intertie.metering.verify.verify_log`, over what was pulled.
"""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from intertie.errors import Reason, error
from intertie.metering.cursor import Cursor
from intertie.metering.log.merkle import leaf_hash
from intertie.metering.log.trust import Opened, Trust
from intertie.metering.verify import Leaf, arrive, check_head
from intertie.sdk.metering.client import MeteringClient

OnPulled = Callable[[int, int], None]
"""Told (entries pulled, entries in the log) while pulling."""


class Sink(Protocol):
    """Takes the leaves of one log in order. `reach` says that all up to there are proven."""

    def write(self, leaves: Sequence[Leaf]) -> None:
        """Take the next leaves."""
        ...

    def reach(self, cursor: Cursor) -> None:
        """Keep what was written: the root held."""
        ...


@dataclass(frozen=True, slots=True)
class Pulled:
    """Where the reader stands now, under which checkpoint, and how many entries were new."""

    cursor: Cursor
    opened: Opened
    entries: int


async def pull(
    client: MeteringClient,
    cursor: Cursor,
    sink: Sink,
    trust: Trust,
    on_pulled: OnPulled | None = None,
) -> Pulled:
    """Pull a log from a cursor to its newest cosigned checkpoint.

    Raises:
        MeteringError: the checkpoint or the root does not hold; the sink was not told to keep.
    """
    notes = await client.checkpoints(cursor.origin)
    if len(notes) != 1:
        raise error(
            Reason.NOT_FOUND,
            f"There is no cosigned checkpoint of {cursor.origin}.",
            remedy="Wait until its region has cosigned records, or check the origin.",
        )
    opened = check_head(notes[0], trust, cursor)
    size = opened.checkpoint.size
    tree = cursor.range
    if size > cursor.size:
        entries = client.entries(cursor.origin, cursor.size, size)
        async with aclosing(entries) as pulling:
            async for leaves in pulling:
                tree = tree.extend(_digest(leaf) for leaf in leaves)
                sink.write(leaves)
                if on_pulled is not None:
                    on_pulled(tree.size, size)
    reached = arrive(Cursor(cursor.origin, tree, opened.signed), opened)
    sink.reach(reached)
    return Pulled(reached, opened, size - cursor.size)


def _digest(leaf: Leaf) -> bytes:
    return leaf_hash(leaf) if isinstance(leaf, bytes) else leaf.digest
