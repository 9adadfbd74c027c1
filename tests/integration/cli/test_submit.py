"""`intertie plan` and `submit`: what is refused before it leaves, what arrives, what comes back."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from intertie.model.states import Outcome
from intertie.testing.waiting import eventually_sync

WITHIN_S = 20.0


def test_a_plan_shows_each_region_with_every_check(place: Any) -> None:
    text = place.ok("plan", place.task_file("planned"))
    assert "REGION" in text
    assert "* " in text
    assert "eu" in text
    assert "NEED" in text
    assert "FACTOR" in place.ok("plan", place.task_file("planned"), "--wide")


def test_a_plan_supposes_that_a_region_is_down_and_refuses_one_that_is_none(place: Any) -> None:
    plan = place.json("plan", place.task_file("planned"), "--what-if", "region-down=eu")
    assert not plan.get("chosen")
    failed = [c["name"] for c in plan["verdicts"][0]["checks"] if not c.get("holds")]
    assert failed == ["state"]
    assert place.json("plan", place.task_file("planned"))["chosen"] == "eu"
    for supposed in ("moon", "region-down=mars", "reclaim=eu:0"):
        refused = place.cli("plan", place.task_file("planned"), "--what-if", supposed)
        assert refused.exit_code == 2, refused.output


def test_a_plan_of_what_fits_nowhere_says_what_would_help(place: Any) -> None:
    plan = place.json("plan", place.task_file("huge"), "--set", "resources.memory=900TiB")
    assert not plan.get("chosen")
    assert plan["remedy"]
    assert "remedy: " in place.ok(
        "plan", place.task_file("huge"), "--set", "resources.memory=900TiB"
    )
    assert place.ok("task", "list", "--filter", 'display_name = "huge"', "-o", "name") == ""


def test_the_files_of_a_task_are_packed_uploaded_once_and_named_by_digest(
    place: Any, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "main.py").write_text("print('hi')\n")
    (tmp_path / "work" / "big.bin").write_bytes(b"\x01" * 3_000_000)
    (tmp_path / "work" / "__pycache__").mkdir()
    (tmp_path / "work" / "__pycache__" / "x.pyc").write_bytes(b"x")
    (tmp_path / "task.yaml").write_text(
        "name: packed\nrun: {command: [python, main.py], workdir: work}\n"
    )
    for _ in range(2):
        name = place.ok("submit", str(tmp_path / "task.yaml"), "-q").strip()
    run = place.run_of(name)
    assert [ref.path for ref in run.spec.run.files] == ["big.bin", "main.py"]
    assert run.spec.run.workdir == ""
    blobs = place.path / "state" / "blobs"
    digests = [ref.sha256 for ref in run.spec.run.files]
    found = [path for path in blobs.rglob("*") if any(d in path.name for d in digests)]
    assert len(found) >= 2


def test_count_submits_so_many_distinct_tasks(place: Any) -> None:
    names = place.submit("many", "--count", "120", "--set", "placement.only=[mars]").split()
    assert len(set(names)) == 120
    listed = place.ok(
        "task", "list", "--filter", 'display_name = "many"', "--limit", "500", "-o", "name"
    )
    assert set(listed.split()) == set(names)


def test_an_array_prints_all_of_its_tasks(place: Any) -> None:
    names = place.submit("array", "--set", "array=3").split()
    assert len(set(names)) == 3
    assert [place.json("task", "show", name).get("index", 0) for name in names] == [0, 1, 2]


def test_validate_only_checks_on_the_server_and_creates_nothing(place: Any) -> None:
    text = place.ok("submit", place.task_file("only-checked"), "--validate-only")
    assert "only-checked is valid" in text
    found = place.ok("task", "list", "--filter", 'display_name = "only-checked"', "-o", "name")
    assert found == ""


def test_fail_if_unmatched_exits_4_where_waiting_would_be_for_ever(place: Any) -> None:
    arguments = ("--set", "resources.memory=900TiB", "--fail-if-unmatched")
    result = place.cli("submit", place.task_file("unmatched"), *arguments)
    assert result.exit_code == 4, result.output


def test_set_and_name_change_what_is_submitted(place: Any) -> None:
    name = place.submit("as-written", "--name", "renamed", "--set", "run.env.GREETING=hello")
    run = place.run_of(name)
    assert run.spec.name == "renamed"
    assert run.spec.run.env == {"GREETING": "hello"}


def test_a_task_is_read_from_stdin(place: Any) -> None:
    stdin = 'name: piped\nrun: {command: ["true"]}\n'
    name = place.ok("submit", "-", "-q", stdin=stdin).strip()
    assert place.run_of(name).spec.name == "piped"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: [\nrun", ":2:"),
        ("run: {command: [a]}\nresorces: {cpu: 1}\n", "did you mean resources?"),
        ("run: {command: [a]}\nresources:\n  memory: 5 apples\n", ":3: resources.memory"),
        ("run: {command: [a]}\nresources: {cpu: .nan}\n", "resources.cpu"),
        ("run: {command: [a]}\nresources: {cpu: -1}\n", "resources.cpu"),
        ("run: {command: [a]}\narray: -4\n", "array"),
        ("run: {command: [a], image: x, function: y}\n", "run.function"),
        ('run: {command: ["' + "x" * 200_000 + '"]}\n', "run.command"),
        ("run: {command: [a], env: {A: " + "x" * 10_000_000 + "}}\n", "limit"),
    ],
    ids=[
        "malformed-yaml",
        "unknown-field",
        "wrong-unit",
        "nan",
        "negative",
        "negative-count",
        "contradiction",
        "argv-of-200-kB",
        "10-MB-environment",
    ],
)
def test_a_bad_task_file_exits_2_and_names_field_and_line(
    place: Any, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    result = place.cli("submit", str(path))
    assert result.exit_code == 2, result.output[:500]
    assert result.stderr.startswith("error: ")
    assert told in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_invalid_utf8_in_a_task_file_names_the_line(place: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"name: good\nrun: {command: [\xff\xfe]}\n")
    result = place.cli("submit", str(path))
    assert result.exit_code == 2
    assert "bad.yaml:2:" in result.stderr


def test_a_task_file_that_is_not_there_exits_3(place: Any) -> None:
    result = place.cli("submit", "nowhere.yaml")
    assert result.exit_code == 3
    assert "nowhere.yaml" in result.stderr


def test_another_project_than_ones_own_is_denied_with_6(place: Any) -> None:
    result = place.cli("submit", place.task_file("foreign"), "--project", "other")
    assert result.exit_code == 6
    assert "projects/demo" in result.stderr


def test_following_several_tasks_is_refused(place: Any) -> None:
    result = place.cli("submit", place.task_file("several"), "--count", "2", "--follow")
    assert result.exit_code == 2


def command(place: Any, *arguments: str) -> "subprocess.Popen[str]":
    """The real program in a process of its own."""
    place.cli("version")  # writes the configuration
    config = place.path / "config-project-demo-ann.toml"
    return subprocess.Popen(
        [sys.executable, "-m", "intertie.cli", *arguments],
        env={"INTERTIE_CONFIG": str(config), "PATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def names_of(place: Any, display_name: str) -> list[str]:
    expression = f'display_name = "{display_name}"'
    found: str = place.ok("task", "list", "--filter", expression, "-o", "name")
    return found.split()


def test_follow_prints_the_output_live_and_passes_on_the_exit_code(place: Any) -> None:
    file = place.task_file("live")
    arguments = ("--follow", "--propagate-exit-code", "--set", "tolerance.max_attempts=1")
    process = command(place, "submit", file, *arguments)
    (name,) = eventually_sync(lambda: names_of(place, "live"), WITHIN_S)
    place.run_of(name)
    place.write(name, "stdout", b"first\n")
    assert process.stdout is not None
    assert process.stdout.readline() == "first\n"
    place.write(name, "stderr", b"oh\n")
    place.end(name, Outcome.FAILED)
    out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 10
    assert out == ""
    assert "oh\n" in err
    assert "FAILED" in err


def test_ctrl_c_while_waiting_leaves_the_task_and_says_how_to_go_on(place: Any) -> None:
    process = command(place, "submit", place.task_file("interrupted"), "--wait")
    (name,) = eventually_sync(lambda: names_of(place, "interrupted"), WITHIN_S)
    place.run_of(name)
    told = process.stderr
    assert told is not None
    eventually_sync(lambda: "RUNNING" in told.readline(), WITHIN_S)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130
    assert f"intertie task watch {name.rpartition('/')[2]}" in err
    assert "Traceback" not in out + err
    assert place.json("task", "show", name)["state"] == "TASK_STATE_RUNNING"


def test_the_json_of_a_waited_task_stands_alone_on_stdout(place: Any) -> None:
    process = command(place, "submit", place.task_file("json-wait"), "--wait", "-o", "json")
    (name,) = eventually_sync(lambda: names_of(place, "json-wait"), WITHIN_S)
    place.end(name)
    out, _ = process.communicate(timeout=WITHIN_S)
    assert json.loads(out)["state"] == "TASK_STATE_SUCCEEDED"
    assert process.returncode == 0
