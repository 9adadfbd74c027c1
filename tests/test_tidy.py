"""House rules that no linter knows (docs/style.md). They read the files that git would commit."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRODUCTION = ("intertie", "federation", "regional", "edge_agent")
CODE = (*PRODUCTION, "tests", "tools", "bench", "examples")
GENERATED = "intertie/api/"
THIS_FILE = "tests/test_tidy.py"

MAX_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_FILES_IN_FOLDER = 12
MIN_ASSERTS_PER_1000_LINES = 30
DENSITY_COUNTS_FROM_LINES = 200
MIN_WORDS_IN_TEST_NAME = 4

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "managers", "misc"}
CROWDED_FOLDERS: dict[str, str] = {
    "intertie/model": "one family of values a file: it is the vocabulary of everything else",
    "federation/domain": "as the region's: one part of the core a file",
    "regional/domain": "one part of the core a file; a folder for some would hide how they meet",
}
"""Folder -> why it may hold more than MAX_FILES_IN_FOLDER modules."""


@cache
def tracked() -> tuple[str, ...]:
    """Files that git tracks or would track, relative to the root."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return tuple(
        name for name in sorted(set(listing.stdout.splitlines())) if (ROOT / name).is_file()
    )


def python_files(*folders: str) -> Iterator[tuple[str, str]]:
    """Name and text of every Python file below `folders` that is written by hand."""
    for name in tracked():
        wanted = name.endswith(".py") and name.startswith(tuple(f"{f}/" for f in folders))
        if wanted and not name.startswith(GENERATED):
            yield name, (ROOT / name).read_text(encoding="utf-8")


@cache
def parsed(name: str) -> ast.Module:
    return ast.parse((ROOT / name).read_text(encoding="utf-8"), filename=name)


def functions(name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def code_lines(name: str) -> int:
    """Lines of a file that hold code: no blank lines, comments or docstrings."""
    documentation = {
        line
        for node in ast.walk(parsed(name))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return sum(
        number not in documentation and line.strip() != "" and not line.lstrip().startswith("#")
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
    )


def complain(offences: list[str], remedy: str) -> None:
    """Fail with every offence, one a line, and what to do."""
    assert not offences, remedy + ":\n  " + "\n  ".join(offences)


def test_no_module_has_a_vague_name() -> None:
    offences = [
        name
        for name, _ in python_files(*CODE)
        if VAGUE_NAMES & {part.removesuffix(".py") for part in Path(name).parts}
    ]
    complain(offences, "name a module after the one idea that it holds")


def test_every_module_opens_with_a_docstring() -> None:
    offences = [name for name, _ in python_files(*CODE) if not ast.get_docstring(parsed(name))]
    complain(offences, "say what the file is for and what it must not do")


def test_no_file_is_longer_than_the_limit() -> None:
    offences = [
        f"{name}: {lines} lines"
        for name, text in python_files(*CODE)
        if (lines := text.count("\n")) > MAX_LINES
    ]
    complain(offences, f"split files beyond {MAX_LINES} lines by idea")


def test_no_function_is_longer_than_the_limit() -> None:
    offences = [
        f"{name}:{function.lineno} {function.name}: {length} lines"
        for name, _ in python_files(*CODE)
        for function in functions(name)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > MAX_FUNCTION_LINES
    ]
    complain(offences, f"split functions beyond {MAX_FUNCTION_LINES} lines")


def test_no_folder_holds_too_many_modules() -> None:
    modules = [name for name, _ in python_files(*CODE) if not name.endswith("__init__.py")]
    count = Counter(str(Path(name).parent) for name in modules)
    offences = [
        f"{folder}: {files} modules"
        for folder, files in sorted(count.items())
        if files > MAX_FILES_IN_FOLDER and folder not in CROWDED_FOLDERS
    ]
    complain(offences, f"group folders beyond {MAX_FILES_IN_FOLDER} modules, or give a reason here")


def test_every_exception_for_a_crowded_folder_is_still_needed() -> None:
    present = {str(Path(name).parent) for name, _ in python_files(*CODE)}
    assert set(CROWDED_FOLDERS) <= present
    assert all(len(reason.split()) >= 4 for reason in CROWDED_FOLDERS.values())


def test_nothing_is_left_for_later_in_the_code() -> None:
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    offences = [
        f"{name}:{number}"
        for name in tracked()
        if name.endswith((".py", ".proto", ".toml", ".yaml", "Makefile")) and name != THIS_FILE
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if mark.search(line)
    ]
    complain(offences, "do it now, or file an issue and say in docs/status.md what is missing")


def test_every_silenced_check_gives_its_reason() -> None:
    silencer = re.compile(r"#\s*(type:\s*ignore|noqa|mypy:|ruff:)(?P<rest>.*)")
    reason = re.compile(r"[-#]\s+\S.{3,}")
    offences = [
        f"{name}:{number}: {line.strip()}"
        for name, text in python_files(*CODE)
        if name != THIS_FILE
        for number, line in enumerate(text.splitlines(), 1)
        if (found := silencer.search(line)) and not reason.search(found["rest"])
    ]
    complain(offences, "write why after the code: `# noqa: ANN401 - any value may come`")


def test_no_line_is_hidden_from_coverage() -> None:
    offences = [
        name
        for name, text in python_files(*CODE)
        if re.search(r"pragma:\s*no\s*(cover|branch)", text) and name != THIS_FILE
    ]
    complain(offences, "test it or remove it")


def test_no_file_names_a_path_of_one_machine() -> None:
    machine_path = re.compile(r"(?<![\w.~}])/(work|root|home/[a-z]+)/")
    offences = [
        f"{name}:{number}"
        for name in tracked()
        if name != THIS_FILE and not name.endswith((".binpb", ".npz", ".gz", ".png"))
        for number, line in enumerate((ROOT / name).read_text("utf-8", "replace").splitlines(), 1)
        if machine_path.search(line)
    ]
    complain(offences, "use a path relative to the file, a temporary folder or a setting")


def test_every_test_name_is_a_sentence() -> None:
    offences = [
        f"{name}:{function.lineno} {function.name}"
        for name, _ in python_files("tests")
        if Path(name).name.startswith("test_")
        for function in functions(name)
        if function.name.startswith("test_")
        and len(function.name.removeprefix("test_").split("_")) < MIN_WORDS_IN_TEST_NAME
    ]
    complain(offences, "say who does what: test_a_frozen_client_fences_itself")


def test_tests_wait_for_conditions_and_never_sleep() -> None:
    offences = [
        f"{name}:{call.lineno}"
        for name, _ in python_files("tests")
        for call in ast.walk(parsed(name))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in {"time.sleep", "asyncio.sleep", "sleep"}
        and not (len(call.args) == 1 and ast.unparse(call.args[0]) in {"0", "0.0"})
    ]
    complain(offences, "use intertie.testing.waiting: eventually, consistently, let_pass")


def test_the_protocol_folder_holds_no_python() -> None:
    offences = [name for name in tracked() if name.startswith("proto/") and name.endswith(".py")]
    complain(offences, "an __init__.py in proto/ would hide Google's proto-plus")


def test_test_folders_are_not_packages() -> None:
    offences = [n for n in tracked() if n.startswith("tests/") and n.endswith("/__init__.py")]
    complain(offences, "tests share by conftest.py or intertie.testing, not by imports")


def test_every_folder_of_production_code_is_a_package() -> None:
    folders = {
        parent
        for name in tracked()
        if name.endswith(".py") and name.startswith(tuple(f"{p}/" for p in PRODUCTION))
        for parent in Path(name).parents
        if parent != Path()
    }
    offences = [str(f) for f in sorted(folders) if not (ROOT / f / "__init__.py").exists()]
    complain(offences, "add an __init__.py with one sentence")


@pytest.mark.parametrize(
    "package",
    ["federation/domain", "regional/domain", "edge_agent/domain", "intertie/metering"],
)
def test_core_packages_state_their_invariants_as_assertions(package: str) -> None:
    files = list(python_files(package))
    lines = sum(code_lines(name) for name, _ in files)
    if lines < DENSITY_COUNTS_FROM_LINES:
        return
    asserts = sum(
        isinstance(node, ast.Assert) for name, _ in files for node in ast.walk(parsed(name))
    )
    density = 1000 * asserts / lines
    assert density >= MIN_ASSERTS_PER_1000_LINES, (
        f"{package} has {asserts} asserts in {lines} lines of code ({density:.0f} per 1,000); "
        f"state what must hold, {MIN_ASSERTS_PER_1000_LINES} times per 1,000 lines"
    )
