"""The wheel, built once and installed outside the checkout beside the newest dependencies."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that holds the wheel and what the wheel requires, nothing else."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.folder / "bin" / "python"

    def run(self, *command: str | Path) -> str:
        """Run a command away from the checkout and return what it prints."""
        done = subprocess.run(command, cwd=self.folder, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a release builds it: from the source distribution, not from the checkout."""
    target = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)]
    done = subprocess.run(build, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A fresh environment with the wheel; nothing of the development environment is in it."""
    environment = Installed(tmp_path_factory.mktemp("outside") / "venv")
    subprocess.run([sys.executable, "-m", "venv", environment.folder], check=True)
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    environment.run(environment.python, "-m", "pip", "install", *quiet, wheel)
    return environment
