"""Probes of the host, on this machine and on laid-out ones."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from edge_agent.adapters.probes.host import (
    probe_cpu,
    probe_deployment,
    probe_disk,
    probe_host,
    probe_memory,
    probe_numa,
)
from edge_agent.adapters.probes.model import (
    Absence,
    Cpu,
    Deployment,
    Found,
    Memory,
    NotFound,
    NumaNode,
    Probe,
)

LayOut = Callable[[dict[str, str]], Path]
T = TypeVar("T")

NO_GROUPS = {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": ""}
MEMINFO = "MemTotal:  8388608 kB\nMemAvailable:  4194304 kB\nSwapTotal:  1048576 kB\nHuge: 0\n"


def value_of(probe: Probe[T]) -> T:
    assert isinstance(probe, Found), probe
    return probe.value


def missing(probe: Probe[T]) -> NotFound:
    assert isinstance(probe, NotFound), probe
    return probe


def test_this_machine_has_a_name_an_architecture_and_a_boot() -> None:
    host = value_of(probe_host())
    assert host.architecture == os.uname().machine
    assert host.kernel == os.uname().release
    assert len(host.boot_id) == 36


def test_this_machine_has_the_processors_that_affinity_allows() -> None:
    cpu = value_of(probe_cpu())
    assert set(cpu.allowed) == os.sched_getaffinity(0)
    assert cpu.sockets >= 1
    assert 0 < cpu.usable_millicores <= 1000 * len(cpu.allowed)


def test_this_machine_has_memory_disk_and_where_it_has_them_numa_nodes(tmp_path: Path) -> None:
    memory = value_of(probe_memory())
    assert 0 < memory.usable_mib <= memory.total_mib
    disk = value_of(probe_disk(tmp_path))
    assert 0 <= disk.free_mib <= disk.total_mib
    numa = probe_numa()
    assert isinstance(numa, NotFound) or len(numa.value) >= 1


def test_a_quota_below_the_allowed_processors_is_what_can_be_used() -> None:
    assert Cpu((0, 1, 2, 3), 1500, "", 1).usable_millicores == 1500
    assert Cpu((0, 1), 8000, "", 1).usable_millicores == 2000
    assert Cpu((0, 1), None, "", 1).usable_millicores == 2000


def test_an_arm_processor_is_told_by_its_numbers(lay_out: LayOut) -> None:
    cpuinfo = "processor\t: 0\nCPU implementer\t: 0x48\nCPU part\t: 0xd01\n"
    sockets = {
        f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n"
        for cpu in range(4)
    }
    cpu = value_of(probe_cpu(lay_out(NO_GROUPS | sockets | {"proc/cpuinfo": cpuinfo})))
    assert cpu.model == "implementer 0x48 part 0xd01"
    assert cpu.sockets == 2


def test_a_memory_limit_of_the_group_is_what_can_be_used(lay_out: LayOut) -> None:
    root = lay_out(
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/task\n",
            "proc/self/mountinfo": "29 24 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/cgroup.controllers": "memory\n",
            "sys/fs/cgroup/task/memory.max": f"{512 << 20}\n",
        }
    )
    memory = value_of(probe_memory(root))
    assert memory == Memory(total_mib=8192, available_mib=512, limit_mib=512, swap_mib=1024)
    assert memory.usable_mib == 512


def test_memory_without_a_limit_is_all_of_it(lay_out: LayOut) -> None:
    memory = value_of(probe_memory(lay_out(NO_GROUPS | {"proc/meminfo": MEMINFO})))
    assert memory.limit_mib is None
    assert memory.usable_mib == 8192


def test_a_file_that_is_not_as_the_kernel_writes_it_is_a_finding(lay_out: LayOut) -> None:
    probe = missing(probe_memory(lay_out(NO_GROUPS | {"proc/meminfo": "nonsense\n"})))
    assert probe.absence is Absence.FAILED
    assert "MemTotal" in probe.reason


def test_a_path_that_is_not_there_has_no_disk_and_says_so(tmp_path: Path) -> None:
    probe = missing(probe_disk(tmp_path / "nowhere"))
    assert probe.absence is Absence.ABSENT
    assert "nowhere" in probe.reason


def test_numa_nodes_come_with_processors_memory_and_distances(lay_out: LayOut) -> None:
    folder = "sys/devices/system/node"
    files = {f"{folder}/online": "0-1\n"}
    for node in range(2):
        files |= {
            f"{folder}/node{node}/cpulist": f"{4 * node}-{4 * node + 3}\n",
            f"{folder}/node{node}/meminfo": f"Node {node} MemTotal:  1048576 kB\n",
            f"{folder}/node{node}/distance": "10 21\n" if node == 0 else "21 10\n",
        }
    assert value_of(probe_numa(lay_out(files))) == (
        NumaNode(0, (0, 1, 2, 3), 1024, (10, 21)),
        NumaNode(1, (4, 5, 6, 7), 1024, (21, 10)),
    )


def test_a_kernel_without_numa_is_a_normal_absence(tmp_path: Path) -> None:
    assert missing(probe_numa(tmp_path)).absence is Absence.ABSENT


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".dockerenv": "", "proc/cpuinfo": "flags\t: fpu hypervisor\n"}, Deployment.CONTAINER),
        ({"run/.containerenv": ""}, Deployment.CONTAINER),
        ({"proc/cpuinfo": "flags\t: fpu vme hypervisor lm\n"}, Deployment.VM),
        (
            {
                "proc/cpuinfo": "flags\t: fpu vme\n",
                "sys/class/dmi/id/sys_vendor": "Supermicro\n",
                "sys/class/dmi/id/product_name": "SYS-821GE\n",
            },
            Deployment.BARE_METAL,
        ),
        (
            {
                "proc/cpuinfo": "CPU part\t: 0xd0c\n",
                "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
                "sys/class/dmi/id/product_name": "c7g.metal\n",
            },
            Deployment.BARE_METAL,
        ),
        (
            {
                "proc/cpuinfo": "CPU part\t: 0xd0c\n",
                "sys/class/dmi/id/sys_vendor": "QEMU\n",
                "sys/class/dmi/id/product_name": "KVM Virtual Machine\n",
            },
            Deployment.VM,
        ),
    ],
)
def test_the_form_of_deployment_is_read_from_what_the_machine_shows(
    lay_out: LayOut, files: dict[str, str], expected: Deployment
) -> None:
    assert value_of(probe_deployment(lay_out(files))) is expected


def test_a_form_of_deployment_that_nothing_shows_is_not_guessed(lay_out: LayOut) -> None:
    probe = missing(probe_deployment(lay_out({"proc/cpuinfo": "CPU part\t: 0xd0c\n"})))
    assert probe.absence is Absence.UNSUPPORTED
