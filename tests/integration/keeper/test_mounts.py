"""Runs with a view of their own of /tmp, /dev/shm and device files, by a real keeper."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edge_agent.keeper.protocol import OWN_MOUNTS

SHARED = Path("/dev/shm/intertie-test-of-mounts")


@pytest.fixture
def link(box: Any) -> Any:
    link = box.up()
    if OWN_MOUNTS not in link.hello().features:
        assert os.geteuid() != 0 or not _may_mount(), "a keeper that may mount says so"
        pytest.skip("no right to mount here")
    return link


def _may_mount() -> bool:
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    return bool(int(effective.split()[1], 16) >> 21 & 1)


@pytest.fixture
def shared() -> Iterator[Path]:
    SHARED.write_text("of the machine")
    yield SHARED
    SHARED.unlink()


def ran(link: Any, box: Any, script: str, **view: Any) -> str:
    """What a script prints in a view of its own."""
    spec = box.spec("/bin/sh", "-c", script)
    folder = Path(spec.cwd).parent / "own"
    folder.mkdir(mode=0o777)
    wanted = {"tmp_dir": str(folder), "shm_bytes": 1 << 20, **view}
    spec = spec._replace(cwd="/", **wanted)
    link.start(spec)
    ended = link.ended(spec.run)
    assert (ended.by, ended.code) == ("SELF", 0), ended
    return str(box.output(spec).decode())


def test_tmp_is_a_folder_of_the_run(link: Any, box: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("of the machine")
    script = f"echo mine > /tmp/a; cat /var/tmp/a; ls /tmp; ls {tmp_path} 2> /dev/null || echo none"
    assert ran(link, box, script) == "mine\na\nnone\n"
    assert not Path("/tmp/a").exists()
    assert [path.read_text() for path in box.root.glob("*/own/a")] == ["mine\n"]


def test_shared_memory_is_the_runs_own_and_bounded(link: Any, box: Any, shared: Path) -> None:
    script = "ls /dev/shm; head -c 2000000 /dev/zero > /dev/shm/big 2> /dev/null || echo full"
    assert ran(link, box, script) == "full\n"
    assert not Path("/dev/shm/big").exists()


def test_a_hidden_file_is_nothing_and_only_for_the_run(
    link: Any, box: Any, shared: Path, tmp_path: Path
) -> None:
    device = tmp_path / "device"
    device.write_text("secret")
    hidden = (str(device), "/dev/not-there")
    assert ran(link, box, f"cat {device}; echo end", tmp_dir=None, hidden=hidden) == "end\n"
    assert device.read_text() == "secret"


def test_a_view_that_cannot_be_made_starts_nothing(link: Any, box: Any) -> None:
    spec = box.spec("/bin/true")._replace(tmp_dir=str(box.root / "gone"))
    link.start(spec)
    ended = link.ended(spec.run)
    assert (ended.start_fault.stage, ended.start_fault.errno) == ("mounts", "ENOENT")
