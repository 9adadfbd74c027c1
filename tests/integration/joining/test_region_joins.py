"""A region joins by a token, is approved, and attaches."""

from pathlib import Path
from typing import Any

from intertie.testing.waiting import eventually_sync


def test_a_region_joins_by_a_token_is_approved_and_attaches(place: Any, tmp_path: Path) -> None:
    token = place.token("region", "--region", "eu")
    directory = tmp_path / "eu"
    assert "region approve" in place.join_region(token, directory, "--no-wait").output
    [asked] = place.json("region", "requests")["joins"]
    assert asked["subject"] == "spiffe://eu.intertie.example/scheduler"
    assert asked["jurisdiction"] == "DE/DE-HE/fra1"
    assert asked["address"] == "127.0.0.1"
    place.cli("region", "approve", "eu")
    joined = place.join_region(token, directory)
    assert f"next: intertie regional serve --config {directory / 'config.toml'}" in joined.stdout
    assert (directory / "ca" / "ca-key.pem").stat().st_mode & 0o777 == 0o600
    place.serve_region(directory)
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="eu")
    assert place.json("region", "requests")["joins"] == []


def test_a_pre_approved_region_joins_at_once(place: Any, tmp_path: Path) -> None:
    token = place.token("region", "--region", "eu", "--pre-approved")
    assert "joined intertie.example" in place.join_region(token, tmp_path / "eu").stdout
    place.serve_region(tmp_path / "eu")
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="eu")
