"""`intertie task residency` proves from files where a task was; `policy test` judges cases."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from intertie.cli.app import app
from intertie.metering import canonical, records
from intertie.metering.cursor import Cursor
from intertie.metering.log.checkpoint import Checkpoint, cosign, sign
from intertie.metering.log.merkle import CompactRange
from intertie.metering.log.note import Signer
from intertie.metering.log.trust import Trust, print_trust
from intertie.sdk.metering.directory import LogDirectory

ORIGIN = "fed.example/region/r1/metering"
NOON = 1_796_036_400_000
TASK = "10-01a22f83-fcbe-702f-827d-7930a7cb6978"
POLICY = "ab" * 32
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def _key(task: str, run: str = "1-1.1") -> records.RunKey:
    who = {"region": "r1", "project": "p", "payer": "p", "principal": "u", "node": "n"}
    return records.RunKey(task=task, run=run, rank=0, grant_sha256="cd" * 32, **who)


def placement(task: str = TASK, run: str = "1-1.1") -> records.Body:
    return records.placement(
        _key(task, run),
        start_ms=NOON,
        jurisdiction="DE/DE-HE/fra1",
        policy_sha256=POLICY,
        verdict="allowed: within EU",
    )


def usage(task: str = TASK, run: str = "1-1.1", start_ms: int = NOON) -> records.Body:
    span = records.Span(start_ms, start_ms + 60_000, 60_000)
    meter = "cpu.held_core_ms"
    return records.usage(_key(task, run), span, meter=meter, interval=1, quantity=60_000)


def write(folder: Path, *bodies: records.Body, breaks: bool = False) -> Path:
    """A pulled folder with a signed and cosigned log of these records; its trust file."""
    leaves = [
        canonical.encode(dict(body) | {"seq": i, "recorded_ms": NOON + 200_000, "salt": "0" * 32})
        for i, body in enumerate(bodies)
    ]
    log = Signer.from_seed(ORIGIN, b"\x01" * 32)
    witness = Signer.from_seed("fed/w", b"\x02" * 32, 4)
    tree = CompactRange().absorb(leaves)
    head = sign(Checkpoint(ORIGIN, tree.size, tree.root()), log)
    signed = cosign(head, witness, NOON // 1000 + 120)
    if breaks:
        leaves[0] = leaves[0].replace(b"DE-HE", b"DE-BY")
    directory = LogDirectory(folder, ORIGIN)
    directory.begin(Cursor.start(ORIGIN))
    directory.write(leaves)
    directory.reach(Cursor(ORIGIN, tree, signed))
    trust = folder / "trust.policy"
    trust.write_text(print_trust(Trust((log.key,), {"w": witness.key}, {}, "w")))
    return trust


def told(folder: Path, trust: Path, *more: str) -> tuple[int, str]:
    command = ["task", "residency", TASK, "--dir", str(folder), "--policy", str(trust), *more]
    done = CliRunner().invoke(app, command)
    return done.exit_code, done.output


def test_each_placement_is_told_with_its_place_its_policy_and_the_rule(tmp_path: Path) -> None:
    trust = write(tmp_path, placement(), usage(), placement("11-" + TASK[3:]))
    code, text = told(tmp_path, trust, "-o", "json")
    assert code == 0, text
    listed: Any = json.loads(text[: text.rindex("}") + 1])
    (found,) = listed["placements"]
    record = found["record"]
    assert (record["jurisdiction"], record["policy_sha256"]) == ("DE/DE-HE/fra1", POLICY)
    assert record["verdict"] == "allowed: within EU"


def test_a_billed_run_without_a_placement_is_not_proved(tmp_path: Path) -> None:
    trust = write(tmp_path, placement(), usage(), usage(run="1-2.1", start_ms=NOON + 60_000))
    code, text = told(tmp_path, trust)
    assert code == 1
    assert "run 1-2.1 was billed and has no placement record" in text


def test_nothing_of_a_log_that_was_altered_counts(tmp_path: Path) -> None:
    trust = write(tmp_path, placement(), usage(), breaks=True)
    code, text = told(tmp_path, trust)
    assert code == 1
    assert "nothing in it counts" in text
    assert "DE-BY" not in text


@pytest.mark.parametrize(("expect", "code"), [("refused", 0), ("allowed", 1)])
def test_a_case_that_does_not_hold_fails_the_policy_test(
    tmp_path: Path, expect: str, code: int
) -> None:
    cases = tmp_path / "cases.yaml"
    cases.write_text(f"cases: [{{within: [EU], place: US, expect: {expect}}}]")
    policy = str(EXAMPLES / "policy.yaml")
    done = CliRunner().invoke(app, ["policy", "test", str(cases), "--policy", policy])
    assert done.exit_code == code, done.output
