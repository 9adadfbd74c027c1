"""The mirror and witness of all metering logs: entries in, cosignatures out, under one lock a log.

Every answer is durable before it is given. What is shown to readers is always a cosigned checkpoint
with all its entries. Entries beyond the last cosigned checkpoint are kept but not believed: the
region may replace them. Must not read what entries say.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace

from federation.adapters.mirror.reads import Reads
from federation.adapters.mirror.rows import HEAD, SHARD, LogHead, drop_entry, put_entry, put_tile
from intertie.errors import IntertieError, Reason, error
from intertie.metering.faults import MeteringError
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import leaf_hash
from intertie.metering.log.note import Key, Note, Signer
from intertie.metering.log.receipt import Receipt
from intertie.metering.log.tiles import TreeEdge, tiles_after_append
from intertie.metering.log.witness import Decision, decide, parse_request
from intertie.ports import (
    Change,
    Clock,
    FencedError,
    Put,
    ShardCommit,
    Store,
)
from intertie.store.codec import decoder, encode
from intertie.telemetry.logs import logger

PAGE = 500
AHEAD = 100_000
"""Entries that may wait for their log checkpoint, where nothing else is configured."""
RETRY_MS = 1_000
BAD_PROOF = 422

_log = logger(__name__)
_decode_head = decoder(LogHead)


@dataclass(slots=True)
class _Log:
    """One log in memory; dropped whenever the store may know better."""

    origin: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    head: LogHead | None = None
    edge: TreeEdge = field(default_factory=TreeEdge)


class Mirror:
    """See the module's text.

    Args:
        store: where everything is.
        clock: for cosignatures.
        witness: the key to cosign with.
        log_keys: the believed keys of a log; empty if it is unknown.
        forked: told when a log shows two histories.
        ahead: how many entries beyond the last cosigned checkpoint are kept.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        witness: Signer,
        log_keys: Callable[[str], Sequence[Key]],
        *,
        forked: Callable[[], None],
        ahead: int = AHEAD,
    ) -> None:
        assert ahead > 0, "a log grows before it is cosigned"
        self._store = store
        self._reads = Reads(store)
        self._ahead = ahead
        self._clock = clock
        self._witness = witness
        self._log_keys = log_keys
        self._forked = forked
        self._logs: dict[str, _Log] = {}
        self._epoch = 0

    async def start(self) -> None:
        """Own the shard."""
        self._epoch = (await self._store.acquire(SHARD)).epoch

    async def head(self, origin: str) -> LogHead:
        """How a log stands."""
        log = self._log(origin)
        async with log.lock:
            return await self._load(log)

    async def push(self, origin: str, start: int, entries: Sequence[bytes]) -> int:
        """Mirror entries; returns how many there are now. A replay changes nothing.

        Raises:
            IntertieError: OFFSET_MISMATCH (`expected_offset`); LOG_FORK, the entries are not those
                that were cosigned; RATE_LIMITED, too many wait for a checkpoint.
        """
        log = self._log(origin)
        async with log.lock:
            head = await self._load(log)
            if start > head.mirrored or start < 0:
                raise error(
                    Reason.OFFSET_MISMATCH,
                    f"start: {start} is above the {head.mirrored} entries mirrored.",
                    remedy=f"Push from {head.mirrored} on.",
                    metadata={"expected_offset": str(head.mirrored)},
                )
            base = await self._first_new(log, head, start, entries)
            fresh = entries[base - start :]
            if fresh:
                self._check_ahead(origin, base + len(fresh) - head.witnessed_size)
                await self._append(log, head, base, fresh)
            return (await self._load(log)).mirrored

    async def add_checkpoint(self, body: bytes) -> Decision:
        """Answer the witness's add-checkpoint call (C2SP tlog-witness)."""
        origin = origin_in(body)
        if not origin:
            return self._decide("", LogHead(), body)
        log = self._log(origin)
        async with log.lock:
            head = await self._load(log)
            decision = self._decide(origin, head, body)
            if decision.state != head.witness:
                await self._witnessed(log, head, decision)
            return decision

    async def entries(
        self, origin: str, start: int, end: int
    ) -> AsyncIterator[tuple[int, Sequence[bytes]]]:
        """Published entries [start, end) in pieces, each with the index of its first."""
        while start < end:
            found = await self._reads.entries(origin, start, min(end, start + PAGE))
            yield start, found
            start += len(found)

    async def receipt(self, origin: str, seq: int) -> Receipt:
        """The proof that a published entry is in its log. Raises NOT_COSIGNED."""
        head = await self.head(origin)
        if not 0 <= seq < head.published_size:
            raise error(
                Reason.NOT_COSIGNED,
                f"{origin}: record {seq} is not under a cosigned log checkpoint yet.",
                remedy="Wait for the next one; a region has records cosigned within seconds.",
                metadata={"published_size": str(head.published_size)},
            )
        size = head.published_size
        proof = await self._reads.proof(origin, seq, size)
        (record,) = await self._reads.entries(origin, seq, seq + 1)
        return Receipt(seq, tuple(proof), head.published, record)

    def _check_ahead(self, origin: str, ahead: int) -> None:
        if ahead > self._ahead:
            raise error(
                Reason.RATE_LIMITED,
                f"entries: {origin} would have {ahead} entries that no log checkpoint covers; the "
                f"limit is {self._ahead}.",
                remedy="Have a log checkpoint cosigned, then push the rest.",
                metadata={"limit": str(self._ahead)},
                retry_after_ms=RETRY_MS,
            )

    # --- changes ---------------------------------------------------------------------------------

    async def _first_new(
        self, log: _Log, head: LogHead, start: int, entries: Sequence[bytes]
    ) -> int:
        """The index from which the entries are not what is mirrored already."""
        end = min(head.mirrored, start + len(entries))
        at = start
        while at < end:
            known = await self._reads.entries(log.origin, at, min(end, at + PAGE))
            for leaf in known:
                if leaf != entries[at - start]:
                    if at < head.witnessed_size:
                        raise self._fork(log.origin, f"entry {at} is not the one that was cosigned")
                    return at
                at += 1
        return end

    async def _append(self, log: _Log, head: LogHead, base: int, fresh: Sequence[bytes]) -> None:
        edge = log.edge
        if base != head.mirrored:
            edge = await self._reads.edge_at(log.origin, base)
        hashes = [leaf_hash(leaf) for leaf in fresh]
        after = base + len(fresh)
        new_head = replace(head, mirrored=after)
        if base < head.witnessed_size <= after:
            reached = edge.range.extend(hashes[: head.witnessed_size - base])
            if reached.root() != head.witnessed_root:
                raise self._fork(
                    log.origin, f"entries up to {after} do not hash to what was cosigned"
                )
            new_head = _publish(new_head)
        edge, tiles = tiles_after_append(edge, hashes)
        changes: list[Change] = [
            put_entry(log.origin, seq, leaf) for seq, leaf in enumerate(fresh, base)
        ]
        changes += [drop_entry(log.origin, seq) for seq in range(after, head.mirrored)]
        changes += [put_tile(log.origin, write) for write in tiles]
        await self._commit(log, new_head, edge, changes)

    def _decide(self, origin: str, head: LogHead, body: bytes) -> Decision:
        try:
            decision = decide(
                {origin: head.witness},
                {origin: self._log_keys(origin)} if origin else {},
                body,
                witness=self._witness,
                time_s=self._clock.now().utc_ms // 1000,
            )
        except IntertieError as fork:
            self._alarm(origin, str(fork))
            raise
        if decision.status == BAD_PROOF:  # signed by its own key, yet not what follows
            self._alarm(origin, "its new checkpoint does not extend the one that was cosigned")
        return decision

    def _fork(self, origin: str, what: str) -> IntertieError:
        self._alarm(origin, what)
        return error(
            Reason.LOG_FORK,
            f"{origin}: {what}.",
            remedy="Stop the region's sequencer, and compare its log with the mirror.",
            metadata={"origin": origin},
        )

    def _alarm(self, origin: str, what: str) -> None:
        _log.error("ALARM: a log shows two histories", origin=origin, problem=what)
        self._forked()

    async def _witnessed(self, log: _Log, head: LogHead, decision: Decision) -> None:
        state, edge = decision.state, log.edge
        after = replace(
            head,
            witnessed_size=state.size,
            witnessed_root=state.root,
            witnessed=state.signed,
        )
        changes: list[Change] = []
        if head.mirrored >= state.size:
            if await self._reads.root_at(log.origin, state.size) == state.root:
                after = _publish(after)
            else:  # what was pushed ahead of its checkpoint is not the log: push it again
                base = min(head.mirrored, head.witnessed_size)
                changes = [drop_entry(log.origin, seq) for seq in range(base, head.mirrored)]
                edge = await self._reads.edge_at(log.origin, base)
                after = replace(after, mirrored=base)
        await self._commit(log, after, edge, changes)

    async def _commit(
        self, log: _Log, head: LogHead, edge: TreeEdge, changes: Sequence[Change]
    ) -> None:
        log.head = None  # until it is known to be durable
        put = Put(HEAD, log.origin, encode(head))
        try:
            await self._store.commit([ShardCommit(SHARD, self._epoch, 0, [*changes, put])])
        except FencedError:
            await self.start()  # the old owner is gone; the next call reads what it left
            raise
        log.head, log.edge = head, edge

    # --- reads -----------------------------------------------------------------------------------

    def _log(self, origin: str) -> _Log:
        return self._logs.setdefault(origin, _Log(origin))

    async def _load(self, log: _Log) -> LogHead:
        if log.head is None:
            body = await self._store.get(SHARD, HEAD, log.origin)
            head = _decode_head(body) if body is not None else LogHead()
            log.edge = await self._reads.edge_at(log.origin, head.mirrored)
            log.head = head
        return log.head


def origin_in(body: bytes) -> str:
    """The origin that an add-checkpoint body is about; empty if it cannot be read."""
    try:
        return Checkpoint.parse(Note.parse(parse_request(body).signed).text).origin
    except (MeteringError, UnicodeDecodeError):
        return ""


def _publish(head: LogHead) -> LogHead:
    assert head.mirrored >= head.witnessed_size, "entries are missing"
    return replace(head, published=head.witnessed, published_size=head.witnessed_size)
