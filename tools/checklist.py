"""The checks that `make test` runs, as data; `tools/check.py` runs them."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.environment import ROOT, VENV

COVERAGE_DATA = ROOT / ".tools" / "coverage" / "data"


@dataclass(frozen=True, slots=True)
class Check:
    """One command whose exit status is the verdict.

    `fast` checks make up `make lint`. Checks `beside_others` run two at a time; the rest run alone,
    afterwards, in order. `counts_tests` means that the command is pytest and its tests are counted;
    a check that `may_be_empty` may find no test. The folder `empties` is emptied before it runs.
    """

    name: str
    title: str
    command: tuple[str, ...]
    fast: bool = True
    beside_others: bool = True
    counts_tests: bool = False
    may_be_empty: bool = False
    empties: Path | None = None
    limit_s: int = 300
    environment: Mapping[str, str] = field(default_factory=dict)


def _tool(name: str, *arguments: str) -> tuple[str, ...]:
    return (str(VENV / "bin" / name), *arguments)


def _module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *arguments)


def _measured_pytest(*arguments: str) -> tuple[str, ...]:
    return _module("coverage", "run", "-m", "pytest", "-q", "--no-header", *arguments)


_MEASURED = {"COVERAGE_FILE": str(COVERAGE_DATA)}

CHECKS = (
    Check("mypy", "types, strictly", _module("mypy", "--no-error-summary")),
    Check(
        "ruff", "style and likely errors", _tool("ruff", "check", "--output-format=concise", ".")
    ),
    Check("format", "formatting", _tool("ruff", "format", "--check", ".")),
    Check("layers", "who may import whom", _tool("lint-imports", "--no-cache")),
    Check("stubs", "intertie/api is what proto/ generates", _module("tools.stubs", "--check")),
    Check("protocol-lint", "style of the protocol", _module("tools.protocol", "lint")),
    Check("protocol-break", "no breaking change", _module("tools.protocol", "breaking")),
    Check("generated", "generated documents are fresh", _module("tools.generated", "--check")),
    Check(
        "wheel",
        "the built package, outside the checkout",
        _module("pytest", "-q", "--no-header", "tests/packaging"),
        fast=False,
        counts_tests=True,
        limit_s=600,
    ),
    Check(
        "tests",
        "tests that may share the machine",
        _measured_pytest(
            "-n", "2", "--dist", "loadscope", "-m", "not alone", "--ignore=tests/packaging"
        ),
        fast=False,
        beside_others=False,
        counts_tests=True,
        empties=COVERAGE_DATA.parent,
        limit_s=900,
        environment=_MEASURED,
    ),
    Check(
        "tests-alone",
        "tests that measure real time",
        _measured_pytest("-m", "alone", "--ignore=tests/packaging"),
        fast=False,
        beside_others=False,
        counts_tests=True,
        may_be_empty=True,
        limit_s=600,
        environment=_MEASURED,
    ),
    Check(
        "coverage",
        "floors of branch coverage",
        _module("tools.coverage_floor"),
        fast=False,
        beside_others=False,
        environment=_MEASURED,
    ),
)
