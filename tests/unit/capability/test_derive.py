"""Rules that give a node its tags."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from intertie.capability.derive import History, tags
from intertie.capability.devices import _TABLE, nominal
from intertie.model.pool import Device, NodeCapability
from intertie.model.tags import TAGS

SMALL = NodeCapability(
    cpu=8_000, memory=16 << 30, disk=1 << 40, architecture="x86_64", deployment="vm"
)


def with_devices(*links: str, model: str = "NVIDIA H100 80GB HBM3") -> NodeCapability:
    devices = tuple(
        Device(
            index=i, uuid=f"d{i}", vendor="nvidia", model=model, architecture="hopper", link=link
        )
        for i, link in enumerate(links)
    )
    return replace(SMALL, devices=devices)


def test_every_tag_is_derived_or_declared() -> None:
    derived = set(tags(with_devices("nvlink"), History())) | {"task_isolation"}
    declared = {name for name, tag in TAGS.items() if tag.declared}
    assert derived | declared == set(TAGS)
    assert not derived & declared


def test_the_slowest_link_of_a_node_counts() -> None:
    assert tags(with_devices("nvswitch", "nvswitch"), History())["interconnect"] == "nvswitch"
    assert tags(with_devices("nvlink", "pcie"), History())["interconnect"] == "pcie"
    assert tags(with_devices("nvlink", ""), History())["interconnect"] == "pcie"
    assert tags(SMALL, History())["interconnect"] == "none"


def test_a_node_with_devices_of_two_kinds_has_no_one_architecture() -> None:
    mixed = with_devices("pcie", "pcie")
    other = replace(mixed.devices[1], architecture="ampere")
    found = tags(replace(mixed, devices=(mixed.devices[0], other)), History())
    assert "device_architecture" not in found


def test_a_model_that_nobody_knows_gets_no_figures() -> None:
    found = tags(with_devices("pcie", model="NVIDIA X9000"), History())
    assert "device_bf16" not in found
    assert "device_memory_bandwidth" not in found


def test_faults_of_a_node_end_its_long_runs_and_good_weeks_bring_them_back() -> None:
    assert tags(SMALL, History())["long_run"] == "true"
    bad = History(hours=168, faults=3)
    assert tags(SMALL, bad)["long_run"] == "false"
    assert tags(SMALL, replace(bad, hours=6_000))["long_run"] == "true"


def test_an_operator_declares_only_what_no_rule_derives() -> None:
    found = tags(SMALL, History(), {"sovereign": "true", "long_run": "false"})
    assert found["sovereign"] == "true"
    assert found["long_run"] == "true"


def test_many_cores_and_much_memory_serve_many_requests() -> None:
    large = replace(SMALL, cpu=64_000, memory=128 << 30)
    assert tags(large, History())["high_concurrency"] == "true"
    assert tags(replace(large, cpu=8_000), History())["high_concurrency"] == "false"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100-SXM5"),
        ("NVIDIA H100 PCIe", "H100-PCIe"),
        ("NVIDIA H200", "H200-SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100-80-SXM4"),
        ("Tesla V100-SXM2-32GB", "V100-SXM2-16/32"),
        ("Tesla T4", "T4"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4", "L4"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
    ],
)
def test_a_device_is_known_by_the_name_that_its_driver_gives(model: str, name: str) -> None:
    found = nominal("nvidia", model)
    assert found is not None
    assert found.name == name


def test_data_sheet_figures_agree_with_the_collected_ones(shared_data: Path) -> None:
    with (shared_data / "accelerators" / "specs.csv").open() as file:
        rows = {row["accelerator"]: row for row in csv.DictReader(file)}
    for _, known in _TABLE:
        row = rows[known.name]
        assert known.vendor == row["vendor"].lower()
        assert known.bf16 == float(row["fp16_bf16_dense_tflops"])
        assert known.memory_bandwidth == float(row["mem_bw_gb_s"])
        assert known.link == float(row["interconnect_gb_s_bidirectional"])
