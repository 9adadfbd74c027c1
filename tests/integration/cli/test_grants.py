"""Caps, checked offline: grants are pulled, and believed only under the federation's key."""

import json
from pathlib import Path
from typing import Any

import pytest

CAP_IS_PASSED = 2**50


@pytest.fixture(scope="module")
def used(place: Any) -> Any:
    """A federation in which one task has used three core minutes."""
    run = place.run_of(place.submit("capped"))
    for interval in (1, 2, 3):
        place.log.usage(run, quantity=60_000, interval=interval)
    place.publish()
    place.capped = run
    return place


def pull(place: Any, folder: Path, identity: str = "billing/acme") -> dict[str, Any]:
    found: dict[str, Any] = place.json("metering", "pull", str(folder), identity=identity)
    return found


def verify(place: Any, folder: Path, *more: str) -> tuple[int, dict[str, Any]]:
    policy = str(folder / "trust.policy")
    result = place.cli("metering", "verify", "--policy", policy, str(folder), "-o", "json", *more)
    return result.exit_code, json.loads(result.stdout)


def reasons(told: dict[str, Any]) -> list[str]:
    return [finding["reason"] for log in told["logs"] for finding in log["findings"]]


def test_a_pull_brings_the_grants_and_verify_checks_caps_by_default(
    used: Any, tmp_path: Path
) -> None:
    assert pull(used, tmp_path)["grants"] == 1
    assert (tmp_path / "grants" / f"{used.capped.grant_sha256}.json").exists()
    code, told = verify(used, tmp_path)
    assert (code, told["grants_checked"]) == (0, 1)
    text = used.ok("metering", "verify", "--policy", str(tmp_path / "trust.policy"), str(tmp_path))
    assert "checked: 1 grants" in text


def test_a_second_pull_asks_for_no_grant_again(used: Any, tmp_path: Path) -> None:
    pull(used, tmp_path)
    assert pull(used, tmp_path)["grants"] == 0


def test_a_pull_that_broke_before_its_grants_is_made_good(used: Any, tmp_path: Path) -> None:
    pull(used, tmp_path)
    (kept,) = (tmp_path / "grants").iterdir()
    kept.unlink()
    assert "no_grant" in reasons(verify(used, tmp_path)[1])
    (tmp_path / used.log.origin / "granted").unlink()
    assert pull(used, tmp_path)["grants"] == 1
    assert verify(used, tmp_path)[0] == 0


def test_a_project_gets_its_own_grants_and_an_operator_none(used: Any, tmp_path: Path) -> None:
    assert pull(used, tmp_path / "own", "project/demo/ann")["grants"] == 1
    assert verify(used, tmp_path / "own")[1]["grants_checked"] == 1
    assert pull(used, tmp_path / "other", "project/other/bob")["grants"] == 0
    assert verify(used, tmp_path / "other")[0] == 0
    region = tmp_path / "region"
    used.ok("metering", "pull", str(region), identity="eu:operator/joe")
    code, told = verify(used, region)
    assert (code, told["grants_checked"]) == (0, None)


def test_grants_of_another_key_are_refused(used: Any, tmp_path: Path) -> None:
    pull(used, tmp_path)
    keys = tmp_path / "others"
    keys.write_text(f"# somebody\ngrant-key {'ab' * 32}\n")
    policy = str(tmp_path / "trust.policy")
    arguments = ("metering", "verify", "--policy", policy, str(tmp_path), "--grant-keys", str(keys))
    result = used.cli(*arguments)
    assert result.exit_code == 4
    assert "no valid signature" in result.stderr
    keys.write_text("grant-key zz\n")
    assert used.cli(*arguments).exit_code == 2
    keys.write_text("# nothing\n")
    assert used.cli(*arguments).exit_code == 2


def test_the_grant_keys_are_printed_with_fingerprints(used: Any) -> None:
    text = used.ok("metering", "trust", "--grant-keys", identity="billing/acme")
    assert "SHA256:" in text
    assert text.splitlines()[-1].startswith("grant-key ")


def test_usage_above_its_cap_or_without_a_grant_of_ours_is_found(used: Any, tmp_path: Path) -> None:
    used.log.usage(used.capped, quantity=CAP_IS_PASSED, interval=4)
    used.log.usage(used.capped, quantity=60_000, interval=5, grant_sha256="a" * 64)
    used.publish()
    assert pull(used, tmp_path)["grants"] == 1
    code, told = verify(used, tmp_path)
    assert code == 1
    assert sorted(reasons(told)) == ["no_grant", "over_grant"]
