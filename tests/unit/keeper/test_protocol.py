"""The wire between link and keeper: frames, versions, and requests that name what is wrong."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.keeper import protocol
from edge_agent.keeper.protocol import Framer, Hello, ProtocolFault
from edge_agent.keeper.report import Ended, RunView, StartFault
from edge_agent.keeper.requests import change_of
from edge_agent.keeper.spec import Limits, StartSpec, Token, read_start, read_stop, task_of

SPEC = StartSpec(
    run="projects/p/tasks/t/runs/3",
    token=Token(1, 3, 2),
    argv=("a", "b"),
    env={"X": "1"},
    cwd="/w",
    stdout="/l/stdout",
    stderr="/l/stderr",
    log_bytes=4096,
    uid=5,
    limits=Limits(pids=7),
    deadline_boot_ns=9,
    notice_signal="SIGUSR1",
)


def test_a_start_comes_out_of_the_wire_as_it_went_in() -> None:
    frame = protocol.request(4, "start", **SPEC.to_body())
    assert read_start(protocol.decode(frame)) == SPEC


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("run", "projects/p/tasks/t", "run"),
        ("run", "projects/p/tasks/t/runs/x", "run"),
        ("run", 5, "run"),
        ("token", [1, 2], "token"),
        ("token", [1, 2, -1], "token"),
        ("token", [1, 2, True], "token"),
        ("argv", [], "argv"),
        ("argv", [""], "argv"),
        ("argv", ["a", 5], "argv"),
        ("argv", ["a\0b"], "argv"),
        ("argv", "ls", "argv"),
        ("env", [], "env"),
        ("env", {"A=B": "x"}, "env"),
        ("env", {"A": 5}, "env[A]"),
        ("cwd", "relative", "cwd"),
        ("cwd", "/a/../b", "cwd"),
        ("stdout", None, "stdout"),
        ("log_bytes", 0, "log_bytes"),
        ("log_bytes", 1e6, "log_bytes"),
        ("uid", -1, "uid"),
        ("limits", {"memory": 5}, "limits.memory"),
        ("limits", {"pids": 0}, "limits.pids"),
        ("limits", {"pids": "many"}, "limits.pids"),
        ("timeout_ms", 0, "timeout_ms"),
        ("timeout_ms", float("nan"), "timeout_ms"),
        ("grace_ms", -5, "grace_ms"),
        ("notice_signal", "SIGKILL", "notice_signal"),
        ("surprise", 1, "surprise"),
    ],
)
def test_a_bad_field_of_a_start_is_named(field: str, value: Any, named: str) -> None:
    with pytest.raises(ProtocolFault) as refused:
        read_start({**SPEC.to_body(), field: value})
    assert refused.value.reason == protocol.INVALID_ARGUMENT
    assert refused.value.field == named


@pytest.mark.parametrize("field", ["run", "token", "reason"])
def test_a_stop_without_a_field_names_it(field: str) -> None:
    body = {"run": SPEC.run, "token": [1, 1, 1], "reason": "x"}
    del body[field]
    with pytest.raises(ProtocolFault) as refused:
        read_stop(body)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"boot_id": "b"}, "deadline_boot_ns"),
        ({"deadline_boot_ns": 5}, "boot_id"),
        ({"deadline_boot_ns": 5, "boot_id": "b", "runs": "all"}, "runs"),
        ({"deadline_boot_ns": 5, "boot_id": "b", "runs": ["x"]}, "run"),
    ],
)
def test_a_bad_extend_names_the_field(body: dict[str, Any], field: str) -> None:
    with pytest.raises(ProtocolFault) as refused:
        change_of("extend", body, 1)
    assert refused.value.field == field


@given(
    bodies=st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=3)),
    cuts=st.lists(st.integers(1, 40)),
)
def test_frames_come_out_whole_however_the_stream_is_cut(
    bodies: list[dict[str, str]], cuts: list[int]
) -> None:
    stream = b"".join(protocol.encode(body) for body in bodies)
    framer, lines, at = Framer(), [], 0
    for cut in [*cuts, len(stream)]:
        lines += framer.feed(stream[at : at + cut])
        at += cut
    lines += framer.feed(stream[at:]) if at < len(stream) else []
    assert [protocol.decode(line) for line in lines] == bodies


@pytest.mark.parametrize("data", [b"x" * 11, b"x" * 11 + b"\n"])
def test_a_frame_above_the_bound_is_refused(data: bytes) -> None:
    framer = Framer(10)
    assert framer.feed(b"x" * 10 + b"\n") == [b"x" * 10]
    with pytest.raises(ProtocolFault, match="10 bytes"):
        framer.feed(data)


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b"5", b"\xff", b'"' + b"[" * 50, b"[" * 100_000]
)
def test_anything_but_an_object_is_malformed(line: bytes) -> None:
    with pytest.raises(ProtocolFault) as refused:
        protocol.decode(line)
    assert refused.value.reason == protocol.MALFORMED


@pytest.mark.parametrize(("offered", "agreed"), [([1, 1], 1), ([1, 9], 1), ([0, 1], 1)])
def test_both_sides_speak_the_newest_version_that_both_know(
    offered: list[int], agreed: int
) -> None:
    assert protocol.agree_version(offered) == agreed


@pytest.mark.parametrize("offered", [[2, 3], [0, 0], None, [1], ["1", "1"], [True, True]])
def test_no_common_version_is_refused(offered: Any) -> None:
    with pytest.raises(ProtocolFault):
        protocol.agree_version(offered)


def test_reports_come_out_of_the_wire_as_they_went_in() -> None:
    fault = StartFault("exec", "ENOENT", "no")
    ended = Ended(by="SELF", boot_ns=5, start_fault=fault, oom="kernel")
    view = RunView(SPEC.run, SPEC.token, "ENDED", 7, "boot", 1, 2, None, None, False, ended)
    frame = protocol.notification("ended", view.to_body())
    assert RunView.from_body(protocol.decode(frame)["run"]) == view
    hello = Hello(1, 5, "boot", 6, 7, "rlimit", ("a", "b"))
    assert Hello.from_body({**hello.to_body(), "of a newer keeper": 1}) == hello
    given = ProtocolFault(protocol.STALE_TOKEN, "why", "token")
    again = ProtocolFault.from_body(given.to_body())
    assert (again.reason, again.message, again.field) == (given.reason, "why", "token")


def test_the_task_of_a_run_is_its_name_without_the_attempt() -> None:
    assert task_of("projects/p/tasks/t/runs/12") == "projects/p/tasks/t"
