"""The table of commands: all load, all help, the quick ones load nothing heavy."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from intertie.cli.app import COMMANDS, app
from intertie.cli.dev import configs
from intertie.cli.docs import commands, errors, tasks
from intertie.errors import CATALOGUE, Exit, Reason

QUICK = """
import sys
sys.argv = ["intertie", {argument!r}]
from intertie.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
loaded = {{name.split(".")[0] for name in sys.modules}}
print(*sorted(loaded & {{"grpc", "google", "cryptography", "sqlalchemy", "rich"}}))
"""


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_loads_and_has_help(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0, result.output
    assert f"{name} [OPTIONS]" in result.output


@pytest.mark.parametrize("argument", ["version", "--help"])
def test_version_and_help_load_nothing_heavy(argument: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUICK.format(argument=argument)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ""


def test_the_help_names_every_command_with_its_line() -> None:
    text = run("--help").output
    for name, entry in COMMANDS.items():
        assert re.search(rf"^  {name} +\S", text, re.MULTILINE), name
        assert entry.help.split()[0] in text


def test_an_unknown_command_or_option_exits_2() -> None:
    assert run("tsak").exit_code == Exit.USAGE
    assert run("task", "list", "--colour").exit_code == Exit.USAGE
    assert run("task", "list", "-o", "xml").exit_code == Exit.USAGE


def test_a_command_without_a_context_exits_2_and_says_what_to_do(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERTIE_CONFIG", str(tmp_path / "none.toml"))
    result = run("task", "list")
    assert result.exit_code == Exit.USAGE
    assert result.stderr.startswith(f"error: {tmp_path / 'none.toml'} does not exist.")
    assert "remedy: " in result.stderr
    assert "Traceback" not in result.output


def test_a_traceback_is_shown_only_when_asked_for(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERTIE_CONFIG", str(tmp_path / "none.toml"))
    result = run("--traceback", "task", "list")
    assert result.exception is not None
    assert result.exit_code == 1


def test_the_version_is_printed_for_people_and_programs() -> None:
    assert run("version").output.startswith("intertie ")
    assert '"version"' in run("version", "-o", "json").output


def test_schemas_are_json_schemas() -> None:
    for name in ("task", "prices"):
        assert "json-schema.org" in run("schema", name).output


def test_completion_knows_names_without_loading_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "intertie.cli"],
        env={"_INTERTIE_COMPLETE": "complete_bash", "COMP_WORDS": "intertie ta", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_the_page_of_errors_tells_every_reason_and_exit_code() -> None:
    text = errors.page()
    assert set(CATALOGUE) == set(Reason)
    for reason, entry in CATALOGUE.items():
        assert f"| `{reason}` | {entry.code} | {entry.exit} |" in text
    codes = {value for name, value in vars(Exit).items() if name.isupper()}
    assert codes == set(errors.EXITS)


def test_the_pages_of_commands_and_tasks_are_whole() -> None:
    text = commands.page()
    for name in COMMANDS:
        assert f"## intertie {name}" in text
    page = tasks.page()
    assert "*Not served yet.*" in page
    assert all(line.count("|") >= 5 for line in page.splitlines() if line.startswith("| `"))


def test_a_program_below_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    program = tmp_path / "private" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    program.parents[1].chmod(0o700)
    assert configs.closed_to_others(program) == program.parents[1]


def test_dev_says_what_tasks_of_ones_own_user_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    assert configs.first_uid(1) == 0
    assert "only root" in configs.isolation()
    assert "whatever you can" in configs.isolation()
