"""The commands about tasks against a real federation, from a task file to its outputs."""

import json
from pathlib import Path
from typing import Any

from intertie.model.states import FailureClass, Outcome, RunState


def test_a_submitted_task_is_shown_and_listed_by_its_full_name(place: Any) -> None:
    name = place.submit("shown")
    assert name.startswith("projects/demo/tasks/")
    assert "shown" in place.ok("task", "show", name)
    assert name in place.ok("task", "list", "-o", "name").split()


def test_the_json_of_a_task_is_proto_json_with_proto_field_names(place: Any) -> None:
    name = place.submit("proto-json", "--set", "resources.memory=64MiB")
    place.run_of(name)
    shown = place.json("task", "show", name)
    assert shown["name"] == name
    assert shown["state"].startswith("TASK_STATE_")
    assert shown["spec"]["resources"]["memory_bytes"] == str(64 << 20)
    assert shown["create_time"].endswith("Z")


def test_a_task_is_found_by_id_by_display_name_and_by_a_beginning_of_either(place: Any) -> None:
    name = place.submit("found-in-every-way")
    id_ = name.rpartition("/")[2]
    for text in (name, id_, "found-in-every-way", "found-in-ev", id_[:-1]):
        assert place.json("task", "show", text)["name"] == name


def test_an_ambiguous_beginning_names_the_candidates(place: Any) -> None:
    first, second = place.submit("twin-one"), place.submit("twin-two")
    result = place.cli("task", "show", "twin")
    assert result.exit_code == 2
    for name in (first, second):
        assert name.rpartition("/")[2] in result.stderr
    assert "remedy: Give the id of one." in result.stderr


def test_two_tasks_of_one_name_are_told_apart_by_id_only(place: Any) -> None:
    place.submit("namesake")
    place.submit("namesake")
    assert "is not unique" in place.cli("task", "show", "namesake").stderr


def test_a_task_that_is_not_there_exits_3_and_says_how_to_list(place: Any) -> None:
    result = place.cli("task", "show", "no-such-thing")
    assert result.exit_code == 3
    assert result.stderr.startswith("error: No task of project demo")
    assert "intertie task list" in result.stderr
    assert result.stdout == ""


def test_a_list_is_filtered_by_state_label_and_expression(place: Any) -> None:
    name = place.submit("labelled", "--set", "labels.team=vision")
    place.end(name)
    place.settled(name)
    by_label = place.ok("task", "list", "--label", "team=vision", "-o", "name").split()
    assert by_label == [name]
    wanted = ("--state", "SUCCEEDED", "--filter", 'display_name = "labelled"')
    assert place.ok("task", "list", *wanted, "-o", "name").split() == [name]
    assert place.cli("task", "list", "--filter", "colour = red").exit_code == 2


def test_waiting_exits_0_when_the_task_has_succeeded(place: Any) -> None:
    name = place.submit("to-succeed")
    place.end(name)
    result = place.cli("task", "wait", name)
    assert result.exit_code == 0
    assert "SUCCEEDED" in result.stdout


def test_waiting_tells_a_failure_by_10_and_a_time_limit_by_13(place: Any) -> None:
    for failure, code in ((FailureClass.USER, 10), (FailureClass.TIME_LIMIT, 13)):
        name = place.submit(f"to-fail-{code}", "--set", "tolerance.max_attempts=1")
        place.run_of(name)
        place.background.run(place.region.end(name, Outcome.FAILED, failure=failure))
        assert place.cli("task", "wait", name).exit_code == code


def test_waiting_tells_a_cancelled_task_by_11(place: Any) -> None:
    name = place.submit("to-cancel")
    place.run_of(name)
    result = place.cli("task", "cancel", name, "--reason", "no longer needed", "--wait")
    assert "CANCELLED" in result.stdout
    assert place.cli("task", "wait", name).exit_code == 11
    assert place.json("task", "show", name)["cancel_reason"] == "no longer needed"


def test_giving_up_waiting_exits_5_and_leaves_the_task(place: Any) -> None:
    name = place.submit("patient")
    place.run_of(name)
    result = place.cli("task", "wait", name, "--timeout", "0.2")
    assert result.exit_code == 5
    assert "They go on" in result.stderr
    assert place.json("task", "show", name)["state"] == "TASK_STATE_RUNNING"


def test_events_runs_and_explain_tell_what_happened(place: Any) -> None:
    name = place.submit("history")
    place.end(name)
    place.settled(name)
    events = place.json("task", "events", name)["events"]
    assert [event["after"] for event in events][-1] == "TASK_STATE_SUCCEEDED"
    assert "before" not in events[0]
    (run,) = place.json("task", "runs", name)["runs"]
    assert (run["n"], run["outcome"], run["region"]) == (1, "OUTCOME_SUCCEEDED", "eu")
    assert "SUCCEEDED" in place.ok("task", "explain", name)
    again = place.ok("task", "explain", name, "--decision", "1")
    assert "made again" in again
    assert "same" in again
    assert "different" not in again


def test_watching_named_tasks_ends_when_they_have_ended(place: Any) -> None:
    name = place.submit("watched")
    place.end(name)
    place.settled(name)
    assert place.cli("task", "watch", name).exit_code == 0


def test_logs_come_byte_for_byte_by_stream_and_tail(place: Any) -> None:
    name = place.submit("talkative")
    place.run_of(name)
    data = b"".join(b"line %d\n" % n for n in range(30_000))
    place.write(name, "stdout", data)
    place.write(name, "stderr", b"\xff\x00 not text\n")
    place.end(name)
    place.settled(name)
    assert place.cli("task", "logs", name).stdout_bytes == data
    assert place.cli("task", "logs", name, "--stderr").stdout_bytes == b"\xff\x00 not text\n"
    assert place.cli("task", "logs", name, "--tail", "2").stdout_bytes.decode().splitlines() == [
        "line 29998",
        "line 29999",
    ]
    assert place.cli("task", "logs", name, "--follow").stdout_bytes == data


def test_the_tail_of_a_live_log_is_followed_from_there(place: Any) -> None:
    name = place.submit("live")
    place.run_of(name)
    place.write(name, "stdout", b"".join(b"line %d\n" % n for n in range(30_000)))
    tail = ("task", "logs", name, "--tail", "2")
    assert place.cli(*tail).stdout_bytes == b"line 29998\nline 29999\n"
    place.end(name)
    assert place.cli(*tail, "--follow").stdout_bytes == b"line 29998\nline 29999\n"


def test_logs_of_a_task_that_never_started_exit_3(place: Any) -> None:
    name = place.submit("never-started", "--set", "placement.only=[mars]")
    result = place.cli("task", "logs", name)
    assert result.exit_code == 3, result.output
    assert "run" in result.stderr


def test_outputs_are_listed_and_downloaded_with_their_digests_checked(
    place: Any, tmp_path: Path
) -> None:
    name = place.submit("productive", "--set", "outputs=[{path: a/model.bin}, {path: b.txt}]")
    model = bytes(range(256)) * 1000
    place.end(name, outputs={"a/model.bin": model, "b.txt": b"hello"})
    place.settled(name)
    listed = place.json("task", "outputs", name)["outputs"]
    assert [output["path"] for output in listed] == ["a/model.bin", "b.txt"]
    place.ok("task", "outputs", name, "--download", str(tmp_path))
    assert (tmp_path / "a" / "model.bin").read_bytes() == model
    assert (tmp_path / "b.txt").read_bytes() == b"hello"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "b.txt",
        "model.bin",
    ]


def test_an_output_with_other_bytes_than_its_digest_leaves_no_file(
    place: Any, tmp_path: Path
) -> None:
    name = place.submit("swapped", "--set", "outputs=[{path: b.txt}]")
    place.end(name, outputs={"b.txt": b"hello"})
    place.settled(name)
    place.write(name, "b.txt", b"olleh")
    result = place.cli("task", "outputs", name, "--download", str(tmp_path))
    assert result.exit_code == 1
    assert "digest" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_is_not_there_names_those_that_are(place: Any, tmp_path: Path) -> None:
    name = place.submit("with-one-output", "--set", "outputs=[{path: b.txt}]")
    place.end(name, outputs={"b.txt": b"hello"})
    place.settled(name)
    result = place.cli("task", "outputs", name, "--path", "c.txt", "--download", str(tmp_path))
    assert result.exit_code == 3
    assert "b.txt" in result.stderr


def test_a_wide_list_has_more_columns_and_a_piped_one_no_colour(place: Any) -> None:
    place.run_of(place.submit("wide"))
    narrow, wide = place.ok("task", "list"), place.ok("task", "list", "-o", "wide")
    assert "ATTEMPTS" in wide.splitlines()[0]
    assert "ATTEMPTS" not in narrow.splitlines()[0]
    assert "\x1b" not in wide
    assert all(line == line.rstrip() for line in wide.splitlines())


def test_regions_are_listed_and_shown_with_what_is_free(place: Any) -> None:
    (region,) = place.json("region", "list")["regions"]
    assert region["name"] == "regions/eu"
    assert "DE/DE-HE/fra1" in place.ok("region", "show", "eu")
    assert place.cli("region", "show", "nowhere").exit_code == 3


def test_a_follower_sees_the_output_and_gets_the_programs_exit_code(place: Any) -> None:
    name = place.submit("followed", "--set", "tolerance.max_attempts=1")
    place.run_of(name)
    place.write(name, "stdout", b"to stdout\n")
    place.write(name, "stderr", b"to stderr\n")
    assert place.region.runs[name].state is RunState.RUNNING
    place.end(name, Outcome.FAILED)
    place.settled(name)
    followed = place.cli("task", "logs", name, "-f")
    assert followed.stdout_bytes == b"to stdout\n"


def test_yaml_output_is_the_json_as_yaml(place: Any) -> None:
    name = place.submit("in-yaml")
    text = place.ok("task", "show", name, "-o", "yaml")
    assert f"name: {name}" in text
    assert json.dumps({})  # JSON and YAML share one structure, tested above
