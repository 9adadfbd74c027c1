"""The keeper imports the standard library and its own package, nothing else, and stays small."""

import subprocess
import sys
from pathlib import Path

import edge_agent.keeper
from edge_agent.keeper import launch

PACKAGE = Path(edge_agent.keeper.__file__).parent
MODULES = sorted(
    str(path.relative_to(PACKAGE).with_suffix("")).replace("/", ".")
    for path in PACKAGE.rglob("*.py")
    if not path.stem.startswith("__")
)
BANNED = ("threading", "asyncio", "subprocess", "dataclasses", "inspect", "pathlib", "ssl")


def loaded(*modules: str) -> set[str]:
    code = (
        f"import sys; sys.path.append({str(PACKAGE.parent.parent)!r})\n"
        + "".join(f"import edge_agent.keeper.{name}\n" for name in modules)
        + "print('\\n'.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_only_the_standard_library_and_the_package_itself_are_loaded() -> None:
    names = loaded(*MODULES)
    foreign = {
        name
        for name in names
        if name.partition(".")[0] not in sys.stdlib_module_names
        and name not in ("edge_agent", "edge_agent.keeper", "__main__", "sitecustomize")
        and not name.startswith("edge_agent.keeper.")
    }
    assert foreign == set()


def test_nothing_heavy_and_no_threads_are_loaded() -> None:
    assert not loaded("main") & set(BANNED)


def test_the_command_line_starts_it_without_site_packages() -> None:
    command = launch.command("state")
    assert command[:3] == [sys.executable, "-I", "-S"]
    usage = subprocess.run(command[:4], capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert usage.stderr.startswith("usage: keeper STATE_DIR")
