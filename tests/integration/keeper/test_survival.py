"""Who dies with whom: link, keeper, tasks; deadlines that hold while nobody watches."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper import launch, protocol
from edge_agent.keeper.machine import linux
from edge_agent.keeper.protocol import ProtocolFault
from edge_agent.keeper.report import ENDED, RUNNING
from edge_agent.keeper.spec import StartSpec, Token

MS = 1_000_000


def test_tasks_go_on_while_link_is_away(box: Any, wait_for: Any) -> None:
    link = box.up()
    lives = box.spec("sleep", "600")
    ends = box.spec("sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; exit 4")
    link.start(lives)
    link.start(ends)
    link.running(ends.run)
    link.close()
    Path(ends.cwd, "go").touch()
    again = box.link()
    wait_for(lambda: again.run(ends.run).state == ENDED, "the end is listed")
    assert again.run(ends.run).ended.code == 4
    assert again.run(lives.run).state == RUNNING


def test_a_run_past_its_deadline_is_killed_while_link_is_away(box: Any, wait_for: Any) -> None:
    link = box.up()
    spec = box.spec(
        "sh",
        "-c",
        "trap '' TERM; while :; do sleep 1; done",
        deadline_boot_ns=linux.boot_ns() + 1_000 * MS,
        grace_ms=300,
    )
    link.start(spec)
    pid = link.running(spec.run).pid
    link.close()
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), "the task is dead")
    assert linux.boot_ns() >= spec.deadline_boot_ns + 299 * MS
    again = box.link()
    wait_for(lambda: again.run(spec.run).state == ENDED, "the end is listed")
    ended = again.run(spec.run).ended
    assert (ended.by, ended.signal) == ("DEADLINE", signal.SIGKILL)
    assert ended.boot_ns - spec.deadline_boot_ns < 5_000 * MS


def test_a_deadline_moves_only_later_and_only_by_its_own_boot_clock(box: Any) -> None:
    link = box.up()
    boot_id = link.hello().boot_id
    first = linux.boot_ns() + 1_000 * MS
    spec = box.spec("sleep", "600", deadline_boot_ns=first)
    stays = box.spec("sleep", "600")
    link.start(spec)
    link.start(stays)
    with pytest.raises(ProtocolFault) as refused:
        link.ask("extend", deadline_boot_ns=first * 2, boot_id="another boot", runs=None)
    assert refused.value.reason == protocol.BOOT_MISMATCH
    later = first + 200 * MS
    asked = {"boot_id": boot_id, "runs": None}
    assert link.ask("extend", deadline_boot_ns=later, **asked) == {"extended": 1}
    assert link.ask("extend", deadline_boot_ns=first, **asked) == {"extended": 1}
    assert link.run(spec.run).deadline_boot_ns == later
    assert link.run(stays.run).deadline_boot_ns is None
    ended = link.ended(spec.run)
    assert ended.by == "DEADLINE"
    assert ended.boot_ns >= later
    assert link.run(stays.run).state == RUNNING


SAVES = (
    "import json, os, signal, time\n"
    "def save(*_):\n"
    "    open('saved', 'w').write(open(os.environ['INTERTIE_NOTICE_FILE']).read())\n"
    "    os._exit(5)\n"
    "signal.signal(signal.SIGTERM, save)\n"
    "os.write(1, b'ready\\n')\n"
    "while True: time.sleep(600)\n"
)


def test_a_task_that_saves_when_its_lease_ends_gets_its_time(box: Any) -> None:
    link = box.up()
    slow = SAVES.replace("os._exit(5)", "time.sleep(0.3); os._exit(5)")
    spec = box.python(slow, deadline_boot_ns=linux.boot_ns() + 1_500 * MS, grace_ms=60_000)
    link.start(spec)
    box.wait_output(spec, b"ready")
    ended = link.ended(spec.run)
    assert (ended.by, ended.reason, ended.code) == ("DEADLINE", "deadline", 5)
    notice = json.loads(Path(spec.cwd, "saved").read_text())
    assert (notice["by"], notice["reason"]) == ("DEADLINE", "deadline")
    assert 4_000 * MS < notice["kill_boot_ns"] - notice["term_boot_ns"] <= 5_000 * MS


def test_a_task_that_does_not_stop_is_dead_within_t_kill_of_its_deadline(
    box: Any, alive: Any
) -> None:
    box.t_kill_ms = 2_000
    link = box.up()
    spec = box.spec(
        "sh",
        "-c",
        "trap 'echo term' TERM; echo ready; while :; do sleep 0.05; done",
        deadline_boot_ns=linux.boot_ns() + 1_000 * MS,
        grace_ms=60_000,
    )
    link.start(spec)
    box.wait_output(spec, b"ready")
    pid = link.running(spec.run).pid
    ended = link.ended(spec.run)
    assert (ended.by, ended.signal) == ("DEADLINE", signal.SIGKILL)
    assert not alive(pid)
    assert b"term" in box.output(spec)
    assert 999 * MS <= ended.boot_ns - spec.deadline_boot_ns < 2_000 * MS


def test_after_a_freeze_the_overdue_run_is_killed_before_anything_is_reported(
    box: Any, alive: Any, wait_for: Any
) -> None:
    link = box.up()
    spec = box.python(SAVES, grace_ms=100, deadline_boot_ns=linux.boot_ns() + 1_000 * MS)
    link.start(spec)
    pid = link.running(spec.run).pid
    box.wait_output(spec, b"ready")
    os.kill(box.pid, signal.SIGSTOP)
    over = spec.deadline_boot_ns + spec.grace_ms * MS
    wait_for(lambda: linux.boot_ns() > over, "deadline and grace pass")
    assert alive(pid)
    number = link.send("list")
    os.kill(box.pid, signal.SIGCONT)
    (body,) = link.receive(number)["runs"]
    assert body["state"] != RUNNING
    assert body["stopping"] == "DEADLINE" or body["ended"]["by"] == "DEADLINE"
    wait_for(lambda: not alive(pid), "the task is dead")
    assert link.ended(spec.run).signal == signal.SIGKILL
    assert not Path(spec.cwd, "saved").exists()


def test_tasks_die_with_the_keeper_and_the_next_one_reports_them_lost(
    box: Any, alive: Any, wait_for: Any
) -> None:
    link = box.up()
    code = (
        "import os,time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        "while True: time.sleep(600)\n"
    )
    spec = box.python(code, limits=box.limits(memory_bytes=1 << 28))
    done = box.spec("true")
    link.start(done)
    finished = link.ended(done.run)
    link.start(spec)
    pids = box.printed_pids(spec, 2)
    main = link.running(spec.run).pid
    assert main in pids
    box.kill()
    wait_for(lambda: not alive(main), "the first process died with the keeper")
    again = box.up()
    assert not any(alive(pid) for pid in pids)
    lost = again.run(spec.run).ended
    assert (lost.by, lost.code, lost.unkillable) == ("LOST", None, False)
    assert again.run(done.run).ended == finished
    with pytest.raises(ProtocolFault) as refused:
        again.start(spec._replace(run=spec.run.replace("runs/1", "runs/9")))
    assert refused.value.reason == protocol.STALE_TOKEN
    box.down()
    third = box.up()
    assert third.run(spec.run).ended == lost


def test_a_shutdown_stops_every_task_and_refuses_new_ones(box: Any) -> None:
    link = box.up()
    spec = box.spec(
        "sh", "-c", "trap 'sleep 0.3; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    )
    link.start(spec)
    box.wait_output(spec, b"ready\n")
    box.process.terminate()
    assert link.note("ended", spec.run).ended.by == "SHUTDOWN"
    assert box.process.wait(20) == 0


def test_a_second_keeper_on_the_same_directory_gives_up(auto_box: Any) -> None:
    auto_box.up()
    second = subprocess.run(auto_box.process.args, capture_output=True, timeout=20, check=False)
    assert second.returncode == 3
    assert b"locked" in second.stderr


def test_a_directory_of_a_newer_version_is_refused_with_the_remedy(auto_box: Any) -> None:
    auto_box.up()
    auto_box.down()
    (auto_box.state / "schema.json").write_text(json.dumps({"schema": 99, "keeper": "x"}))
    newer = subprocess.run(auto_box.process.args, capture_output=True, timeout=20, check=False)
    assert newer.returncode == 4
    assert b"use the version that wrote it" in newer.stderr


def _start_until_refused(box: Any, link: Any) -> tuple[StartSpec, ProtocolFault]:
    """The last block of the journal has room for a few records even on a full disk."""
    for _ in range(50):
        spec = box.spec("true")
        try:
            link.start(spec)
        except ProtocolFault as fault:
            return spec, fault
    raise AssertionError("a full disk refuses nothing")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_a_full_disk_stops_acks_but_no_task_and_heals(
    tmp_path: Path, auto_box: Any, wait_for: Any
) -> None:
    auto_box.state.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(auto_box.state)], check=False
    )
    if mounted.returncode:
        pytest.skip("no tmpfs here")
    try:
        link = auto_box.up()
        runs = auto_box.spec("sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; exit 6")
        link.start(runs)
        link.running(runs.run)
        filler = auto_box.state / "filler"
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(bytes(1 << 20))
        refused_spec, fault = _start_until_refused(auto_box, link)
        assert fault.reason == protocol.STORE_UNAVAILABLE
        assert fault.message.endswith("make room, then retry")
        Path(runs.cwd, "go").touch()
        wait_for(
            lambda: not Path(f"/proc/{link.notes[0][1].pid}").exists(), "the task has finished"
        )
        with pytest.raises(ProtocolFault):
            link.runs()
        told = [note for note, view in link.notes if view.run == runs.run]
        assert told == ["started"]
        filler.unlink()
        assert link.ended(runs.run).code == 6
        assert link.ended(refused_spec.run).start_fault.errno == "ENOSPC"
        fresh = auto_box.spec("true")
        link.start(fresh)
        assert link.ended(fresh.run).code == 0
    finally:
        auto_box.down()
        subprocess.run(["umount", str(auto_box.state)], check=True)


def test_a_task_cannot_speak_to_the_keeper(box: Any) -> None:
    link = box.up()
    code = (
        "import socket\n"
        f"s = socket.socket(socket.AF_UNIX); s.connect({str(box.state / 'keeper.sock')!r})\n"
        "s.settimeout(5)\n"
        "try:\n"
        "    s.sendall(b'{}\\n'); print(s.recv(10))\n"
        "except OSError as e: print('refused')\n"
    )
    spec = box.python(code)
    link.start(spec)
    link.ended(spec.run)
    assert box.output(spec) in (b"b''\n", b"refused\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json\n", protocol.MALFORMED),
        (b"[1]\n", protocol.MALFORMED),
        (b'{"op":"hello"}\n', protocol.MALFORMED),
        (b'{"id":1,"op":"list"}\n', protocol.HELLO_FIRST),
        (b'{"id":1,"op":"dance"}\n', protocol.UNKNOWN_OP),
        (b'{"id":1,"op":"hello","versions":[7,9]}\n', protocol.UNSUPPORTED_VERSION),
        (b"x" * (protocol.MAX_REQUEST_BYTES + 2), protocol.MALFORMED),
    ],
    ids=["text", "array", "no id", "no hello", "unknown op", "newer version", "too long"],
)
def test_a_bad_request_is_refused_and_the_keeper_serves_on(
    auto_box: Any, line: bytes, reason: str
) -> None:
    link = auto_box.up()
    other = auto_box._connect()
    assert other is not None
    try:
        other.sock.sendall(line)
        frame = other.frame()
        assert frame["error"]["reason"] == reason
    finally:
        other.close()
    assert link.runs() == []


def test_the_socket_and_the_state_are_for_the_owner_only(auto_box: Any) -> None:
    auto_box.up()
    assert auto_box.state.stat().st_mode & 0o777 == 0o700
    assert (auto_box.state / "keeper.sock").stat().st_mode & 0o777 == 0o600


def test_a_flood_of_runs_is_served_and_forgotten(auto_box: Any) -> None:
    link = auto_box.up()
    specs = [auto_box.spec("true") for _ in range(60)]
    for spec in specs:
        link.send("start", **spec.to_body())
    for spec in specs:
        assert link.ended(spec.run).code == 0
    for spec in specs:
        assert link.forget(spec.run, spec.token)
    assert link.ask("status")["runs"] == 0
    with pytest.raises(ProtocolFault):
        link.start(specs[0]._replace(token=Token(1, 1, 1)))


def test_a_keeper_does_not_hold_the_streams_of_who_started_it(auto_box: Any) -> None:
    command = launch.command(str(auto_box.state))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.read() == b""
        assert keeper.poll() is None
        auto_box.process = keeper
        auto_box.link()
        keeper.terminate()
        assert keeper.wait(20) == 0


def test_groups_that_a_dead_keeper_left_are_removed_by_another_when_old_and_empty(
    auto_box: Any, other_box: Any
) -> None:
    link = auto_box.up()
    if not link.hello().backend.startswith("cgroup"):
        pytest.skip("no control groups here")
    spec = auto_box.spec("true")
    link.start(spec)
    link.ended(spec.run)
    bases = auto_box.groups()
    assert bases
    for base in bases:
        os.utime(base, (0, 0))
    other_box.up()
    assert auto_box.groups() == bases, "its keeper lives"
    other_box.down()
    auto_box.kill()
    other_box.up()
    assert auto_box.groups() == []
    again = auto_box.up()
    fresh = auto_box.spec("true")
    again.start(fresh)
    assert again.ended(fresh.run).code == 0
    auto_box.kill()
    other_box.down()
    other_box.up()
    assert auto_box.groups(), "young: its keeper may come back"
