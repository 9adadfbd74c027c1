"""Control groups: what is written, what is read, and how a backend is chosen."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper.machine.cgroup import CgroupFs, Group, Mount, read_mounts
from edge_agent.keeper.machine.cgroup_v1 import PARKED, RESIDUE_BYTES, BackendV1
from edge_agent.keeper.machine.cgroup_v2 import BackendV2
from edge_agent.keeper.machine.containment import detect, machine_mounts
from edge_agent.keeper.report import Usage
from edge_agent.keeper.spec import Limits

ALL = "cpu memory pids"
LIMITS = Limits(memory_bytes=1 << 20, cpu_millis=1500, pids=9)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_v2_limits_are_written_in_the_kernels_words(tmp_path: Path, fake_v2: Any) -> None:
    fs = fake_v2(tmp_path, ALL)
    backend = BackendV2.probe(fs, str(tmp_path), "k1")
    assert backend is not None
    assert backend.name == "cgroup2:cpu,memory,pids"
    group = backend.create("mark", LIMITS)
    base = tmp_path / "intertie-k1" / "mark"
    assert (base / "memory.max").read_text() == "1048576"
    assert (base / "memory.swap.max").read_text() == "0"
    assert (base / "memory.oom.group").read_text() == "1"
    assert (base / "pids.max").read_text() == "9"
    assert (base / "cpu.max").read_text() == "150000 100000"
    assert group.join_paths() == (str(base / "cgroup.procs"),)


def test_v2_counters_become_usage_and_oom_kills_are_seen(tmp_path: Path, fake_v2: Any) -> None:
    backend = BackendV2.probe(fake_v2(tmp_path, ALL), str(tmp_path), "k1")
    assert backend is not None
    group = backend.create("mark", LIMITS)
    events = tmp_path / "intertie-k1" / "mark" / "memory.events"
    events.write_text("low 0\noom 1\noom_kill 3\n")
    expected = Usage(
        cpu_ns=1_500_000, memory_bytes=4096, memory_peak_bytes=8192, pids=1, oom_kills=3
    )
    assert group.usage() == expected


@pytest.mark.parametrize("has_kill", [True, False])
def test_v2_kills_a_whole_group_with_and_without_cgroup_kill(
    tmp_path: Path, fake_v2: Any, has_kill: bool, sleeper: subprocess.Popen[bytes]
) -> None:
    fs = fake_v2(tmp_path, ALL, has_kill=has_kill)
    backend = BackendV2.probe(fs, str(tmp_path), "k1")
    assert backend is not None
    group = backend.create("mark", Limits())
    path = str(tmp_path / "intertie-k1" / "mark")
    fs.mkdir(f"{path}/made-by-the-task")
    fs.put(f"{path}/made-by-the-task", sleeper.pid)
    assert group.kill() == [sleeper.pid]
    assert sleeper.wait(10) == -signal.SIGKILL
    if not has_kill:
        assert not group.remove(), "the kernel still lists it"
        (Path(path) / "made-by-the-task" / "cgroup.procs").write_text("")
        freezes = [text for file, text in fs.written if file.endswith("mark/cgroup.freeze")]
        assert freezes == ["1", "0"]
    assert group.kill() == []
    assert group.remove()
    assert backend.existing() == {}


def test_v2_moves_the_keeper_into_a_leaf_where_its_own_group_is_in_the_way(
    tmp_path: Path, fake_v2: Any
) -> None:
    fs = fake_v2(tmp_path, ALL)
    for name in ALL.split():
        fs.write(f"{tmp_path}/cgroup.subtree_control", f"+{name}")
    slice_ = str(tmp_path / "agent.service")
    fs.mkdir(slice_)
    fs.put(slice_, os.getpid())
    backend = BackendV2.probe(fs, slice_, "k1")
    assert backend is not None
    assert backend.controllers == {"cpu", "memory", "pids"}
    assert fs.pids(f"{slice_}/keeper-k1/cgroup.procs") == [os.getpid()]
    assert fs.pids(f"{slice_}/cgroup.procs") == []


def test_v2_offers_what_it_was_given_and_writes_no_other_limit(
    tmp_path: Path, fake_v2: Any
) -> None:
    backend = BackendV2.probe(fake_v2(tmp_path, "pids"), str(tmp_path), "k1")
    assert backend is not None
    assert backend.controllers == {"pids"}
    assert backend.create("mark", LIMITS).usage().oom_kills is None


def test_a_directory_that_is_no_cgroup_is_no_backend(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text(ALL)
    assert BackendV2.probe(CgroupFs(), str(tmp_path), "k1") is None
    assert BackendV1.probe(CgroupFs(), {"pids": [str(tmp_path)]}, "k1") is None
    assert [path.name for path in tmp_path.iterdir()] == ["cgroup.controllers"]


def test_where_our_own_group_refuses_the_root_is_taken(tmp_path: Path, fake_v2: Any) -> None:
    fs = fake_v2(tmp_path, ALL)
    fs.mkdir(str(tmp_path / "own"))
    fs.denied.add(str(tmp_path / "own" / "intertie-k1"))
    backend = detect(fs, [Mount(str(tmp_path), 2, (), "/own")], "k1")
    assert backend is not None
    backend.create("mark", Limits())
    assert (tmp_path / "intertie-k1" / "mark").is_dir()
    assert not (tmp_path / "own" / "intertie-k1").exists()


def test_groups_of_an_earlier_keeper_are_found_again(tmp_path: Path, fake_v2: Any) -> None:
    fs = fake_v2(tmp_path, ALL)
    first = BackendV2.probe(fs, str(tmp_path), "k1")
    assert first is not None
    first.create("mark", Limits())
    again = BackendV2.probe(fs, str(tmp_path), "k1")
    other = BackendV2.probe(fs, str(tmp_path), "k2")
    assert again is not None
    assert other is not None
    assert set(again.existing()) == {"mark"}
    assert other.existing() == {}


def test_no_hierarchy_means_no_backend() -> None:
    assert detect(CgroupFs(), [], "k1") is None


def test_mounts_are_read_with_the_place_of_this_process_inside() -> None:
    mountinfo = (
        "31 23 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
        "32 23 0:28 /box /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "33 23 0:29 / /sys/fs/cgroup/unified rw - cgroup2 none rw,nsdelegate\n"
        "34 23 0:30 / /proc rw - proc proc rw\n"
    )
    own = "4:memory:/a/b\n3:cpu,cpuacct:/box/c\n0::/u\n"
    mounts = read_mounts(mountinfo, own)
    assert mounts == [
        Mount("/sys/fs/cgroup/memory", 1, ("memory",), "/a/b"),
        Mount("/sys/fs/cgroup/cpu", 1, ("cpu", "cpuacct"), "/c"),
        Mount("/sys/fs/cgroup/unified", 2, (), "/u"),
    ]
    assert list(mounts[0].bases()) == ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory"]


def _real_unified() -> str | None:
    for mount in machine_mounts():
        if mount.version == 2 and os.access(mount.path, os.W_OK):
            return mount.path
    return None


@pytest.mark.skipif(_real_unified() is None, reason="no writable version 2 hierarchy here")
def test_the_real_kernel_kills_a_v2_group(sleeper: subprocess.Popen[bytes]) -> None:
    root = _real_unified()
    assert root is not None
    fs = CgroupFs()
    backend = BackendV2.probe(fs, root, f"test{os.getpid()}")
    assert backend is not None
    try:
        group = backend.create("mark", Limits())
        fs.write(group.join_paths()[0], str(sleeper.pid))
        assert group.kill() == [sleeper.pid]
        assert sleeper.wait(10) == -signal.SIGKILL
        assert group.kill() == []
        cpu_ns = group.usage().cpu_ns
        assert cpu_ns is not None
    finally:
        for left in backend.existing().values():
            left.remove()
        backend.close()
    assert not Path(root, f"intertie-test{os.getpid()}").exists()


@pytest.fixture
def real_v1() -> Iterator[BackendV1]:
    parents: dict[str, list[str]] = {}
    for mount in machine_mounts():
        for controller in mount.controllers if mount.version == 1 else ():
            parents.setdefault(controller, []).extend(mount.bases())
    backend = BackendV1.probe(CgroupFs(), parents, f"test{os.getpid()}")
    if backend is None or not {"memory", "pids", "cpuacct"} <= backend.controllers:
        pytest.skip("no writable version 1 hierarchies here")
    yield backend
    backend.close()
    for left in backend.existing().values():
        left.remove()
    backend.close()
    assert backend.existing() == {}


def _burn(group: Group) -> None:
    """Run something in a group until it has used a visible amount of CPU."""
    code = "import os; os.read(0, 1); x = b'x' * (1 << 24); sum(range(1 << 21))"
    with subprocess.Popen(["python3", "-S", "-c", code], stdin=subprocess.PIPE) as process:
        for path in group.join_paths():
            CgroupFs().write(path, str(process.pid))
        process.communicate(b"x")
    assert (group.usage().cpu_ns or 0) > 10_000_000


def test_a_parked_v1_group_serves_the_next_run_with_the_same_limits_from_zero(
    real_v1: BackendV1,
) -> None:
    limits = Limits(memory_bytes=64 << 20, cpu_millis=1000, pids=9)
    first = real_v1.create("a", limits)
    _burn(first)
    peak = first.usage().memory_peak_bytes
    assert peak is not None
    assert peak > 1 << 24
    assert real_v1.release(first) is None
    second = real_v1.create("b", limits._replace(disk_bytes=5))
    assert set(real_v1.existing()) == {"b"}
    usage = second.usage()
    assert (usage.cpu_ns, usage.oom_kills) == (0, 0)
    assert (usage.memory_peak_bytes or 0) <= RESIDUE_BYTES
    other = real_v1.create("c", limits._replace(pids=10))
    assert set(real_v1.existing()) == {"b", "c"}
    assert real_v1.release(other) is None
    assert real_v1.release(second) is None


def test_a_v1_group_in_which_anything_is_left_is_not_parked(
    real_v1: BackendV1, sleeper: subprocess.Popen[bytes]
) -> None:
    group = real_v1.create("a", LIMITS)
    (memory,) = (path for path in group.join_paths() if "/memory/" in path)
    CgroupFs().write(memory, str(sleeper.pid))
    assert group.kill() == []
    assert real_v1.release(group) is group
    sleeper.kill()
    sleeper.wait()
    assert real_v1.release(group) is None
    again = real_v1.create("b", LIMITS)
    Path(again.join_paths()[0]).with_name("below").mkdir()
    assert real_v1.release(again) is None
    assert "b" not in real_v1.existing()


def test_a_v1_group_that_was_killed_can_not_fork_and_is_not_parked(
    real_v1: BackendV1, sleeper: subprocess.Popen[bytes]
) -> None:
    group = real_v1.create("a", LIMITS)
    for path in group.join_paths():
        CgroupFs().write(path, str(sleeper.pid))
    assert group.kill() == [sleeper.pid]
    (pids,) = (path for path in group.join_paths() if "/pids/" in path)
    assert CgroupFs().count(str(Path(pids).with_name("pids.max"))) == 0
    assert sleeper.wait(10) == -signal.SIGKILL
    assert real_v1.release(group) is None
    assert real_v1.existing() == {}


def test_no_more_than_a_bound_of_v1_groups_is_parked(real_v1: BackendV1) -> None:
    groups = [real_v1.create(f"g{n}", Limits(pids=n + 1)) for n in range(PARKED + 3)]
    assert [real_v1.release(group) for group in groups] == [None] * (PARKED + 3)
    assert len(real_v1.existing()) == PARKED
    assert "g0" not in real_v1.existing()
