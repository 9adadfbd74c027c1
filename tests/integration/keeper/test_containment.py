"""Nothing of a task outlives its run, and nothing of it exceeds its bounds."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper.logs import LogReader

DAEMON = (
    "import os,sys,time\n"
    "def daemon():\n"
    "    if os.fork(): return\n"
    "    os.setsid()\n"
    "    if os.fork(): os._exit(0)\n"
    "    os.write(1, b'%d\\n' % os.getpid())\n"
    "    os.closerange(0, 3)\n"
    "    while True: time.sleep(60)\n"
)


def test_a_daemon_that_the_task_left_behind_is_killed_before_the_end_is_reported(
    box: Any, alive: Any
) -> None:
    link = box.up()
    spec = box.python(DAEMON + "daemon(); daemon(); os.wait(); os.wait()\n")
    link.start(spec)
    ended = link.ended(spec.run)
    pids = box.printed_pids(spec, 2)
    assert not any(alive(pid) for pid in pids)
    assert (ended.by, ended.code, ended.leftovers) == ("SELF", 0, 2)


def test_a_daemon_without_its_environment_is_killed_too(box: Any, alive: Any) -> None:
    link = box.up()
    code = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.execve('/bin/sh', ['sh', '-c', 'echo $$; exec sleep 1000'], {})\n"
        "os.wait()\n"
        "import sys; sys.stdin.read(); import time; time.sleep(60)\n"
    )
    spec = box.python(code)
    link.start(spec)
    (pid,) = box.printed_pids(spec, 1)
    assert alive(pid)
    link.stop(spec.run, spec.token, grace_ms=0)
    link.ended(spec.run)
    assert not alive(pid)


def test_a_daemon_of_one_run_survives_the_end_of_another(box: Any, alive: Any) -> None:
    link = box.up()
    keeps = box.python(DAEMON + "daemon(); time.sleep(600)\n")
    link.start(keeps)
    (pid,) = box.printed_pids(keeps, 1)
    other = box.spec("sh", "-c", "sleep 1000 & exit 0")
    link.start(other)
    assert link.ended(other.run).leftovers == 1
    assert alive(pid)


def test_a_thousand_forked_children_are_all_killed(box: Any, alive: Any) -> None:
    link = box.up()
    code = (
        "import os,time\n"
        "for _ in range(1000):\n"
        "    if os.fork() == 0:\n"
        "        while True: time.sleep(600)\n"
        "print(os.getpid(), flush=True)\n"
        "time.sleep(600)\n"
    )
    spec = box.python(code)
    link.start(spec)
    (pid,) = box.printed_pids(spec, 1)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert len(children) == 1000
    link.stop(spec.run, spec.token, grace_ms=0)
    ended = link.ended(spec.run)
    assert not ended.unkillable
    assert not any(alive(int(child)) for child in children)


def test_a_fork_bomb_is_held_by_the_limit_and_killed_whole(auto_box: Any) -> None:
    link = auto_box.up()
    code = (
        "import os\n"
        "while True:\n"
        "    try:\n"
        "        os.fork()\n"
        "    except OSError as e:\n"
        "        os.write(1, b'full\\n')\n"
    )
    spec = auto_box.python(code, limits=auto_box.limits(pids=50))
    link.start(spec)
    auto_box.wait_output(spec, b"full\n")
    usage = link.ask("usage", run=spec.run, token=list(spec.token))["usage"]
    assert usage["pids"] <= 50
    link.stop(spec.run, spec.token, grace_ms=0)
    assert link.ended(spec.run).signal == signal.SIGKILL


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change user")
def test_without_a_pids_controller_the_processes_of_a_user_are_bounded(
    tmp_path: Any, box: Any
) -> None:
    link = box.up()
    spec = box.spec(
        "sh",
        "-c",
        "for i in $(seq 40); do sleep 100 & done; echo none refused",
        uid=54321,
        cwd="/",
        limits=box.limits(pids=20),
    )
    link.start(spec)
    link.ended(spec.run)
    assert b"none refused" not in box.output(spec)


def test_a_task_over_its_memory_ends_with_evidence_of_it(box: Any) -> None:
    link = box.up()
    code = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))\n"
    spec = box.python(code, limits=box.limits(memory_bytes=64 << 20))
    link.start(spec)
    ended = link.ended(spec.run)
    if box.cgroup == "none":
        assert (ended.oom, ended.code) == ("rlimit", 1)
    else:
        assert (ended.oom, ended.signal) == ("kernel", signal.SIGKILL)
        assert ended.oom_kills >= 1
    assert ended.max_rss_bytes <= 80 << 20


def test_a_task_that_fills_its_disk_quota_with_many_files_is_stopped(box: Any) -> None:
    link = box.up()
    code = (
        "import time\n"
        "for i in range(20):\n"
        "    open(f'f{i}', 'wb').write(bytes(1 << 18))\n"
        "time.sleep(600)\n"
    )
    spec = box.python(code, limits=box.limits(disk_bytes=2 << 20))
    link.start(spec)
    ended = link.ended(spec.run)
    assert ended.by == "DISK"
    assert "allowed" in ended.reason


def test_a_single_file_above_the_quota_is_cut_by_the_kernel(box: Any) -> None:
    link = box.up()
    spec = box.spec(
        "dd", "if=/dev/zero", "of=big", "bs=1M", "count=64", limits=box.limits(disk_bytes=1 << 20)
    )
    link.start(spec)
    assert link.ended(spec.run).by == "DISK"
    assert (Path(spec.cwd) / "big").stat().st_size <= 1 << 20


def test_a_task_that_prints_a_gigabyte_fills_only_its_bound(auto_box: Any) -> None:
    link = auto_box.up()
    spec = auto_box.spec(
        "sh", "-c", "echo first; head -c 1073741824 /dev/zero; echo last", log_bytes=1 << 20
    )
    link.start(spec)
    ended = link.ended(spec.run)
    assert ended.code == 0
    assert ended.stdout_bytes == (1 << 30) + 11
    reader = LogReader(spec.stdout)
    assert sum(segment.size for segment in reader.segments()) <= 1 << 20
    assert reader.read(0, 6).data == b"first\n"
    assert reader.read(ended.stdout_bytes - 5, 100).data == b"last\n"
    gap = reader.read(500 << 20, 10)
    assert gap.offset > 1000 << 20


def test_a_task_that_deletes_its_directories_runs_on_and_stops_as_ordered(box: Any) -> None:
    link = box.up()
    spec = box.spec(
        "sh",
        "-c",
        'rm -r "$PWD" "$(dirname "$INTERTIE_NOTICE_FILE")"; echo gone; exec sleep 600',
        limits=box.limits(disk_bytes=1 << 20),
    )
    link.start(spec)
    box.wait_output(spec, b"gone\n")
    assert not Path(spec.cwd).exists()
    link.stop(spec.run, spec.token, grace_ms=100)
    assert link.ended(spec.run).by == "STOP"


def test_a_timeout_ends_the_run_and_says_so(box: Any) -> None:
    link = box.up()
    spec = box.spec("sleep", "600", timeout_ms=100)
    link.start(spec)
    ended = link.ended(spec.run)
    assert (ended.by, ended.signal) == ("TIMEOUT", signal.SIGTERM)


def test_a_task_that_closes_its_streams_still_ends_when_it_exits(box: Any) -> None:
    link = box.up()
    spec = box.spec("sh", "-c", "exec >&- 2>&-; sleep 0.05; exit 5")
    link.start(spec)
    assert link.ended(spec.run).code == 5


def test_a_cpu_limit_holds(auto_box: Any) -> None:
    link = auto_box.up()
    if "cpu" not in link.hello().backend:
        pytest.skip("no cpu controller here")
    spec = auto_box.spec(
        "sh",
        "-c",
        "while :; do :; done",
        timeout_ms=1000,
        limits=auto_box.limits(cpu_millis=200, pids=10),
    )
    link.start(spec)
    ended = link.ended(spec.run)
    assert 50e6 < ended.cpu_ns < 450e6


def test_no_control_group_is_left_when_the_keeper_has_stopped(auto_box: Any) -> None:
    link = auto_box.up()
    spec = auto_box.spec("sleep", "600", limits=auto_box.limits(memory_bytes=1 << 27))
    link.start(spec)
    link.running(spec.run)
    auto_box.process.terminate()
    assert link.ended(spec.run).by == "SHUTDOWN"
    assert auto_box.process.wait(20) == 0
    schema = (auto_box.state / "schema.json").read_text()
    name = "intertie-" + schema.split('"keeper":"')[1].split('"')[0]
    # Two levels, not rglob: groups of other keepers vanish while a deep walk looks into them.
    root = Path("/sys/fs/cgroup")
    assert not [*root.glob(name), *root.glob(f"*/{name}")]
