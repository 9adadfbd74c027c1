"""The architecture as tests: the import contracts hold, and what they cannot say.

No test here imports a service; what it checks is files, or a fresh interpreter.
"""

import ast
import configparser
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SERVICES = ("federation", "regional", "edge_agent")
PURE_WHEN_PRESENT = ("health", "failure", "residency", "capability", "billing", "drive", "metering")
ONE_SHAPE = ("domain/__init__.py", "server/__init__.py", "adapters/__init__.py")
ONE_SHAPE_MODULES = ("config.py", "app.py", "__main__.py")


def run_python(*arguments: str) -> str:
    """Run the environment's interpreter outside the checkout and return what it prints."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def contract(name: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter", encoding="utf-8")
    return parser[f"importlinter:contract:{name}"]


def imported_modules(path: Path) -> set[str]:
    """Absolute names imported anywhere in a file, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by absolute name"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_every_import_contract_is_kept() -> None:
    program = str(Path(sys.executable).with_name("lint-imports"))
    command = [program, "--no-cache"]  # in a process of its own: it reconfigures all logging
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_pure_package_stands_under_the_purity_contract() -> None:
    listed = contract("pure")["source_modules"].split()
    present = {f"intertie.{p}" for p in PURE_WHEN_PRESENT if (ROOT / "intertie" / p).is_dir()}
    assert present <= set(listed)
    assert {f"{service}.domain" for service in SERVICES} <= set(listed)


def test_importing_the_library_loads_nothing_heavy() -> None:
    program = "import sys, intertie; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = set(run_python("-c", program).split())
    assert not loaded & {"grpc", "google", "pydantic", "sqlalchemy", "cryptography", "rich"}


def test_the_keeper_imports_the_standard_library_only() -> None:
    allowed = sys.stdlib_module_names
    for path in sorted((ROOT / "edge_agent" / "keeper").rglob("*.py")):
        for name in imported_modules(path):
            inside = name.startswith("edge_agent.keeper.")
            assert inside or name.split(".")[0] in allowed, f"{path.name} imports {name}"


def test_the_keeper_runs_without_any_installed_package() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "edge_agent" / "keeper").glob("*.py"))
        if path.stem not in {"__init__", "__main__"}
    ]
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    program += "\n".join(f"import {module}" for module in modules)
    run_python("-I", "-S", "-c", program)


def test_the_keeper_uses_no_thread_and_no_event_loop() -> None:
    banned = {"threading", "asyncio", "concurrent", "multiprocessing", "queue", "_thread"}
    for path in sorted((ROOT / "edge_agent" / "keeper").rglob("*.py")):
        found = {name.split(".")[0] for name in imported_modules(path)} & banned
        assert not found, f"{path.name} imports {found}"


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_has_the_one_shape(service: str) -> None:
    missing = [
        name for name in (*ONE_SHAPE, *ONE_SHAPE_MODULES) if not (ROOT / service / name).exists()
    ]
    assert not missing, f"{service} lacks {', '.join(missing)}"


@pytest.mark.parametrize("package", ["intertie", *SERVICES])
def test_imports_inside_the_project_are_absolute(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        if "intertie/api/" not in path.as_posix():
            imported_modules(path)
