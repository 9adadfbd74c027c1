"""A run's life over the socket: start, end, stop, list, forget."""

import os
import signal
from typing import Any

import pytest

from edge_agent.keeper import protocol
from edge_agent.keeper.protocol import ProtocolFault
from edge_agent.keeper.report import ENDED, RUNNING, STARTING
from edge_agent.keeper.spec import Token


def test_a_run_starts_ends_and_is_listed_until_it_is_forgotten(box: Any) -> None:
    link = box.up()
    spec = box.spec("sh", "-c", "echo out; echo err >&2; exit 7")
    assert link.start(spec).state == STARTING
    started = link.note("started", spec.run)
    assert started.state == RUNNING
    assert started.pid is not None
    ended = link.ended(spec.run)
    assert (ended.by, ended.code, ended.signal, ended.oom) == ("SELF", 7, None, None)
    assert (ended.stdout_bytes, ended.stderr_bytes) == (4, 4)
    assert ended.cpu_ns is not None
    assert ended.max_rss_bytes
    assert box.output(spec) == b"out\n"
    assert link.run(spec.run).ended == ended
    assert link.forget(spec.run, spec.token)
    assert link.runs() == []
    assert not link.forget(spec.run, spec.token)


def test_a_stop_sends_term_and_reports_the_exit_that_the_task_chose(box: Any) -> None:
    link = box.up()
    code = (
        "import signal,sys,json,os\n"
        "def stop(*_):\n"
        "    notice = json.load(open(os.environ['INTERTIE_NOTICE_FILE']))\n"
        "    os.write(1, notice['reason'].encode() + b'\\n'); sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, stop); os.write(1, b'ready\\n')\n"
        "while True: signal.pause()\n"
    )
    spec = box.python(code)
    link.start(spec)
    box.wait_output(spec, b"ready\n")
    link.stop(spec.run, spec.token, "the owner wants it back")
    ended = link.ended(spec.run)
    assert (ended.by, ended.reason, ended.code) == ("STOP", "the owner wants it back", 3)
    assert box.output(spec) == b"ready\nthe owner wants it back\n"


def test_a_task_that_ignores_term_is_killed_after_its_grace(box: Any) -> None:
    link = box.up()
    spec = box.spec("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
    link.start(spec)
    box.wait_output(spec, b"ready\n")
    link.stop(spec.run, spec.token, grace_ms=50)
    ended = link.ended(spec.run)
    assert (ended.by, ended.signal) == ("STOP", signal.SIGKILL)


def test_the_notice_comes_before_term_and_by_the_signal_that_the_task_asked_for(box: Any) -> None:
    link = box.up()
    code = (
        "import os,signal,sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'notice\\n'))\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'term\\n'), sys.exit(0)))\n"
        "os.write(1, b'ready\\n')\n"
        "while True: signal.pause()\n"
    )
    spec = box.python(code, notice_signal="SIGUSR1")
    link.start(spec)
    box.wait_output(spec, b"ready\n")
    link.stop(spec.run, spec.token, notice_ms=200)
    assert link.ended(spec.run).code == 0
    assert box.output(spec) == b"ready\nnotice\nterm\n"


def test_starting_again_under_the_same_token_tells_what_became_of_the_run(box: Any) -> None:
    link = box.up()
    spec = box.spec("true")
    link.start(spec)
    ended = link.ended(spec.run)
    again = link.start(spec)
    assert (again.state, again.ended) == (ENDED, ended)


def test_a_stale_token_starts_nothing_even_after_the_run_is_forgotten(box: Any) -> None:
    link = box.up()
    spec = box.spec("true", token=Token(1, 5, 2))
    link.start(spec)
    link.ended(spec.run)
    link.forget(spec.run, spec.token)
    for token in (Token(1, 5, 2), Token(1, 5, 1), Token(0, 9, 9)):
        with pytest.raises(ProtocolFault) as refused:
            link.start(spec._replace(token=token))
        assert refused.value.reason == protocol.STALE_TOKEN


def test_a_higher_token_waits_for_the_death_of_the_older_run(box: Any) -> None:
    link = box.up()
    older = box.spec("sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done", task="t")
    link.start(older)
    (pid,) = box.printed_pids(older, 1)
    newer = box.python(f"import os; print(os.path.exists('/proc/{pid}/exe'))", task="t", n=2)
    link.start(newer)
    assert link.ended(older.run).by == "SUPERSEDED"
    assert link.ended(newer.run).code == 0
    assert box.output(newer) == b"False\n"


def test_a_stop_under_an_older_token_is_refused(box: Any) -> None:
    link = box.up()
    spec = box.spec("sleep", "100", token=Token(1, 5, 2))
    link.start(spec)
    with pytest.raises(ProtocolFault) as refused:
        link.stop(spec.run, Token(1, 5, 1))
    assert refused.value.reason == protocol.STALE_TOKEN
    assert link.running(spec.run)


@pytest.mark.parametrize(
    ("name", "content", "mode", "errno"),
    [
        ("missing", None, 0, "ENOENT"),
        ("garbage", b"\0not a program", 0o755, "ENOEXEC"),
        ("plain", b"#!/bin/sh\n", 0o644, "EACCES"),
    ],
)
def test_a_program_that_cannot_be_executed_is_a_start_failure_with_its_errno(
    box: Any, name: str, content: bytes | None, mode: int, errno: str
) -> None:
    link = box.up()
    path = box.root / name
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    spec = box.spec(str(path))
    link.start(spec)
    ended = link.ended(spec.run)
    assert ended.by == "START_FAILURE"
    assert ended.start_fault is not None
    assert (ended.start_fault.stage, ended.start_fault.errno) == ("exec", errno)
    assert str(path) in ended.start_fault.message
    assert (ended.code, ended.signal) == (None, None)


def test_a_missing_work_directory_is_a_start_failure(box: Any) -> None:
    link = box.up()
    spec = box.spec("true", cwd=str(box.root / "gone"))
    link.start(spec)
    fault = link.ended(spec.run).start_fault
    assert fault is not None
    assert (fault.stage, fault.errno) == ("chdir", "ENOENT")


def test_an_argument_of_200_kilobytes_is_a_start_failure_not_a_crash(box: Any) -> None:
    link = box.up()
    spec = box.spec("echo", "x" * 200_000)
    link.start(spec)
    fault = link.ended(spec.run).start_fault
    assert fault is not None
    assert fault.errno == "E2BIG"


def test_undecodable_bytes_of_an_argument_arrive_unchanged(box: Any) -> None:
    link = box.up()
    spec = box.spec("printf", "%s", os.fsdecode(b"\xff\xfe"))
    link.start(spec)
    link.ended(spec.run)
    assert box.output(spec) == b"\xff\xfe"


def test_the_task_runs_in_a_session_of_its_own_with_a_clean_table_of_descriptors(box: Any) -> None:
    link = box.up()
    code = (
        "import os,signal\n"
        "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:3])\n"
        "print(len(os.listdir('/proc/self/fd')))\n"
        "print(os.getsid(0) == os.getpid(), oct(os.umask(0)), os.readlink('/proc/self/fd/0'))\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "status = dict(line.split(':\\t') for line in lines if ':\\t' in line)\n"
        "print(status['NoNewPrivs'], status['SigBlk'], signal.getsignal(signal.SIGHUP).name)\n"
        "print(open('/proc/self/oom_score_adj').read().strip())\n"
    )
    spec = box.python(code)
    link.start(spec)
    assert link.ended(spec.run).code == 0
    assert box.output(spec).decode().splitlines() == [
        "[0, 1, 2]",
        "4",
        "True 0o77 /dev/null",
        "1 0000000000000000 SIG_DFL",
        "500",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change user")
def test_a_task_runs_as_the_user_it_is_given_without_other_groups(box: Any) -> None:
    link = box.up()
    spec = box.spec("sh", "-c", "id -u; id -g; id -G", cwd="/", uid=12345, gid=23456)
    link.start(spec)
    assert link.ended(spec.run).code == 0
    assert box.output(spec).split() == [b"12345", b"23456", b"23456"]


def test_usage_of_a_live_run_grows(auto_box: Any) -> None:
    link = auto_box.up()
    spec = auto_box.spec("sh", "-c", "while :; do :; done", limits=auto_box.limits(pids=10))
    link.start(spec)
    link.running(spec.run)
    while True:
        usage = link.ask("usage", run=spec.run, token=list(spec.token))["usage"]
        if usage["cpu_ns"] > 50_000_000:
            break
    assert usage["pids"] == 1
    assert usage["memory_bytes"] > 0
