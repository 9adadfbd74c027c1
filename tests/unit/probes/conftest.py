"""Another machine for the probes: laid-out files, and a stand-in of NVML in a process apart."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intertie.testing import fake_nvml

RunWithNvml = Callable[[str], Any]


@pytest.fixture
def lay_out(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Write files below a fresh root; returns the root."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "root"
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return root

    return write


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in of libnvidia-ml.so.1, compiled once."""
    try:
        return fake_nvml.build(tmp_path_factory.mktemp("nvml"))
    except fake_nvml.NoCompilerError:
        pytest.skip("no C compiler on this machine")


@pytest.fixture
def nvml_state(tmp_path: Path) -> Path:
    """Where the stand-in's machine is described."""
    return tmp_path / "nvml.state"


@pytest.fixture
def run_with_nvml(nvml_library: Path, nvml_state: Path) -> RunWithNvml:
    """Run Python lines that set `result`, against the stand-in, and return it (through JSON)."""

    def run(lines: str) -> Any:
        program = (
            "import warnings; warnings.simplefilter('error')\n"
            "import msgspec\n"
            f"{lines}\n"
            "print(msgspec.json.encode(result).decode())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=fake_nvml.environment(nvml_library, nvml_state),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
