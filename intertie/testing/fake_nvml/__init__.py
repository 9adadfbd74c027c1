"""A stand-in for NVIDIA's management library, to test what talks to NVML without a GPU.

It is a real shared library with NVML's ABI (`nvml.c`), compiled where it is needed: what is tested
is the real `nvidia-ml-py` and our code above it. It must be loaded before Python looks for the real
one, so programs under test run in a process apart with `environment(...)`.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")
LIBRARY = "libnvidia-ml.so.1"


class NoCompilerError(Exception):
    """There is no C compiler on this machine."""


def build(folder: Path) -> Path:
    """Compile the library into a folder and return its path."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise NoCompilerError
    library = folder / LIBRARY
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", str(library), str(SOURCE)], check=True, timeout=60)
    return library


@dataclass(frozen=True, slots=True)
class FakeMig:
    """One MIG device, in slot `slot` of its GPU."""

    slot: int
    uuid: str
    memory_mib: int
    multiprocessors: int
    gpu_instance: int
    compute_instance: int = 0


@dataclass(frozen=True, slots=True)
class FakeLink:
    """One NVLink; `peer` is NVML's device type: 0 GPU, 1 CPU, 2 switch."""

    bus_id: str
    peer: int = 0
    version: int = 4
    active: bool = True


@dataclass(frozen=True, slots=True)
class FakeGpu:
    """One device, by default a healthy H100; None in a field: it does not support that."""

    uuid: str
    bus_id: str
    name: str = "NVIDIA H100 80GB HBM3"
    memory_bytes: int = 80 << 30
    memory_used_bytes: int = 1 << 30
    capability: tuple[int, int] = (9, 0)
    utilization: tuple[int, int] | None = (37, 12)
    temperature_c: int | None = 41
    power_mw: int | None = 95_000
    power_limit_mw: int | None = 700_000
    ecc: tuple[int, int, int, int] | None = (1, 0, 0, 0)
    remapped_rows: tuple[int, int, int, int] | None = (0, 0, 0, 0)
    links: Sequence[FakeLink] = ()
    mig: tuple[int, int] | None = (0, 0)
    mig_devices: Sequence[FakeMig] = ()
    xids: Sequence[int] | None = ()
    lost_after: int | None = None
    errors: Mapping[str, int] = field(default_factory=dict)

    def lines(self, index: int) -> list[str]:
        """The device's part of the state file."""
        values: dict[str, object] = {
            "uuid": self.uuid,
            "bus_id": self.bus_id,
            "name": self.name,
            "memory": (self.memory_bytes, self.memory_used_bytes),
            "capability": self.capability,
            "utilization": self.utilization,
            "temperature": self.temperature_c,
            "power": self.power_mw,
            "power_limit": self.power_limit_mw,
            "ecc": self.ecc,
            "rows": self.remapped_rows,
            "mig": self.mig,
            "xids": self.xids,
            "lost_after": self.lost_after,
        }
        for number, link in enumerate(self.links):
            values[f"link{number}"] = (int(link.active), link.peer, link.version, link.bus_id)
        for mig in self.mig_devices:
            shape = (mig.memory_mib, mig.multiprocessors, mig.gpu_instance, mig.compute_instance)
            values[f"mig{mig.slot}.uuid"] = mig.uuid
            values[f"mig{mig.slot}.attributes"] = shape
        values |= {f"error.{function}": code for function, code in self.errors.items()}
        return [
            f"gpu{index}.{key} = {_written(value)}"
            for key, value in values.items()
            if value is not None
        ]


def _written(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(str(part) for part in value)
    return str(value)


def write_state(
    path: Path,
    gpus: Sequence[FakeGpu],
    *,
    driver: str = "550.54.15",
    cuda: int = 12040,
    errors: Mapping[str, int] | None = None,
) -> None:
    """Write the machine that the library shows; may be called again while a program runs."""
    lines = [f"system.driver = {driver}", f"system.cuda = {cuda}", f"system.count = {len(gpus)}"]
    lines += [f"system.error.{function} = {code}" for function, code in (errors or {}).items()]
    for index, gpu in enumerate(gpus):
        lines += gpu.lines(index)
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text("\n".join(lines) + "\n")
    unfinished.replace(path)


def environment(library: Path, state: Path) -> dict[str, str]:
    """The environment of this process with the library in front of the real one."""
    return os.environ | {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_STATE": str(state)}
