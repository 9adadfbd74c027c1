"""Builders for metering tests: keys, a small honest log, and the worked vector."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from intertie.metering import canonical, records, sequence
from intertie.metering.cursor import Cursor
from intertie.metering.grant import Grant
from intertie.metering.log import checkpoint
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import ED25519_COSIGNATURE, Signer
from intertie.metering.log.tiles import TreeEdge
from intertie.metering.log.trust import Trust
from intertie.metering.sequence import LogState

DATA = Path(__file__).parents[2] / "data" / "metering"
HOUR = 3_600_000
NOON = 1_796_036_400_000
"""2026-11-30T11:00:00Z, the hour that the worked vector starts its second record in."""
ORIGIN = "fed.example/region/r1/metering"


@pytest.fixture(scope="session")
def vector() -> dict[str, Any]:
    """The worked vector: seeds, leaves and every byte that must come of them."""
    loaded: dict[str, Any] = json.loads((DATA / "worked_vector.json").read_text())
    return loaded


@dataclass
class World:
    """One region's log with its witness: append bodies, sign, cosign; honest unless told."""

    log: Signer = field(default_factory=lambda: Signer.from_seed(ORIGIN, b"\x01" * 32))
    witness: Signer = field(
        default_factory=lambda: Signer.from_seed("fed.example/witness", b"\x02" * 32, 4)
    )
    state: LogState = field(
        default_factory=lambda: LogState(origin=ORIGIN, region="r1", edge=TreeEdge())
    )
    leaves: list[bytes] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def trust(self) -> Trust:
        return Trust((self.log.key,), {"w": self.witness.key}, {}, "w")

    @property
    def grant(self) -> Grant:
        meters = ("cpu.held_core_ms", "mem.held_mib_ms", "net.egress_bytes")
        return Grant(
            task="t-01",
            epoch="1-1",
            region="r1",
            project="proj-42",
            payer="acme",
            spec_sha256="cd" * 32,
            maximum=dict.fromkeys(meters, 10**12),
            price_version="v1",
            policy_sha256="ab" * 32,
            not_after_ms=NOON + 7 * 24 * HOUR,
        )

    def key(self, **changes: Any) -> records.RunKey:
        fields: dict[str, Any] = {
            "region": "r1",
            "project": "proj-42",
            "payer": "acme",
            "principal": "u-7",
            "task": "t-01",
            "run": "1-1.0",
            "rank": 0,
            "node": "n7",
            "grant_sha256": self.grant.sha256,
        }
        return records.RunKey(**(fields | changes))

    def usage(self, interval: int = 1, quantity: int = 240_000, **changes: Any) -> records.Body:
        start = changes.pop("start", NOON + (interval - 1) * 60_000)
        end = changes.pop("end", start + 60_000)
        boot = changes.pop("boot", end - start)
        meter = changes.pop("meter", "cpu.held_core_ms")
        return records.usage(
            self.key(**changes),
            records.Span(start, end, boot),
            meter=meter,
            interval=interval,
            quantity=quantity,
        )

    def batch(self, bodies: Sequence[records.Body], at: int = NOON + HOUR) -> sequence.Batch:
        """Sequence without committing."""
        first = len(self.leaves)
        return sequence.sequence(
            self.state,
            [records.pending_bytes(body) for body in bodies],
            recorded_ms=at,
            salts=[self.salt(first + n) for n in range(len(bodies))],
            known=self.known,
            spans=self.spans,
        )

    def append(self, *bodies: records.Body, at: int = NOON + HOUR) -> sequence.Batch:
        """Sequence and commit."""
        batch = self.batch(bodies, at)
        self.state = batch.state
        self.leaves += [leaf.data for leaf in batch.leaves]
        self.known |= {leaf.rid: leaf.digest for leaf in batch.leaves}
        self.spans = dict(batch.spans)
        return batch

    def append_raw(self, *leaves: bytes) -> None:
        """Append leaves that no honest sequencer would make."""
        self.leaves += leaves
        edge = TreeEdge(CompactRange().absorb(self.leaves))
        self.state = LogState(origin=ORIGIN, region="r1", edge=edge)

    def forge(self, body: records.Body, at: int = NOON + HOUR, **changes: Any) -> None:
        """Append a record with fields changed after they were checked."""
        seq = len(self.leaves)
        fields = {"seq": seq, "recorded_ms": at, "salt": self.salt(seq)} | changes
        self.append_raw(canonical.encode(body | fields))

    def signed(self, time_s: int = 1_796_040_000) -> bytes:
        """The cosigned checkpoint of all leaves."""
        signed = checkpoint.sign(self.state.head(), self.log)
        return checkpoint.cosign(signed, self.witness, time_s)

    @property
    def start(self) -> Cursor:
        return Cursor.start(ORIGIN)

    @staticmethod
    def salt(seed: int) -> str:
        return sha256(b"%d" % seed).hexdigest()[:32]


assert ED25519_COSIGNATURE == 4, "what World signs with"


@pytest.fixture
def world() -> World:
    """A fresh log."""
    return World()


@pytest.fixture(scope="session")
def make_world() -> Callable[[], World]:
    """Makes fresh logs, for properties that need one for each example."""
    return World
