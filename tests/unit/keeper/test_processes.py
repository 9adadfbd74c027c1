"""Reading /proc, measuring disk, and the boot timer: small parts against the real machine."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from edge_agent.keeper.machine import linux, members, procfs, quota
from edge_agent.keeper.machine.procfs import MARK_VARIABLE


def test_a_process_is_read_with_its_start_time_and_parent() -> None:
    own = procfs.read_proc(os.getpid())
    assert own is not None
    assert (own.ppid, own.session, own.dead) == (os.getppid(), os.getsid(0), False)
    assert procfs.read_proc(2**22 + 1) is None


def test_a_signal_reaches_only_the_process_that_was_meant() -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        proc = procfs.read_proc(sleeper.pid)
        assert proc is not None
        procfs.send(proc._replace(ticks=proc.ticks + 1), signal.SIGKILL)
        assert sleeper.poll() is None
        procfs.send(proc, signal.SIGKILL)
        assert sleeper.wait(10) == -signal.SIGKILL
        procfs.send(proc, signal.SIGKILL)


def test_descent_is_followed_upward() -> None:
    assert procfs.descends_from(os.getpid(), os.getppid())
    assert procfs.descends_from(os.getpid(), os.getpid())
    assert not procfs.descends_from(os.getppid(), os.getpid())


def test_marked_processes_and_what_they_forked_are_killed_and_no_others() -> None:
    code = "import subprocess as s; s.Popen(['sleep','600'], env={}); print(1, flush=True); input()"
    mark = os.urandom(8).hex()
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(
            [sys.executable, "-c", code], env={MARK_VARIABLE: mark}, stdin=pipe, stdout=pipe
        ) as marked,
        subprocess.Popen(["sleep", "600"], env={MARK_VARIABLE: mark + "x"}) as other,
    ):
        assert marked.stdout is not None
        assert marked.stdout.readline() == b"1\n"
        killed = members.kill_marked({mark})
        assert len(killed) == 2
        assert marked.pid in {proc.pid for proc in killed}
        assert marked.wait(10) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


def drain(meter: quota.DiskMeter) -> int:
    now = 0
    while True:
        now = max(meter.due_at, now + 1)
        total = meter.step(now, lambda: now)  # noqa: B023 - called at once
        if total is not None:
            return total


def test_disk_is_measured_in_blocks_without_following_links(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "deep" / "er").mkdir(parents=True)
    (work / "deep" / "er" / "file").write_bytes(bytes(1 << 20))
    (work / "same").hardlink_to(work / "deep" / "er" / "file")
    outside = tmp_path / "outside"
    outside.write_bytes(bytes(1 << 22))
    (work / "link").symlink_to(outside)
    (work / "loop").symlink_to(work)
    with (work / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert (
        1 << 20
        <= drain(quota.DiskMeter((str(work), str(tmp_path / "none")), 0))
        < (1 << 20) + (1 << 17)
    )


@pytest.mark.parametrize("files", [0, quota.ENTRIES_PER_SLICE, quota.ENTRIES_PER_SLICE * 2 + 3])
def test_a_large_directory_is_measured_in_slices(tmp_path: Path, files: int) -> None:
    for number in range(files):
        (tmp_path / f"f{number}").write_bytes(b"x")
    meter = quota.DiskMeter((str(tmp_path),), 0)
    assert meter.step(0, lambda: 0) is None, "not due yet"
    assert drain(meter) == meter.used_bytes
    assert meter.used_bytes == sum(path.stat().st_blocks * 512 for path in tmp_path.iterdir())


def test_a_vanished_directory_takes_nothing(tmp_path: Path) -> None:
    assert drain(quota.DiskMeter((str(tmp_path / "gone"),), 0)) == 0


def test_the_boot_timer_fires_at_its_instant_and_can_be_disarmed() -> None:
    timer = linux.BootTimer()
    try:
        at = linux.boot_ns() + 30_000_000
        timer.arm(at)
        assert select.select([timer.fd], [], [], 10)[0]
        assert linux.boot_ns() >= at
        timer.clear()
        assert not select.select([timer.fd], [], [], 0)[0]
        timer.arm(1)
        assert select.select([timer.fd], [], [], 10)[0], "an instant in the past fires at once"
        timer.arm(None)
        assert not select.select([timer.fd], [], [], 0)[0]
    finally:
        timer.close()
