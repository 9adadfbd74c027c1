"""What a person gets who installs Intertie from the package index."""

import tomllib
import zipfile
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = {"intertie", "federation", "regional", "edge_agent"}

pytestmark = pytest.mark.timeout(500)  # building and installing downloads the dependencies

IMPORT_EVERYTHING = """
import importlib, pkgutil
for package in ("intertie", "federation", "regional", "edge_agent"):
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
            print(found.name)
"""
HEAVY_MODULES = """
import sys, intertie
print(*sorted({name.split(".")[0] for name in sys.modules} & {"grpc", "google", "pydantic"}))
"""


class Installed(Protocol):
    """The fixture of conftest.py."""

    folder: Path
    python: Path

    def run(self, *command: str | Path) -> str: ...


def test_the_wheel_holds_the_four_packages_and_their_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES
    assert any(name.endswith("/LICENSE") for name in names)
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)


def test_every_module_imports_without_the_development_tools(installed: Installed) -> None:
    imported = installed.run(installed.python, "-I", "-c", IMPORT_EVERYTHING).split()
    assert {name.split(".")[0] for name in imported} == PACKAGES


def test_the_newest_allowed_protobuf_is_what_gets_installed(installed: Installed) -> None:
    program = "import google.protobuf as p; print(p.__version__)"
    version = installed.run(installed.python, "-I", "-c", program)
    assert version.startswith("7."), "the wheel must be tested beside the newest major allowed"


def test_importing_the_installed_library_loads_no_grpc(installed: Installed) -> None:
    assert installed.run(installed.python, "-I", "-c", HEAVY_MODULES).split() == []


def test_the_installed_command_tells_its_version(installed: Installed) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = installed.run(installed.folder / "bin" / "intertie", "version")
    assert project["version"] in said
