"""The runner of the checks: what it counts, what it prints, when it fails."""

import sys

import pytest

from tools.check import counts, run_one, summarise, summary_line
from tools.checklist import CHECKS, Check


def python_check(program: str, **settings: bool | int) -> Check:
    return Check("sample", "a sample", (sys.executable, "-c", program), **settings)  # type: ignore[arg-type]  # settings are of mixed types


TESTS = Check("tests", "tests", ("true",), counts_tests=True)


def test_the_counts_of_pytest_are_read_from_its_last_line() -> None:
    output = "3 passed in 1.00s\n== 2 failed, 40 passed, 1 skipped, 3 errors in 61.20s (0:01:01) =="
    assert counts(TESTS, output, ok=False) == (40, 5, 1)


def test_a_crash_of_pytest_counts_as_one_failure() -> None:
    assert counts(TESTS, "INTERNALERROR", ok=False) == (0, 1, 0)
    assert summary_line("INTERNALERROR") == ""


def test_a_check_that_counts_no_tests_is_one_test() -> None:
    assert counts(python_check(""), "17 passed in 1.00s", ok=True) == (1, 0, 0)


def test_a_failing_command_fails_its_check_and_keeps_its_output() -> None:
    result = run_one(python_check("import sys; print('why'); sys.exit(3)"))
    assert not result.ok
    assert result.output == "why\n"


def test_a_check_beyond_its_limit_is_stopped_and_says_so() -> None:
    result = run_one(python_check("import signal; signal.pause()", limit_s=1))
    assert not result.ok
    assert "ran longer than 1 s" in result.output


def test_no_collected_test_is_a_failure_unless_the_check_may_be_empty() -> None:
    program = "raise SystemExit(5)"
    assert not run_one(python_check(program)).ok
    assert run_one(python_check(program, may_be_empty=True)).ok


def test_the_closing_line_is_a_plain_count(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = run_one(python_check("")), run_one(python_check("raise SystemExit(1)"))
    assert summarise([good, good]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"
    assert summarise([good, bad]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 1 failed"


def test_every_check_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
