"""Which shared places and device files a run sees."""

from pathlib import Path

import pytest

from edge_agent.adapters.work.confining import SHM_BYTES, hidden_devices, own_view
from intertie.model.pool import Device

SCRATCH = "/srv/agent/runs/r/scratch"


def gpu(index: int, uuid: str = "") -> Device:
    return Device(index=index, uuid=uuid or f"GPU-{index}", vendor="nvidia", model="H")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with two GPUs whose files are numbered the other way round."""
    dev = tmp_path / "dev"
    (dev / "nvidia-caps").mkdir(parents=True)
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1", "sda"):
        (dev / name).touch()
    for index, minor in ((0, 1), (1, 0)):
        folder = tmp_path / f"proc/driver/nvidia/gpus/0000:0{index}:00.0"
        folder.mkdir(parents=True)
        text = f"Model: \t H\nGPU UUID: \t GPU-{index}\nDevice Minor: \t {minor}\n"
        (folder / "information").write_text(text)
    return tmp_path


def test_a_run_without_devices_sees_none(root: Path) -> None:
    names = ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-caps/nvidia-cap1")
    assert hidden_devices([], root) == {f"/dev/{name}" for name in names}


def test_a_run_does_not_see_the_gpu_of_another_whatever_its_number(root: Path) -> None:
    assert hidden_devices([gpu(0)], root) == {"/dev/nvidia0"}
    assert hidden_devices([gpu(1)], root) == {"/dev/nvidia1"}
    assert hidden_devices([gpu(0), gpu(1)], root) == set()


def test_a_part_of_a_gpu_hides_none(root: Path) -> None:
    assert hidden_devices([gpu(0, "MIG-1")], root) == set()


def test_a_view_has_its_own_tmp_unless_something_needed_lies_in_the_shared_one(root: Path) -> None:
    view = own_view(SCRATCH, 1 << 20, [], root=root)
    assert (view.tmp_dir, view.shm_bytes) == (SCRATCH, 1 << 20)
    assert own_view("/tmp/agent/scratch", 0, [], root=root).tmp_dir is None
    beside = own_view(SCRATCH, 0, [], outside=["/var/tmp/env/bin"], root=root)
    assert (beside.tmp_dir, beside.shm_bytes) == (None, SHM_BYTES)
