"""Limits of control groups, on file systems of both versions."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from edge_agent.adapters.probes.limits import cpu_quota_millicores, memory_limit_bytes
from edge_agent.adapters.probes.reading import id_list

LayOut = Callable[[dict[str, str]], Path]

MOUNTS_V1 = (
    "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "31 24 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
)
GROUPS_V1 = "4:cpu,cpuacct:/jobs/one\n3:memory:/jobs/one\n0::/\n"
CPU_V1 = "sys/fs/cgroup/cpu,cpuacct"
MEMORY_V1 = "sys/fs/cgroup/memory"


def v2(files: dict[str, str], group: str = "/jobs/one", mounted: str = "/") -> dict[str, str]:
    return {
        "proc/self/cgroup": f"0::{group}\n",
        "proc/self/mountinfo": f"29 24 0:25 {mounted} /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
    } | {f"sys/fs/cgroup/{name}": content for name, content in files.items()}


def test_version_2_quota_and_limit_are_read_from_the_group(lay_out: LayOut) -> None:
    root = lay_out(v2({"jobs/one/cpu.max": "150000 100000\n", "jobs/one/memory.max": "1048576\n"}))
    assert cpu_quota_millicores(root) == 1500
    assert memory_limit_bytes(root) == 1048576


def test_the_tightest_ancestor_counts_and_max_means_no_limit(lay_out: LayOut) -> None:
    root = lay_out(
        v2(
            {
                "jobs/one/cpu.max": "max 100000\n",
                "jobs/cpu.max": "50000 100000\n",
                "jobs/one/memory.max": "4096\n",
                "jobs/memory.max": "max\n",
            }
        )
    )
    assert cpu_quota_millicores(root) == 500
    assert memory_limit_bytes(root) == 4096


def test_a_container_that_sees_only_its_own_group_finds_the_limit_at_the_mount(
    lay_out: LayOut,
) -> None:
    seen = v2({"memory.max": "8192\n"}, group="/docker/abc", mounted="/docker/abc")
    assert memory_limit_bytes(lay_out(seen)) == 8192


def test_a_group_outside_of_the_mount_is_read_at_the_mount(lay_out: LayOut) -> None:
    assert memory_limit_bytes(lay_out(v2({"memory.max": "16384\n"}, group="/../other"))) == 16384


def test_version_1_quota_and_limit_are_read_from_their_own_hierarchies(lay_out: LayOut) -> None:
    root = lay_out(
        {
            "proc/self/cgroup": GROUPS_V1,
            "proc/self/mountinfo": MOUNTS_V1,
            f"{CPU_V1}/jobs/one/cpu.cfs_quota_us": "25000\n",
            f"{CPU_V1}/jobs/one/cpu.cfs_period_us": "100000\n",
            f"{MEMORY_V1}/jobs/one/memory.limit_in_bytes": "2097152\n",
        }
    )
    assert cpu_quota_millicores(root) == 250
    assert memory_limit_bytes(root) == 2097152


def test_version_1_writes_no_limit_as_minus_one_and_as_a_huge_number(lay_out: LayOut) -> None:
    root = lay_out(
        {
            "proc/self/cgroup": GROUPS_V1,
            "proc/self/mountinfo": MOUNTS_V1,
            f"{CPU_V1}/jobs/one/cpu.cfs_quota_us": "-1\n",
            f"{MEMORY_V1}/jobs/one/memory.limit_in_bytes": "9223372036854771712\n",
        }
    )
    assert cpu_quota_millicores(root) is None
    assert memory_limit_bytes(root) is None


def test_without_a_controller_there_is_no_limit(lay_out: LayOut) -> None:
    root = lay_out(v2({}) | {"sys/fs/cgroup/cgroup.controllers": "pids\n"})
    assert cpu_quota_millicores(root) is None
    assert memory_limit_bytes(root) is None


def test_limits_of_this_very_process_can_be_read() -> None:
    quota, limit = cpu_quota_millicores(Path("/")), memory_limit_bytes(Path("/"))
    assert quota is None or quota > 0
    assert limit is None or limit > 0


@given(st.sets(st.integers(0, 300)))
def test_a_kernel_list_gives_back_the_ids_it_was_written_from(ids: set[int]) -> None:
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    written = ",".join(f"{a}-{b}" if a != b else str(a) for a, b in ranges)
    assert id_list(written + "\n") == tuple(sorted(ids))
