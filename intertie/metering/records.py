"""Records of `intertie.usage/v1`: built as pending bodies, sealed into leaves, read back.

A *pending body* is all that a region knows when a run changes state; it is committed with that
change. The sequencer seals it: seq, recorded_ms and salt are added and the bytes become a leaf.
Builders check what they build, so that no malformed body is ever committed. No clock and no
randomness here: instants and salts are arguments.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from intertie.metering import canonical, schema
from intertie.metering.intervals import RunTime
from intertie.metering.rids import run_rid, usage_rid
from intertie.model.states import FailureClass, Outcome

Body = dict[str, Any]
"""A pending body: a canonical object without the fields of `schema.SEALED`."""

_SEAL_OF_A_PENDING = {"seq": 0, "recorded_ms": 0, "salt": "0" * 32}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKey:
    """Who and where: what every record of one rank of a run carries."""

    region: str
    project: str
    payer: str
    principal: str
    task: str
    run: str
    rank: int
    node: str
    grant_sha256: str = ""

    @property
    def native(self) -> bool:
        """The owner's own work: payer is the region, no grant, never priced."""
        return self.payer == self.region


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open [start_ms, end_ms) in UTC, and the same duration by the boot clock."""

    start_ms: int
    end_ms: int
    boot_ms: int


def usage(
    key: RunKey,
    span: Span,
    *,
    meter: str,
    interval: int,
    quantity: int,
    evidence_sha256: str = "",
    model: str = "",
    isolation: str = "",
    class_: str = "",
) -> Body:
    """A quantity of one meter over one interval."""
    rid = usage_rid(key.task, key.run, key.rank, interval, meter)
    extra = {
        "evidence_sha256": evidence_sha256,
        "model": model,
        "isolation": isolation,
        "class": class_,
    }
    return _checked(
        _head("usage", key, rid)
        | _span(span)
        | {"meter": meter, "quantity": quantity}
        | _present(extra)
    )


def run_end(
    key: RunKey,
    span: Span,
    *,
    outcome: Outcome,
    time: RunTime,
    cause: str,
    complete: bool,
    failure_class: FailureClass | None = None,
    checkpoint: str = "",
    evidence_sha256: str = "",
) -> Body:
    """How a rank of a run ended. `complete`: all its usage up to the end has been committed."""
    rid = run_rid(key.task, key.run, key.rank, "run_end")
    facts = {
        "outcome": outcome.value,
        "useful_ms": time.useful_ms,
        "reclaimed_ms": time.reclaimed_ms,
        "lost_ms": time.lost_ms,
        "cause": cause,
        "complete": complete,
    }
    extra = {
        "failure_class": failure_class.value if failure_class else "",
        "checkpoint": checkpoint,
        "evidence_sha256": evidence_sha256,
    }
    return _checked(_head("run_end", key, rid) | _span(span) | facts | _present(extra))


def placement(
    key: RunKey, *, start_ms: int, jurisdiction: str, policy_sha256: str, verdict: str
) -> Body:
    """Where a rank was placed, under which policy, with which verdict."""
    rid = run_rid(key.task, key.run, key.rank, "placement")
    facts = {
        "start_ms": start_ms,
        "jurisdiction": jurisdiction,
        "policy_sha256": policy_sha256,
        "verdict": verdict,
    }
    return _checked(_head("placement", key, rid) | facts)


def adjustment(original: bytes, *, n: int, quantity: int, reason: str) -> Body:
    """Correct a usage leaf by a signed quantity; `n` counts the corrections of that leaf."""
    assert n > 0, "corrections are numbered from 1"
    return _correction(original, "adjustment", f"adj/{n}", quantity, reason)


def void(original: bytes, *, n: int, reason: str) -> Body:
    """Take a usage leaf back as a whole."""
    assert n > 0, "corrections are numbered from 1"
    quantity = canonical.parse(original)["quantity"]
    assert type(quantity) is int, "the quantity of a usage record is an integer"
    return _correction(original, "void", f"void/{n}", -quantity, reason)


def heartbeat(region: str, n: int) -> Body:
    """Say that the log lives though nothing is metered."""
    assert n > 0, "heartbeats are numbered from 1"
    return _checked(_plain("heartbeat", region, f"heartbeat/{n}"))


def key_rotation(region: str, n: int, *, old_vkey: str, new_vkey: str) -> Body:
    """Announce the next log key under the old one."""
    assert n > 0, "rotations are numbered from 1"
    assert old_vkey != new_vkey, "a rotation changes the key"
    keys = {"old_vkey": old_vkey, "new_vkey": new_vkey}
    return _checked(_plain("key_rotation", region, f"key_rotation/{n}") | keys)


def period_close(
    region: str, *, payer: str, month: str, sums: Mapping[str, int], record_count: int
) -> Body:
    """Close a payer's month (`YYYY-MM`): what comes later for it is late."""
    assert record_count >= 0, f"{record_count} records"
    meters = sorted(sums)
    facts = {
        "payer": payer,
        "month": month,
        "meters": meters,
        "sums": [str(sums[meter]) for meter in meters],  # may pass 2^53
        "record_count": record_count,
    }
    return _checked(_plain("period_close", region, f"{payer}/{month}") | facts)


def pending_bytes(body: Body) -> bytes:
    """The bytes of a pending body, as they are committed with a run's transition."""
    return canonical.encode(body)


def body_digest(body: Mapping[str, Any]) -> str:
    """SHA-256 of what a record says, by which a replay is told from a conflict.

    Leaves out what sequencing adds, so that a pending body and the leaf made of it agree.
    """
    return sha256(canonical.encode(unsealed(body))).hexdigest()


def unsealed(record: Mapping[str, Any]) -> Body:
    """The pending body that a record was made from."""
    added = schema.SEALED + (schema.SPAN if record.get("kind") == "run_end" else ())
    return {name: value for name, value in record.items() if name not in added}


def check_pending(body: Mapping[str, Any]) -> None:
    """Refuse a body that could not be sealed into a record of the schema."""
    schema.check(dict(body) | _SEAL_OF_A_PENDING)


def seal(body: Mapping[str, Any], *, seq: int, recorded_ms: int, salt: str) -> bytes:
    """Return the leaf: the body with what sequencing adds. `salt`: 16 random bytes in hex."""
    assert body.keys().isdisjoint(schema.SEALED), "a body is sealed once"
    assert len(salt) == 32, "a salt is 16 bytes in hex"
    assert min(seq, recorded_ms) >= 0, "a leaf has a place and an instant"
    return canonical.encode(dict(body) | {"seq": seq, "recorded_ms": recorded_ms, "salt": salt})


def parse_record(leaf: bytes) -> canonical.Object:
    """Read a leaf as a record; refuse what is not canonical or not of the schema."""
    record = canonical.parse(leaf)
    schema.check(record)
    return record


def _correction(original: bytes, kind: str, suffix: str, quantity: int, reason: str) -> Body:
    target: Body = dict(parse_record(original))
    assert target["kind"] == "usage", "only usage is corrected"
    leaf = sha256(b"\x00" + original).hexdigest()
    body = unsealed(target) | {
        "kind": kind,
        "rid": f"{target['rid']}/{suffix}",
        "quantity": quantity,
        "adjusts": {"seq": target["seq"], "leaf_hash": leaf},
        "reason": reason,
    }
    return _checked(body)


def _plain(kind: str, region: str, rid: str) -> Body:
    return {"type": schema.TYPE, "kind": kind, "region": region, "rid": rid}


def _head(kind: str, key: RunKey, rid: str) -> Body:
    who = {
        "project": key.project,
        "payer": key.payer,
        "principal": key.principal,
        "task": key.task,
        "run": key.run,
        "rank": key.rank,
        "node": key.node,
    }
    return _plain(kind, key.region, rid) | who | _present({"grant_sha256": key.grant_sha256})


def _span(span: Span) -> Body:
    return {"start_ms": span.start_ms, "end_ms": span.end_ms, "boot_ms": span.boot_ms}


def _present(fields: Mapping[str, str]) -> Body:
    return {name: value for name, value in fields.items() if value}


def _checked(body: Body) -> Body:
    check_pending(body)
    return body
