"""Fetches the own log back from the federation's mirror when the witness has seen more of it.

That happens after a restore from a backup: to sign on from the old end would be a second history.
The entries are read twice: first all of them are hashed up to the head that the witness cosigned
and that bears our own signature; only then they are written, each piece checked to be the same.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from hashlib import sha256

from intertie.errors import Reason, error
from intertie.metering import records
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import leaf_hash
from intertie.metering.log.tiles import tiles_after_append
from intertie.metering.sequence import Batch, Leaf, LogState, run_key
from intertie.ports import Clock
from intertie.telemetry.logs import logger
from regional.adapters.log.store import LogStore

Pull = Callable[[int, int], AsyncIterator[list[bytes]]]

_log = logger(__name__)


async def recover(log: LogStore, pull: Pull, head: Checkpoint, clock: Clock) -> None:
    """Bring the log up to a head that was verified to be ours.

    Raises:
        IntertieError: LOG_FORK, the mirror's entries do not lead from our log to that head.
    """
    state = await log.load()
    _log.warning("the witness is ahead; fetching our log back", have=state.size, want=head.size)
    edge, seen = state.edge.range, []
    async for piece in pull(state.size, head.size):
        edge = edge.absorb(piece)
        seen.append(_digest(piece))
    if (edge.size, edge.root()) != (head.size, head.root):
        raise _fork(head, f"its entries give root {edge.root().hex()}")
    index = 0
    spans = await log.spans()
    async for piece in pull(state.size, head.size):
        if index >= len(seen) or _digest(piece) != seen[index]:
            raise _fork(head, "it shows two histories")
        index += 1
        state = await _append(log, state, piece, spans, clock.now().utc_ms)
    _log.info("our log is back", size=state.size)


async def _append(
    log: LogStore,
    state: LogState,
    piece: Sequence[bytes],
    spans: dict[str, tuple[int, int]],
    utc_ms: int,
) -> LogState:
    leaves: list[Leaf] = []
    changed: dict[str, tuple[int, int] | None] = {}
    counts = {"heartbeat": state.heartbeats, "key_rotation": state.key_rotations}
    for seq, data in enumerate(piece, state.size):
        record = records.parse_record(data)
        kind, rid = str(record["kind"]), str(record["rid"])
        leaves.append(Leaf(-1, seq, rid, records.body_digest(record), data, leaf_hash(data)))
        if kind in counts:
            counts[kind] += 1
        if kind == "usage":
            run = run_key(record)
            changed[run] = spans[run] = (spans.get(run, (seq, seq))[0], seq)
        elif kind == "run_end":
            run = run_key(record)
            changed[run] = None
            spans.pop(run, None)
    edge, tiles = tiles_after_append(state.edge, [leaf.hash for leaf in leaves])
    after = LogState(
        origin=state.origin,
        region=state.region,
        edge=edge,
        heartbeats=counts["heartbeat"],
        key_rotations=counts["key_rotation"],
    )
    batch = Batch(after, tuple(leaves), tuple(tiles), {}, (), (), ())
    await log.append(batch, [], spans=changed, utc_ms=utc_ms)
    return after


def _digest(piece: Sequence[bytes]) -> bytes:
    return sha256(b"".join(leaf_hash(data) for data in piece)).digest()


def _fork(head: Checkpoint, what: str) -> Exception:
    return error(
        Reason.LOG_FORK,
        f"{head.origin}: the mirror does not lead to size {head.size} root {head.root.hex()}: "
        f"{what}.",
        remedy="Do not sign. Keep both histories and compare them with the federation's operator.",
        metadata={"origin": head.origin, "size": str(head.size)},
    )
