"""From probes to a node's capability, and all probes of a node in one go."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from edge_agent.adapters.probes import NodeProbes, node_capability, probe_node
from edge_agent.adapters.probes.model import (
    Absence,
    Cpu,
    Deployment,
    DeviceCondition,
    DeviceFault,
    Disk,
    Ecc,
    Found,
    Host,
    LinkPeer,
    Memory,
    Mig,
    NotFound,
    NvidiaDevice,
    NvidiaInventory,
    NvLinkGroup,
    RowRemapping,
    Software,
)
from intertie.model.pool import Device

NONE = NotFound(Absence.ABSENT, "not installed", "/opt")
SOFTWARE = Software(Found("3.11.7", "/usr/bin/python3"), *[NONE] * 8)
PROBES = NodeProbes(
    host=Found(Host("n1", "x86_64", "6.1.0", "boot"), "uname(2)"),
    deployment=NONE,
    cpu=Found(Cpu((0, 1, 2, 3), 2500, "a CPU", 1), "sched_getaffinity(2)"),
    memory=Found(Memory(8192, 4096, 2048, 0), "/proc/meminfo"),
    disk=Found(Disk("/srv", 1000, 400), "statvfs(3)"),
    numa=NONE,
    software=SOFTWARE,
    nvidia=NotFound(Absence.ABSENT, "libnvidia-ml.so.1 is not installed", "nvmlInit"),
)
GPU = NvidiaDevice(
    index=0,
    uuid="GPU-a",
    name="NVIDIA H100",
    memory_bytes=80 << 30,
    compute_capability=(9, 0),
    architecture="hopper",
    bus_id="00000000:17:00.0",
    numa_node=Found(1, "sysfs"),
    nvlinks=Found((), "nvml"),
    mig=Found(Mig(False, False, ()), "nvml"),
    ecc=Found(Ecc(True, 9, 0, 3), "nvml"),
    row_remapping=Found(RowRemapping(1, 0, False, False), "nvml"),
    power_limit_mw=Found(700_000, "nvml"),
)


def with_devices(*devices: NvidiaDevice, faults: tuple[DeviceFault, ...] = ()) -> NodeProbes:
    inventory = NvidiaInventory("550.54.15", (12, 4), devices, faults)
    return replace(PROBES, nvidia=Found(inventory, "nvml"))


def test_limits_and_not_the_machine_are_what_a_node_advertises() -> None:
    capability = node_capability(PROBES)
    assert capability.cpu == 2500
    assert capability.memory == 2048 << 20
    assert capability.disk == 400 << 20
    assert capability.architecture == "x86_64"
    assert capability.software == {"python": "3.11.7"}


def test_what_is_missing_is_told_with_its_reason() -> None:
    found = node_capability(PROBES).found
    assert found["cpu"] == "sched_getaffinity(2)"
    assert found["nvidia"] == "ABSENT: libnvidia-ml.so.1 is not installed (nvmlInit)"
    assert found["cann"] == "ABSENT: not installed (/opt)"


def test_a_node_whose_probes_all_failed_advertises_nothing_and_says_why() -> None:
    failed = NotFound(Absence.FAILED, "broken", "somewhere")
    nothing = replace(
        PROBES, host=failed, cpu=failed, memory=failed, disk=failed, numa=failed, nvidia=failed
    )
    capability = node_capability(nothing)
    assert (capability.cpu, capability.memory, capability.disk) == (0, 0, 0)
    assert capability.found["memory"] == "FAILED: broken (somewhere)"


def test_a_device_is_advertised_with_its_place_and_cuda_is_what_the_driver_serves() -> None:
    capability = node_capability(with_devices(GPU))
    assert capability.devices == (
        Device(
            index=0,
            uuid="GPU-a",
            vendor="nvidia",
            model="NVIDIA H100",
            architecture="hopper",
            memory=80 << 30,
            numa=1,
            healthy=True,
            link="pcie",
        ),
    )
    assert capability.software["cuda"] == "12.4"
    assert capability.software["driver"] == "550.54.15"


@pytest.mark.parametrize(
    "sick",
    [
        replace(GPU, row_remapping=Found(RowRemapping(0, 1, True, False), "nvml")),
        replace(GPU, row_remapping=Found(RowRemapping(0, 1, False, True), "nvml")),
        replace(GPU, ecc=Found(Ecc(True, 0, 1, 1), "nvml")),
    ],
)
def test_a_device_whose_memory_is_not_to_be_trusted_is_unhealthy(sick: NvidiaDevice) -> None:
    assert not node_capability(with_devices(sick)).devices[0].healthy


def test_a_device_that_cannot_tell_its_health_is_not_called_sick() -> None:
    silent = replace(GPU, ecc=NONE, row_remapping=NONE, numa_node=NONE)
    (device,) = node_capability(with_devices(silent)).devices
    assert device.healthy
    assert device.numa == -1


def test_a_lost_device_is_not_advertised_and_is_named_among_the_findings() -> None:
    lost = DeviceFault("GPU-b", DeviceCondition.LOST, "GPU is lost", "nvmlDeviceGetName")
    capability = node_capability(with_devices(GPU, faults=(lost,)))
    assert [device.uuid for device in capability.devices] == ["GPU-a"]
    assert capability.found["nvidia/GPU-b"] == "LOST: GPU is lost (nvmlDeviceGetName)"


def test_this_machine_is_probed_whole_and_repeatably(tmp_path: Path) -> None:
    first, second = (node_capability(probe_node(tmp_path)) for _ in range(2))
    assert first.cpu > 0
    assert first.memory > 0
    assert first.found.keys() == second.found.keys()
    assert first.cpu == second.cpu


def test_a_process_apart_prints_the_probes_as_json(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "edge_agent.adapters.probes", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    probes = json.loads(done.stdout)
    assert probes["disk"]["value"]["path"] == str(tmp_path)
    assert probes["cpu"]["value"]["allowed"]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (Found((), "nvml"), "pcie"),
        (Found((NvLinkGroup(LinkPeer.GPU, "00:18", 4, 4),), "nvml"), "nvlink"),
        (Found((NvLinkGroup(LinkPeer.SWITCH, "00:c0", 18, 4),), "nvml"), "nvswitch"),
        (Found((NvLinkGroup(LinkPeer.CPU, "00:01", 10, 4),), "nvml"), "pcie"),
        (NONE, ""),
    ],
)
def test_the_class_of_a_link_is_that_of_its_other_end(
    links: Found[tuple[NvLinkGroup, ...]] | NotFound, expected: str
) -> None:
    (device,) = node_capability(with_devices(replace(GPU, nvlinks=links))).devices
    assert device.link == expected


def test_a_node_says_what_it_runs_on() -> None:
    vm = replace(PROBES, deployment=Found(Deployment.VM, "dmi"))
    assert node_capability(vm).deployment == "vm"
