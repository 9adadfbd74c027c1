"""`intertie metering` and `bill` against a real mirror and witness, then offline."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from intertie.metering import records
from intertie.metering.log.trust import parse_trust


@pytest.fixture(scope="module")
def used(place: Any) -> Any:
    """A federation in which one task has used three core minutes, in as many records."""
    run = place.run_of(place.submit("used"))
    place.log.append(records.heartbeat("eu", 1))
    for interval in (1, 2, 3):
        place.log.usage(run, quantity=60_000, interval=interval)
    place.publish()
    return place


def pulled(place: Any, folder: Path, identity: str = "billing/acme") -> str:
    text: str = place.ok("metering", "pull", str(folder), identity=identity)
    return text


def verify(place: Any, folder: Path, *more: str) -> Any:
    policy = str(folder / "trust.policy")
    return place.cli("metering", "verify", "--policy", policy, str(folder), *more)


def reasons(place: Any, folder: Path, *more: str) -> list[str]:
    result = verify(place, folder, "-o", "json", *more)
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert found["ok"] is False
    return [finding["reason"] for log in found["logs"] for finding in log["findings"]]


def test_a_pulled_log_verifies_offline(used: Any, tmp_path: Path) -> None:
    assert used.log.origin in pulled(used, tmp_path)
    result = verify(used, tmp_path)
    assert result.exit_code == 0, result.output
    assert "OK: every log holds" in result.stdout
    assert "federation at " in result.stdout
    told = json.loads(verify(used, tmp_path, "-o", "json").stdout)
    assert told["ok"] is True
    assert told["logs"][0]["records"] == used.log.cosigned


def test_a_second_pull_goes_on_at_the_cursor(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path)
    before = used.log.cosigned
    used.log.append(records.heartbeat("eu", before + 100))
    used.publish()
    again = used.json("metering", "pull", str(tmp_path), identity="billing/acme")
    assert again["logs"] == [{"origin": used.log.origin, "size": before + 1, "pulled": 1}]
    assert verify(used, tmp_path).exit_code == 0


def test_many_entries_fill_bundles_and_a_resumed_one(used: Any, tmp_path: Path) -> None:
    for _ in range(2):
        first = len(used.log.leaves)
        for n in range(first, first + 300):
            used.log.append(records.heartbeat("eu", n + 1000))
        used.publish()
        pulled(used, tmp_path)
    assert verify(used, tmp_path).exit_code == 0
    entries = tmp_path / used.log.origin / "entries"
    assert len(list(entries.iterdir())) == len(used.log.leaves) // 256 + 1


@pytest.mark.parametrize("at", [0, 1, 40, -1], ids=["length-1", "length-2", "record", "last"])
def test_one_flipped_bit_is_named_as_what_it_is(used: Any, tmp_path: Path, at: int) -> None:
    pulled(used, tmp_path)
    victim = sorted((tmp_path / used.log.origin / "entries").iterdir())[0]
    broken = bytearray(victim.read_bytes())
    broken[at] ^= 1
    victim.write_bytes(bytes(broken))
    found = reasons(used, tmp_path)
    assert set(found) & {"root_mismatch", "bad_proof", "seq_gap"}, found
    text = verify(used, tmp_path).stdout
    assert "NOT OK" in text
    assert found[0] in text


def test_missing_entries_are_a_gap(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path)
    shutil.rmtree(tmp_path / used.log.origin / "entries")
    assert reasons(used, tmp_path) == ["seq_gap"]


def test_a_checkpoint_that_nobody_trusts_is_named(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path)
    policy = tmp_path / "trust.policy"
    kept = policy.read_text()
    lines = [line for line in kept.splitlines() if not line.startswith("#")]
    policy.write_text("quorum none\n")
    assert reasons(used, tmp_path) == ["unknown_origin"]
    other = lines[0].replace("log ", "").split("+")[0]
    assert other == used.log.origin
    policy.write_text(kept)
    checkpoint = tmp_path / used.log.origin / "checkpoint"
    signed = checkpoint.read_bytes()
    checkpoint.write_bytes(b"\n".join(signed.split(b"\n")[:-2]) + b"\n")
    assert reasons(used, tmp_path) == ["quorum_not_met"]
    checkpoint.write_bytes(signed.replace(b"\n", b"\r\n"))
    assert reasons(used, tmp_path) == ["bad_note"]


def test_an_old_checkpoint_is_stale_if_asked_for_a_young_one(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path)
    assert verify(used, tmp_path, "--max-age", "1h").exit_code == 0
    assert reasons(used, tmp_path, "--max-age", "0") == ["stale_checkpoint"]


def test_a_log_that_goes_back_is_refused_while_pulling(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path)
    cursor = tmp_path / used.log.origin / "cursor.json"
    state = json.loads(cursor.read_text())
    state["hashes"] = state["hashes"][::-1] if len(state["hashes"]) > 1 else ["00" * 32]
    cursor.write_text(json.dumps(state))
    result = used.cli("metering", "pull", str(tmp_path), identity="billing/acme")
    assert result.exit_code == 2
    assert "cursor" in result.stderr


def test_another_project_sees_hashes_only_and_can_still_verify(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path, "project/other/bob")
    told = json.loads(verify(used, tmp_path, "-o", "json").stdout)
    assert told["ok"] is True
    assert told["logs"][0]["hidden"] == 3
    stored = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"used_core" not in stored
    assert b'"payer":"demo"' not in stored


def test_a_receipt_is_fetched_and_checked_offline(used: Any, tmp_path: Path) -> None:
    pulled(used, tmp_path)
    receipt = tmp_path / "receipt"
    used.ok("metering", "receipt", "1", "--out", str(receipt), identity="billing/acme")
    arguments = ("metering", "check-receipt", str(receipt), "--policy")
    policy = str(tmp_path / "trust.policy")
    told = used.json(*arguments, policy)
    assert told["ok"] is True
    assert told["record"]["quantity"] == 60_000
    assert "OK: the record stands in the log" in used.ok(*arguments, policy)
    receipt.write_bytes(receipt.read_bytes().replace(b"index 1\n", b"index 2\n"))
    result = used.cli(*arguments, policy)
    assert result.exit_code == 1
    assert "NOT OK  bad_proof" in result.stdout


def test_the_trust_file_is_printed_with_fingerprints(used: Any) -> None:
    text = used.ok("metering", "trust", identity="billing/acme")
    assert used.log.signer.key.fingerprint in text
    assert parse_trust(text).quorum == "federation"


def test_a_statement_adds_up_and_tells_useful_from_lost(used: Any) -> None:
    text = used.ok("bill", "statement")
    assert "cpu.held_core_ms" in text
    assert "the lines add up to the total" in text
    told = used.json("bill", "statement", "--payer", "demo", identity="billing/acme")
    (line,) = told["statement"]["lines"]
    assert (line["quantity"], line["pricing_quantity"]) == (180_000, "0.050000000")
    (total,) = told["statement"]["totals"]
    assert total["amount"] == {"currency": "EUR", "units": 0, "nanos": 180_000_000}
    assert told["envelope"]


def test_a_statement_of_nothing_has_no_total_and_says_so(used: Any) -> None:
    text = used.ok("bill", "statement", "--payer", "nobody", identity="billing/acme")
    assert "nothing is billed" in text


def test_a_statement_of_somebody_else_is_denied(used: Any) -> None:
    assert used.cli("bill", "statement", "--payer", "other").exit_code == 6
    assert used.cli("bill", "statement", "--from", "yesterday").exit_code == 2


def test_verifying_an_empty_folder_says_to_pull_first(used: Any, tmp_path: Path) -> None:
    (tmp_path / "trust.policy").write_text("quorum none\n")
    result = verify(used, tmp_path)
    assert result.exit_code == 3
    assert "intertie metering pull" in result.stderr
