"""A region that lost its certificates comes back by its log's key; drains and leaving, for real."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from intertie.pki.load import load
from intertie.testing.waiting import eventually_sync


def attached(place: Any, directory: Path) -> Any:
    """A region that joined, attached once, and whose log the federation knows."""
    name = directory.name
    place.join_region(place.token("region", "--region", name, "--pre-approved"), directory)
    region = place.serve_region(directory)
    eventually_sync(lambda: place.reachability(name) == "REACHABILITY_REACHABLE", 10, what=name)
    return region


def rejoin(place: Any, directory: Path, expect: int = 0) -> str:
    argv = ("rejoin", "--endpoint", place.endpoint, "--dir", str(directory), "--host", "localhost")
    return str(place.cli(*argv, config="eu.toml", expect=expect).output)


def test_a_region_that_lost_its_ca_comes_back_by_its_logs_key(place: Any, tmp_path: Path) -> None:
    region = attached(place, tmp_path / "eu")
    place.stop_region(region)
    (tmp_path / "eu" / "ca" / "ca-key.pem").unlink()
    shutil.rmtree(tmp_path / "eu" / "identity")
    assert "certified again" in rejoin(place, tmp_path / "eu")
    place.serve_region(tmp_path / "eu")
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="eu")


def test_another_log_key_brings_nobody_back(place: Any, tmp_path: Path) -> None:
    place.stop_region(attached(place, tmp_path / "eu"))
    log_key = tmp_path / "eu" / "state" / "keys" / "log.key"
    log_key.write_text("11" * 32)
    before = load(tmp_path / "eu" / "identity", "intertie.example").identity.serial
    assert "not signed by the newest log key of eu" in rejoin(place, tmp_path / "eu", expect=6)
    assert load(tmp_path / "eu" / "identity", "intertie.example").identity.serial == before


def test_a_region_that_left_does_not_come_back_by_its_log(place: Any, tmp_path: Path) -> None:
    attached(place, tmp_path / "eu")
    argv = ("region", "drain", "eu", "--reason", "end of lease", "--leave")
    assert place.json(*argv)["state"] == "DRAIN_STATE_DONE"
    eventually_sync(lambda: place.reachability("eu") != "REACHABILITY_REACHABLE", 5, what="gone")
    assert "eu left the federation" in rejoin(place, tmp_path / "eu", expect=6)
    token = place.token("region", "--region", "eu", "--pre-approved")
    place.join_region(token, tmp_path / "eu")
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="back")


def test_an_operator_cordons_its_own_region_and_no_other(place: Any, tmp_path: Path) -> None:
    attached(place, tmp_path / "eu")
    attached(place, tmp_path / "us")
    own = place.json("region", "cordon", "eu", "--reason", "cooling", config="eu.toml")
    assert (own["state"], own["state_reason"]) == ("REGION_STATE_CORDONED", "cooling")
    assert own["state_actor"] == "spiffe://eu.intertie.example/operator/owner"
    told = place.cli("region", "cordon", "us", "--reason", "x", config="eu.toml", expect=6)
    assert "only regions/eu is its own" in told.output
    place.cli("region", "remove", "eu", "--reason", "x", "--yes", config="eu.toml", expect=6)
    place.cli("region", "uncordon", "eu", "--reason", "cool again", config="eu.toml")


def test_a_drain_waits_is_seen_and_is_cancelled(place: Any, tmp_path: Path) -> None:
    region = attached(place, tmp_path / "eu")
    place.use_region_address("eu", region)
    place.join_node(place.token("node", config="eu.toml"), tmp_path / "n1", region, "n1")
    place.serve_agent(tmp_path / "n1")
    eventually_sync(lambda: place.nodes("eu.toml") == ["n1"], 10, what="the node")
    place.join(place.token("client", "--project", "demo", "--name", "ann"), config="ann.toml")
    task = tmp_path / "task.yaml"
    task.write_text(
        'name: long\nrun: {command: ["sleep", "600"]}\n'
        "resources: {cpu: 0.1, memory: 64MiB, disk: 64MiB}\n"
    )
    place.cli("submit", str(task), config="ann.toml")
    eventually_sync(lambda: place.task_state("long") == "TASK_STATE_RUNNING", 15, what="the task")
    begun = place.json("region", "drain", "eu", "--reason", "repairs", "--detach")
    assert (begun["state"], begun["guests"]) == ("DRAIN_STATE_RUNNING", 1)
    assert begun["guests_waited_for"] == 1
    told = place.cli("region", "drain", "eu", "--reason", "again", "--detach", expect=7)
    assert "is being drained" in told.output
    cancelled = place.json("region", "cancel-drain", "eu", "--reason", "not today")
    assert cancelled["state"] == "DRAIN_STATE_CANCELLED"
    assert place.task_state("long") == "TASK_STATE_RUNNING"
    place.json("region", "uncordon", "eu", "--reason", "goes on")
    place.json("region", "drain", "eu", "--reason", "now", "--detach", "--deadline", "100ms")
    eventually_sync(lambda: place.task_state("long") == "TASK_STATE_PENDING", 15, what="evicted")
    eventually_sync(
        lambda: place.json("region", "drains", "eu")["drains"][0]["state"] == "DRAIN_STATE_DONE",
        5,
        what="drained",
    )
    place.cli("task", "cancel", "long", config="ann.toml")


@pytest.mark.parametrize("place", ["intermediate"], indirect=True)
def test_an_intermediate_certifies_while_the_root_is_offline(place: Any, tmp_path: Path) -> None:
    attached(place, tmp_path / "eu")
    place.join(place.token("client", "--project", "demo", "--name", "ann"), config="ann.toml")
    assert place.json("whoami", config="ann.toml")["project"] == "demo"


def test_an_intermediate_is_made_by_hand(place: Any, tmp_path: Path) -> None:
    argv = ("ca", "init", str(tmp_path / "signer"), "--intermediate", "--root")
    place.cli(*argv, str(tmp_path / "ca"))
    assert (tmp_path / "signer" / "chain.pem").read_text().count("BEGIN") == 1
    place.cli("ca", "init", str(tmp_path / "x"), "--intermediate", expect=2)
