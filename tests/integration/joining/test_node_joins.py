"""A region and its agent join live by tokens, and the agent runs a task."""

from pathlib import Path
from typing import Any

from intertie.testing.waiting import eventually_sync

TASK = (
    'name: hello\nrun: {{command: ["true"]}}\nresources: {{cpu: 0.1, memory: 64MiB, disk: 64MiB}}\n'
)


def test_a_region_and_its_agent_join_by_tokens_and_run_a_task(place: Any, tmp_path: Path) -> None:
    place.join_region(place.token("region", "--region", "eu", "--pre-approved"), tmp_path / "eu")
    region = place.serve_region(tmp_path / "eu")
    eventually_sync(lambda: place.reachability("eu") == "REACHABILITY_REACHABLE", 10, what="eu")
    place.use_region_address("eu", region)
    node_token = place.token("node", "--max-uses", "2", config="eu.toml")
    place.join_node(node_token, tmp_path / "n1", region, "n1")
    place.serve_agent(tmp_path / "n1")
    eventually_sync(lambda: place.nodes("eu.toml") == ["n1"], 10, what="the node")
    place.join(place.token("client", "--project", "demo", "--name", "ann"), config="ann.toml")
    assert place.json("whoami", config="ann.toml")["project"] == "demo"
    task = tmp_path / "task.yaml"
    task.write_text(TASK.format())
    place.cli("submit", str(task), "--wait", config="ann.toml")
