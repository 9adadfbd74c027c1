"""The sequencer's decision: pending bodies in, leaves and tiles out, as values.

The shell reads pending usage, looks up which rids are in the log already, calls `sequence`, commits
everything in the returned `Batch` in one transaction, reads the leaves back and only then asks
`sign_durable` for a checkpoint. One writer per origin. Must not read a clock, a store or salts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from intertie.errors import Reason, WorldError
from intertie.metering import canonical, records, schema
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.log import checkpoint
from intertie.metering.log.checkpoint import Checkpoint
from intertie.metering.log.merkle import CompactRange, leaf_hash
from intertie.metering.log.note import Signer
from intertie.metering.log.tiles import TileWrite, TreeEdge, tiles_after_append
from intertie.metering.rids import parse_rid

Spans = Mapping[str, tuple[int, int]]
"""`<task>/<run>/<rank>` -> first and last seq of its usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """All that the one writer of a log must remember between batches."""

    origin: str
    region: str
    edge: TreeEdge
    heartbeats: int = 0
    key_rotations: int = 0

    @property
    def size(self) -> int:
        """Number of leaves, and the seq of the next one."""
        return self.edge.size

    def head(self) -> Checkpoint:
        """The checkpoint of this state, unsigned."""
        return Checkpoint(self.origin, self.size, self.edge.range.root())


@dataclass(frozen=True, slots=True)
class Leaf:
    """A sequenced record: to be stored under unique `rid` with `digest`, never changed."""

    position: int
    seq: int
    rid: str
    digest: str
    data: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pending body that did not become a leaf, by its position in the input."""

    position: int
    rid: str
    message: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What one call decided. Commit leaves, tiles, spans and state together."""

    state: LogState
    leaves: tuple[Leaf, ...]
    tiles: tuple[TileWrite, ...]
    spans: Spans
    replays: tuple[int, ...]
    """Positions of bodies that are in the log already: done, nothing to store."""
    conflicts: tuple[Refusal, ...]
    """Another body is in the log under the same rid: alarm, keep apart."""
    poison: tuple[Refusal, ...]
    """No records at all: alarm, keep apart. They must not stop the others."""


def sequence(
    state: LogState,
    pending: Sequence[bytes],
    *,
    recorded_ms: int,
    salts: Sequence[str],
    known: Mapping[str, str],
    spans: Spans,
) -> Batch:
    """Turn pending bodies into leaves, in their order.

    Args:
        state: the log as committed.
        pending: canonical bytes of pending bodies (`records.pending_bytes`).
        recorded_ms: the instant to record, UTC.
        salts: one fresh salt for each body, 16 random bytes in hex.
        known: digest by rid, for those rids of `pending` that are in the log.
        spans: where usage stands, for those runs of which `pending` holds usage or a run_end.
    """
    assert len(salts) == len(pending), "each body needs a salt of its own"
    assert recorded_ms >= 0, "instants are UTC ms since 1970"
    run = _Sequencing(state, dict(known), dict(spans), recorded_ms)
    for position, (body, salt) in enumerate(zip(pending, salts, strict=True)):
        try:
            run.take(position, body, salt)
        except MeteringError as fault:
            run.poison.append(Refusal(position, _rid_of(body), fault.message))
    batch = run.batch()
    refused = len(batch.replays) + len(batch.conflicts) + len(batch.poison)
    assert len(batch.leaves) + refused == len(pending), "each body has one outcome"
    assert batch.state.size == state.size + len(batch.leaves), "each leaf has one place"
    return batch


def sign_durable(
    before: CompactRange, reread: Iterable[bytes], state: LogState, log: Signer
) -> bytes:
    """Sign the head of a state, after proving that its leaves are the ones on disk.

    Args:
        before: the compact range at the last signed checkpoint (empty for a new log).
        reread: the bytes of all leaves since then, read back from the store after the commit.
        state: the state to sign.
        log: the log key.

    Raises:
        WorldError: DIGEST_MISMATCH, the store gave back other bytes than were sequenced.
    """
    assert before.size <= state.size, "a log is never signed backwards"
    found = before.absorb(reread)
    head = state.head()
    if (found.size, found.root()) != (head.size, head.root):
        raise WorldError(
            Reason.DIGEST_MISMATCH,
            f"{head.origin}: leaves read back give size {found.size} root {found.root().hex()}, "
            f"expected size {head.size} root {head.root.hex()}.",
            remedy="Do not sign. Check the disk, and restore the log from the federation's mirror.",
            metadata={"origin": head.origin},
        )
    return checkpoint.sign(head, log)


def next_heartbeat(state: LogState) -> bytes:
    """The pending body of the next heartbeat."""
    return records.pending_bytes(records.heartbeat(state.region, state.heartbeats + 1))


def next_key_rotation(state: LogState, *, old_vkey: str, new_vkey: str) -> bytes:
    """The pending body of the next key rotation."""
    body = records.key_rotation(
        state.region, state.key_rotations + 1, old_vkey=old_vkey, new_vkey=new_vkey
    )
    return records.pending_bytes(body)


def run_key(record: Mapping[str, object]) -> str:
    """The key of `Spans` for a usage or run_end."""
    return f"{record['task']}/{record['run']}/{record['rank']}"


class _Sequencing:
    """The working state of one call of `sequence`."""

    def __init__(
        self, state: LogState, known: dict[str, str], spans: dict[str, tuple[int, int]], at: int
    ) -> None:
        self.state, self.known, self.spans, self.recorded_ms = state, known, spans, at
        self.numbered = {"heartbeat": state.heartbeats, "key_rotation": state.key_rotations}
        self.leaves: list[Leaf] = []
        self.replays: list[int] = []
        self.conflicts: list[Refusal] = []
        self.poison: list[Refusal] = []

    def take(self, position: int, data: bytes, salt: str) -> None:
        body: records.Body = dict(canonical.parse(data))
        if not body.keys().isdisjoint(schema.SEALED):
            raise _poison("seq, recorded_ms and salt are set by the sequencer only")
        records.check_pending(body)
        rid, digest = body["rid"], sha256(data).hexdigest()
        if rid in self.known:
            if self.known[rid] == digest:
                self.replays.append(position)
            else:
                what = f"the log holds {self.known[rid]} under this rid, got {digest}"
                self.conflicts.append(Refusal(position, rid, what))
            return
        self._check(body)
        seq = self.state.size + len(self.leaves)
        assert rid not in self.known, "a rid stands in a log once"
        self._place(body, seq)
        leaf = records.seal(body, seq=seq, recorded_ms=self.recorded_ms, salt=salt)
        self.known[rid] = digest
        self.leaves.append(Leaf(position, seq, rid, digest, leaf, leaf_hash(leaf)))

    def batch(self) -> Batch:
        edge, tiles = tiles_after_append(self.state.edge, [leaf.hash for leaf in self.leaves])
        state = replace(
            self.state,
            edge=edge,
            heartbeats=self.numbered["heartbeat"],
            key_rotations=self.numbered["key_rotation"],
        )
        return Batch(
            state=state,
            leaves=tuple(self.leaves),
            tiles=tuple(tiles),
            spans=self.spans,
            replays=tuple(self.replays),
            conflicts=tuple(self.conflicts),
            poison=tuple(self.poison),
        )

    def _check(self, body: records.Body) -> None:
        if body["region"] != self.state.region:
            raise _poison(f"region: expected {self.state.region}, got {body['region']}")
        kind = body["kind"]
        if kind in self.numbered:
            number, due = parse_rid(body["rid"]).n, self.numbered[kind] + 1
            if number != due:
                raise _poison(f"rid: expected {kind}/{due}, got {body['rid']}")
            self.numbered[kind] = due
        if kind == "run_end" and any(name in body for name in schema.SPAN):
            raise _poison("first_seq and last_seq are set by the sequencer only")

    def _place(self, body: records.Body, seq: int) -> None:
        """Keep where a run's usage stands, and write it into its run_end."""
        if body["kind"] == "usage":
            key = run_key(body)
            self.spans[key] = (self.spans.get(key, (seq, seq))[0], seq)
        elif body["kind"] == "run_end":
            span = self.spans.get(run_key(body))
            if span is not None:
                assert span[0] <= span[1] < seq, "usage stands before its run's end"
                body["first_seq"], body["last_seq"] = span


def _rid_of(data: bytes) -> str:
    """The rid of a poisonous body where it can be read, for the alarm."""
    try:
        rid = canonical.parse(data).get("rid", "")
    except MeteringError:
        return ""
    return rid if isinstance(rid, str) else ""


def _poison(what: str) -> MeteringError:
    return MeteringError(Fault.NON_CANONICAL, what)
