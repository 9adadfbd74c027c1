"""`intertie metering verify` names each thing that can be wrong with records by its own word."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from intertie.cli.app import app
from intertie.metering import canonical, records
from intertie.metering.cursor import Cursor
from intertie.metering.dsse import StatementSigner
from intertie.metering.grant import Grant, sign_grants
from intertie.metering.log.checkpoint import Checkpoint, cosign, sign
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import Signer
from intertie.metering.log.trust import Trust, print_trust
from intertie.model.meters import HOUR_MS
from intertie.sdk.metering.directory import LogDirectory

ORIGIN = "fed.example/region/r1/metering"
NOON = 1_796_036_400_000
GRANTS = StatementSigner.from_seed(b"\x03" * 32)


@dataclass
class Log:
    """A log as a dishonest region could make it: any leaf, properly signed and cosigned."""

    leaves: list[bytes] = field(default_factory=list)
    log: Signer = field(default_factory=lambda: Signer.from_seed(ORIGIN, b"\x01" * 32))
    witness: Signer = field(default_factory=lambda: Signer.from_seed("fed/w", b"\x02" * 32, 4))
    grant: Grant = field(
        default_factory=lambda: Grant(
            task="t-1",
            epoch="1-1",
            region="r1",
            project="p",
            payer="p",
            maximum={"cpu.held_core_ms": 200_000},
            price_version="v",
            policy_sha256="ab" * 32,
            spec_sha256="ee" * 32,
            not_after_ms=NOON,
        )
    )

    def body(self, interval: int = 1, quantity: int = 60_000, **changes: Any) -> records.Body:
        start = changes.pop("start", NOON + interval * 60_000)
        boot = changes.pop("boot", 60_000)
        who: dict[str, Any] = {"grant_sha256": self.grant.sha256, "task": "t-1", "payer": "p"}
        key = records.RunKey(
            region="r1",
            project="p",
            principal="u",
            run="1-1.0",
            rank=0,
            node="n",
            **(who | changes),
        )
        span = records.Span(start, start + 60_000, boot)
        meter = "cpu.held_core_ms"
        return records.usage(key, span, meter=meter, interval=interval, quantity=quantity)

    def add(self, body: records.Body, **changes: Any) -> None:
        fields = {"seq": len(self.leaves), "recorded_ms": NOON + HOUR_MS, "salt": "0" * 32}
        self.leaves.append(canonical.encode(dict(body) | fields | changes))

    def write(self, folder: Path) -> Path:
        """The pulled folder; returns the trust file."""
        tree = CompactRange().absorb(self.leaves)
        head = sign(Checkpoint(ORIGIN, tree.size, tree.root()), self.log)
        signed = cosign(head, self.witness, NOON // 1000)
        directory = LogDirectory(folder, ORIGIN)
        directory.begin(Cursor.start(ORIGIN))
        directory.write(self.leaves)
        directory.reach(Cursor(ORIGIN, tree, signed))
        policy = folder / "trust.policy"
        trust = Trust((self.log.key,), {"w": self.witness.key}, {}, "w")
        policy.write_text(print_trust(trust))
        (folder / "grant.keys").write_text(f"grant-key {GRANTS.key.public.hex()}\n")
        (folder / "grants").mkdir()
        (found,) = sign_grants([self.grant.encode()], GRANTS)
        state = {
            "grant": b64encode(found.grant).decode(),
            "index": found.index,
            "proof": [b64encode(part).decode() for part in found.proof],
            "envelope": b64encode(found.envelope).decode(),
        }
        (folder / "grants" / "1.json").write_text(json.dumps(state))
        return policy


def verify(folder: Path, policy: Path, *more: str) -> Any:
    arguments = ["metering", "verify", "--policy", str(policy), str(folder), *more]
    return CliRunner().invoke(app, arguments)


def _adjustment(log: Log) -> None:
    log.add(log.body())
    log.add(records.adjustment(log.leaves[0], n=1, quantity=-1, reason="r"), adjusts=_elsewhere())


def _elsewhere() -> dict[str, Any]:
    return {"seq": 0, "leaf_hash": "00" * 32}


def _each(*bodies: Callable[[Log], records.Body]) -> Callable[[Log], None]:
    def append(log: Log) -> None:
        for body in bodies:
            log.add(body(log))

    return append


def _usage(interval: int = 1, **changes: Any) -> Callable[[Log], records.Body]:
    return lambda log: log.body(interval, **changes)


FAULTS: dict[str, Callable[[Log], None]] = {
    "non_canonical": lambda log: log.leaves.append(b'{"b":1, "a":2}'),
    "seq_gap": lambda log: log.add(log.body(), seq=5),
    "duplicate_rid": _each(_usage(), _usage()),
    "no_grant": _each(_usage(grant_sha256="cd" * 32)),
    "over_grant": _each(*(_usage(n) for n in range(1, 6))),
    "overlap": _each(_usage(1), _usage(2, start=NOON + 60_000)),
    "bad_adjustment": _adjustment,
    "clock_anomaly": _each(_usage(boot=1)),
    "late": lambda log: log.add(log.body(), recorded_ms=NOON + 30 * 24 * HOUR_MS),
}


@pytest.mark.parametrize("reason", sorted(FAULTS))
def test_each_fault_of_records_has_its_own_word(reason: str, tmp_path: Path) -> None:
    log = Log()
    log.add(records.heartbeat("r1", 1))
    if reason in ("bad_adjustment", "seq_gap"):
        log.leaves.clear()
    FAULTS[reason](log)
    policy = log.write(tmp_path)
    result = verify(tmp_path, policy, "-o", "json")
    assert result.exit_code == 1, result.output
    found = {finding["reason"] for finding in json.loads(result.stdout)["logs"][0]["findings"]}
    assert reason in found
    assert verify(tmp_path, policy, "-o", "name").stdout.split() == sorted(found)
    assert reason in verify(tmp_path, policy).stdout


def test_an_honest_log_with_its_grants_is_ok(tmp_path: Path) -> None:
    log = Log()
    for interval in (1, 2, 3):
        log.add(log.body(interval))
    policy = log.write(tmp_path)
    result = verify(tmp_path, policy)
    assert result.exit_code == 0, result.output
    assert "checked: 1 grants" in result.stdout
    (tmp_path / "grant.keys").unlink()
    assert "not checked" in verify(tmp_path, policy).stdout


def test_a_grant_that_the_key_did_not_sign_names_the_file(tmp_path: Path) -> None:
    log = Log()
    log.add(log.body())
    policy = log.write(tmp_path)
    (tmp_path / "grant.keys").write_text(f"grant-key {'ab' * 32}\n")
    result = verify(tmp_path, policy)
    assert result.exit_code == 4
    assert "1.json" in result.stderr
    (tmp_path / "grant.keys").write_text("grant-key zz\n")
    assert verify(tmp_path, policy).exit_code == 2
