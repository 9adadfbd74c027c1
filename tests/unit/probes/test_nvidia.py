"""NVIDIA devices by the real nvidia-ml-py over a stand-in library with NVML's ABI."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge_agent.adapters.probes.nvidia.inventory import architecture
from intertie.testing.fake_nvml import FakeGpu, FakeLink, FakeMig, write_state

RunWithNvml = Callable[[str], Any]

INVENTORY = "from edge_agent.adapters.probes.node import probe_devices; result = probe_devices()"
SAMPLE = """
from edge_agent.adapters.probes.nvidia import open_nvml, sample_nvidia
session = open_nvml()
result = sample_nvidia(["GPU-a", "GPU-b"])
session.close()
"""

BUS_A = "00000000:17:00.0"
BUS_B = "00000000:18:00.0"
SWITCH = "00000000:05:00.0"

GPU_IS_LOST = 15
NO_PERMISSION = 4
UNKNOWN = 999
RESET_REQUIRED = 16


def gpu_a(**changes: Any) -> FakeGpu:
    return FakeGpu(uuid="GPU-a", bus_id=BUS_A, **changes)


def gpu_b(**changes: Any) -> FakeGpu:
    return FakeGpu(uuid="GPU-b", bus_id=BUS_B, **changes)


def test_a_device_is_read_with_all_that_it_tells(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a(ecc=(1, 5, 1, 2), remapped_rows=(1, 2, 1, 0))])
    inventory = run_with_nvml(INVENTORY)["value"]
    assert inventory["driver"] == "550.54.15"
    assert inventory["cuda"] == [12, 4]
    assert inventory["faults"] == []
    (device,) = inventory["devices"]
    assert device["uuid"] == "GPU-a"
    assert device["name"] == "NVIDIA H100 80GB HBM3"
    assert device["memory_bytes"] == 80 << 30
    assert device["compute_capability"] == [9, 0]
    assert device["architecture"] == "hopper"
    assert device["bus_id"] == BUS_A
    assert device["power_limit_mw"]["value"] == 700_000
    assert device["ecc"]["value"] == {
        "enabled": True,
        "corrected_volatile": 5,
        "uncorrected_volatile": 1,
        "uncorrected_aggregate": 2,
    }
    assert device["row_remapping"]["value"] == {
        "corrected": 1,
        "uncorrected": 2,
        "pending": True,
        "failed": False,
    }


def test_links_are_grouped_by_what_they_lead_to_and_inactive_ones_do_not_count(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    links = [FakeLink(BUS_B)] * 2 + [FakeLink(SWITCH, peer=2), FakeLink(BUS_B, active=False)]
    write_state(nvml_state, [gpu_a(links=links), gpu_b()])
    first, second = run_with_nvml(INVENTORY)["value"]["devices"]
    assert first["nvlinks"]["value"] == [
        {"peer": "gpu", "bus_id": BUS_B, "links": 2, "version": 4},
        {"peer": "switch", "bus_id": SWITCH, "links": 1, "version": 4},
    ]
    assert second["nvlinks"]["value"] == []


def test_a_device_in_mig_mode_is_told_with_its_instances_although_slots_are_sparse(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    instances = [FakeMig(1, "MIG-x", 9856, 16, 7), FakeMig(4, "MIG-y", 20096, 32, 3)]
    write_state(nvml_state, [gpu_a(mig=(1, 1), mig_devices=instances, utilization=None)])
    mig = run_with_nvml(INVENTORY)["value"]["devices"][0]["mig"]["value"]
    assert mig["enabled"]
    assert [instance["uuid"] for instance in mig["instances"]] == ["MIG-x", "MIG-y"]
    assert mig["instances"][1] == {
        "uuid": "MIG-y",
        "memory_bytes": 20096 << 20,
        "multiprocessors": 32,
        "gpu_instance": 3,
        "compute_instance": 0,
    }


def test_a_change_of_mig_mode_that_waits_for_a_reset_is_seen(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a(mig=(0, 1))])
    mig = run_with_nvml(INVENTORY)["value"]["devices"][0]["mig"]["value"]
    assert mig == {"enabled": False, "pending": True, "instances": []}


def test_what_a_small_device_cannot_tell_is_unsupported_one_by_one(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    small = gpu_a(ecc=None, mig=None, remapped_rows=None, power_limit_mw=None)
    write_state(nvml_state, [small])
    (device,) = run_with_nvml(INVENTORY)["value"]["devices"]
    for part in ("ecc", "mig", "row_remapping", "power_limit_mw"):
        assert device[part]["absence"] == "UNSUPPORTED", part


def test_switched_off_ecc_is_found_and_off(run_with_nvml: RunWithNvml, nvml_state: Path) -> None:
    write_state(nvml_state, [gpu_a(ecc=(0, 0, 0, 0))])
    (device,) = run_with_nvml(INVENTORY)["value"]["devices"]
    assert device["ecc"]["value"]["enabled"] is False


@pytest.mark.parametrize("calls", range(16))
def test_a_device_lost_after_any_call_is_a_fault_and_hides_no_other(
    run_with_nvml: RunWithNvml, nvml_state: Path, calls: int
) -> None:
    write_state(nvml_state, [gpu_a(lost_after=calls), gpu_b()])
    inventory = run_with_nvml(INVENTORY)["value"]
    known = [device["uuid"] for device in inventory["devices"]]
    assert "GPU-b" in known
    if "GPU-a" not in known:
        (fault,) = inventory["faults"]
        assert fault["condition"] == "LOST"
        assert fault["device"] == ("index 0" if calls < 2 else "GPU-a")
        assert fault["source"].startswith("nvml")


def test_the_calls_of_the_lost_device_test_reach_to_the_end_of_the_inventory(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a(lost_after=16)])
    assert run_with_nvml(INVENTORY)["value"]["faults"] == []


@pytest.mark.parametrize(
    ("function", "code", "condition"),
    [
        ("nvmlDeviceGetName", RESET_REQUIRED, "RESET_REQUIRED"),
        ("nvmlDeviceGetEccMode", GPU_IS_LOST, "LOST"),
        ("nvmlDeviceGetHandleByIndex_v2", NO_PERMISSION, "DENIED"),
        ("nvmlDeviceGetMemoryInfo", UNKNOWN, "UNREADABLE"),
    ],
)
def test_a_device_that_cannot_be_used_is_a_typed_fault(
    run_with_nvml: RunWithNvml, nvml_state: Path, function: str, code: int, condition: str
) -> None:
    write_state(nvml_state, [gpu_a(errors={function: code})])
    inventory = run_with_nvml(INVENTORY)["value"]
    assert inventory["devices"] == []
    assert inventory["faults"][0]["condition"] == condition


def test_a_part_that_may_not_be_read_is_denied_and_the_device_stays(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    denied = {
        "nvmlDeviceGetNvLinkState": NO_PERMISSION,
        "nvmlDeviceGetTotalEccErrors": NO_PERMISSION,
    }
    write_state(nvml_state, [gpu_a(errors=denied)])
    (device,) = run_with_nvml(INVENTORY)["value"]["devices"]
    assert device["nvlinks"]["absence"] == "DENIED"
    assert device["ecc"]["absence"] == "DENIED"


def test_no_devices_is_an_inventory_that_says_so(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [])
    found = run_with_nvml(INVENTORY)
    assert found["value"]["devices"] == []
    assert "0 devices" in found["source"]


def test_a_library_without_a_loaded_driver_is_a_normal_absence(run_with_nvml: RunWithNvml) -> None:
    missing = run_with_nvml(INVENTORY)
    assert missing["absence"] == "ABSENT"
    assert "driver is not loaded" in missing["reason"]


def test_a_library_that_does_not_fit_the_driver_is_a_failure_with_its_remedy(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a()], errors={"nvmlInitWithFlags": 18})
    missing = run_with_nvml(INVENTORY)
    assert missing["absence"] == "FAILED"
    assert "reload the driver or reboot" in missing["reason"]


def test_a_driver_that_cannot_count_is_a_failure(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a()], errors={"nvmlDeviceGetCount_v2": UNKNOWN})
    assert run_with_nvml(INVENTORY)["absence"] == "FAILED"


def test_the_numa_node_is_the_one_of_the_pci_place(
    run_with_nvml: RunWithNvml, nvml_state: Path, lay_out: Callable[[dict[str, str]], Path]
) -> None:
    write_state(nvml_state, [gpu_a(), gpu_b()])
    folder = "sys/bus/pci/devices"
    root = lay_out(
        {f"{folder}/0000:17:00.0/numa_node": "1\n", f"{folder}/0000:18:00.0/numa_node": "-1\n"}
    )
    lines = (
        "from pathlib import Path\n"
        "from edge_agent.adapters.probes.node import probe_devices\n"
        f"result = probe_devices(Path({str(root)!r}))"
    )
    first, second = run_with_nvml(lines)["value"]["devices"]
    assert first["numa_node"]["value"] == 1
    assert second["numa_node"]["absence"] == "UNSUPPORTED"


def test_samples_come_in_the_order_asked_with_what_each_device_has(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_b(utilization=None, power_mw=None), gpu_a()])
    first, second = run_with_nvml(SAMPLE)
    assert first == {
        "uuid": "GPU-a",
        "gpu_percent": 37,
        "memory_percent": 12,
        "memory_used_bytes": 1 << 30,
        "temperature_c": 41,
        "power_mw": 95_000,
    }
    assert second["gpu_percent"] is None
    assert second["power_mw"] is None
    assert second["temperature_c"] == 41


def test_a_sample_of_a_lost_or_unknown_device_is_a_fault_in_its_place(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a(lost_after=2)])
    first, second = run_with_nvml(SAMPLE)
    assert first["condition"] == "LOST"
    assert second == {
        "device": "GPU-b",
        "condition": "UNREADABLE",
        "reason": "Not Found",
        "source": "nvmlDeviceGetHandleByUUID",
    }


def test_critical_errors_are_told_once_and_by_device_as_they_come(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a(xids=[79]), gpu_b()])
    lines = f"""
from pathlib import Path
from edge_agent.adapters.probes.nvidia import open_nvml, watch_xids
from intertie.testing.fake_nvml import FakeGpu, write_state
session = open_nvml()
watch = watch_xids(["GPU-a", "GPU-b"]).value
first = watch.poll()
second = watch.poll()
a, b = FakeGpu("GPU-a", {BUS_A!r}, xids=[79]), FakeGpu("GPU-b", {BUS_B!r}, xids=[48, 63])
write_state(Path({str(nvml_state)!r}), [a, b])
third = watch.poll(10)
watch.close()
session.close()
result = [first, second, third]
"""
    first, second, third = run_with_nvml(lines)
    assert first["value"] == [{"uuid": "GPU-a", "xid": 79}]
    assert second["value"] == []
    assert third["value"] == [{"uuid": "GPU-b", "xid": 48}, {"uuid": "GPU-b", "xid": 63}]


def test_a_watch_over_a_lost_device_says_lost(run_with_nvml: RunWithNvml, nvml_state: Path) -> None:
    write_state(nvml_state, [gpu_a(lost_after=2)])
    lines = """
from edge_agent.adapters.probes.nvidia import open_nvml, watch_xids
open_nvml()
result = watch_xids(["GPU-a"]).value.poll()
"""
    assert run_with_nvml(lines)["absence"] == "LOST"


def test_devices_that_report_no_errors_cannot_be_watched(
    run_with_nvml: RunWithNvml, nvml_state: Path
) -> None:
    write_state(nvml_state, [gpu_a(xids=None)])
    lines = """
from edge_agent.adapters.probes.nvidia import open_nvml, watch_xids
open_nvml()
result = watch_xids(["GPU-a"])
"""
    assert run_with_nvml(lines)["absence"] == "UNSUPPORTED"


def test_a_machine_without_the_library_says_that_it_has_none(tmp_path: Path) -> None:
    program = (
        "from edge_agent.adapters.probes.nvidia import session\n"
        "import pynvml\n"
        "pynvml.CDLL = lambda name: (_ for _ in ()).throw(OSError(name))\n"
        "print(session.open_nvml().reason)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"LD_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "libnvidia-ml.so.1 is not installed\n"


@pytest.mark.parametrize(
    ("capability", "name"),
    [
        ((3, 5), "kepler"),
        ((6, 1), "pascal"),
        ((7, 2), "volta"),
        ((7, 5), "turing"),
        ((8, 6), "ampere"),
        ((8, 9), "ada"),
        ((9, 0), "hopper"),
        ((10, 3), "blackwell"),
        ((12, 0), "blackwell"),
        ((13, 0), "sm_130"),
        ((2, 0), "sm_20"),
    ],
)
def test_a_compute_capability_names_its_generation(capability: tuple[int, int], name: str) -> None:
    assert architecture(capability) == name
