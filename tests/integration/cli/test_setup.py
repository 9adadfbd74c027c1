"""Setting up by the command line alone: a CA, identities, a context; and looking at the machine."""

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_a_ca_made_by_the_command_line_issues_identities_that_load(
    place: Any, tmp_path: Path
) -> None:
    root, regional = str(tmp_path / "root"), str(tmp_path / "eu")
    assert "pin sha256:" in place.ok("ca", "init", root)
    place.ok("ca", "init", regional, "--region", "eu", "--root", root)
    identity = tmp_path / "ann"
    spiffe_id = "spiffe://intertie.example/project/demo/ann"
    assert spiffe_id in place.ok("ca", "issue", root, str(identity), spiffe_id)
    operator = tmp_path / "olga"
    operator_id = "spiffe://eu.intertie.example/operator/olga"
    place.ok("ca", "issue", regional, str(operator), operator_id, "--region", "eu")
    assert stat.S_IMODE((identity / "key.pem").stat().st_mode) == 0o600
    assert place.cli("ca", "init", root).exit_code == 7
    assert place.cli("ca", "issue", root, str(operator), operator_id).exit_code != 0


def test_a_context_is_added_used_and_listed(place: Any, tmp_path: Path) -> None:
    identity = str(place.identity("project/demo/ann"))
    first = ("context", "add", "one", "--endpoint", place.port, "--identity", identity)
    operator = str(place.identity("eu:operator/olga"))
    region = ("--region", "eu", "--region-endpoint", "h:1", "--region-identity", operator)
    config = tmp_path / "config.toml"
    place.ok(*first, config=config)
    place.ok(*(*first[:2], "two", *first[3:]), *region, "--no-use", config=config)
    listed = place.json("context", "list", config=config)["contexts"]
    assert [(c["name"], c["current"]) for c in listed] == [("one", True), ("two", False)]
    assert listed[1]["region"]["id"] == "eu"
    place.ok("context", "use", "two", config=config)
    assert place.ok("context", "list", "-o", "name", config=config).split() == ["one", "two"]
    assert place.json("region", "show", "eu", config=config)["name"] == "regions/eu"


def test_a_context_with_unusable_files_is_not_written(place: Any, tmp_path: Path) -> None:
    arguments = ("context", "add", "bad", "--endpoint", "h:1", "--identity", str(tmp_path))
    result = place.cli(*arguments)
    assert result.exit_code == 2
    assert str(tmp_path / "key.pem") in result.stderr


def test_an_identity_of_another_federation_is_told_as_unreachable_with_a_remedy(
    place: Any, tmp_path: Path
) -> None:
    place.ok("ca", "init", str(tmp_path / "root"))
    identity = str(tmp_path / "ann")
    place.ok("ca", "issue", str(tmp_path / "root"), identity, "spiffe://intertie.example/admin/a")
    config = tmp_path / "config.toml"
    add = ("context", "add", "x", "--endpoint", place.port, "--identity", identity)
    place.ok(*add, config=config)
    result = place.cli("region", "list", config=config)
    assert result.exit_code == 5
    assert "remedy: Check that both certificates" in result.stderr


@pytest.mark.parametrize("service", ["federation", "regional"])
def test_serve_checks_a_configuration_and_passes_the_exit_code_on(
    service: str, tmp_path: Path
) -> None:
    config = tmp_path / "bad.toml"
    config.write_text("colour = 'red'\n")
    command = [sys.executable, "-m", "intertie.cli", service, "serve", "--check", "--config"]
    done = subprocess.run([*command, str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "colour" in done.stderr


def test_the_doctor_tells_what_the_machine_has_and_how_it_knows(place: Any) -> None:
    told = place.json("agent", "doctor")
    assert told["cpu"]["source"]
    assert "cpu" in place.ok("agent", "doctor")
