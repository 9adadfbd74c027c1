"""What a run is to see of /tmp, /dev/shm and device files, where its keeper can give it a view.

Only names: the keeper mounts (`edge_agent/keeper/mounts.py`). Without root there is no view at all;
TMPDIR and the variables of the vendors' runtimes are then all there is.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from edge_agent.keeper.protocol import SHARED_TMP
from intertie.model.pool import Device

SHM_BYTES = 1 << 30
"""Of a run without a memory limit."""
PATTERNS = ("nvidia*", "nvidia-caps/*", "davinci*", "hisi_hdc", "devmm_svm", "kfd", "accel/*")
"""Device files of accelerators, below /dev."""


@dataclass(frozen=True, slots=True)
class View:
    """See `StartSpec` for the fields."""

    tmp_dir: str | None = None
    shm_bytes: int | None = None
    hidden: tuple[str, ...] = ()


def own_view(
    scratch: str,
    memory: int,
    allotted: Sequence[Device],
    *,
    outside: Iterable[str] = (),
    root: Path = Path("/"),
) -> View:
    """The view of a run.

    Args:
        scratch: its folder for temporary files.
        memory: its limit in bytes; 0 = none.
        allotted: its devices.
        outside: other folders that it must be able to enter, such as where its programs are.
        root: of the file system that is looked at.
    """
    needed = (scratch, *outside)
    shared = any(Path(path).is_relative_to(place) for path in needed for place in SHARED_TMP)
    return View(
        tmp_dir=None if shared else scratch,
        shm_bytes=memory or SHM_BYTES,
        hidden=tuple(sorted(hidden_devices(allotted, root))),
    )


def hidden_devices(allotted: Sequence[Device], root: Path = Path("/")) -> set[str]:
    """Device files that a run must not open.

    Without a device, all of them. With some, the other GPUs of NVIDIA, if the driver tells which
    file is which; a part of a GPU is under its own UUID, which no file has, so then none is hidden.
    """
    dev = root / "dev"
    if not allotted:
        found = {path for pattern in PATTERNS for path in dev.glob(pattern) if not path.is_dir()}
        return {f"/{path.relative_to(root)}" for path in found}
    minors = _minors(root)
    own = {device.uuid for device in allotted if device.vendor == "nvidia"}
    if not own or not own <= set(minors):
        return set()
    return {f"/dev/nvidia{minor}" for uuid, minor in minors.items() if uuid not in own}


def _minors(root: Path) -> dict[str, str]:
    """The number of each GPU's device file, by UUID, as the driver tells."""
    found = {}
    for file in (root / "proc/driver/nvidia/gpus").glob("*/information"):
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:  # a GPU that fell off the bus
            continue
        uuid = re.search(r"^GPU UUID:\s*(\S+)", text, re.MULTILINE)
        minor = re.search(r"^Device Minor:\s*(\d+)", text, re.MULTILINE)
        if uuid and minor:
            found[uuid[1]] = minor[1]
    return found
