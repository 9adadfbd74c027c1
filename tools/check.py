"""Run the checks: a line and a time for each, the output of those that fail, and a final count.

This is all that `make test` and CI run. The list of checks is `tools/checklist.py`; this module
only runs them: the static ones two at a time, then the tests, which use both processors themselves.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tools.checklist import CHECKS, Check
from tools.environment import ROOT

LOGS = ROOT / ".tools" / "logs"
SHOWN_LINES = 150
SHOWN_COLUMNS = 300
LANES = 2
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
NO_TESTS_COLLECTED = 5


@dataclass(frozen=True, slots=True)
class Result:
    """How one check ended. The counts are pytest's, or one for a check that is no test run."""

    check: Check
    ok: bool
    seconds: float
    output: str
    passed: int
    failed: int
    skipped: int


def main(arguments: Sequence[str]) -> int:
    """Run the checks named by `arguments` (default: all) and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.check", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CHECK", help="run these checks only")
    parser.add_argument("--fast", action="store_true", help="run the static checks only")
    parser.add_argument("--list", action="store_true", help="list the checks and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{check.name:16} {check.title}" for check in CHECKS))
        return 0
    unknown = set(options.names) - {check.name for check in CHECKS}
    if unknown:
        parser.error(f"no check named {', '.join(sorted(unknown))}; --list shows them")
    chosen = [
        check
        for check in CHECKS
        if (not options.names or check.name in options.names) and (check.fast or not options.fast)
    ]
    started = time.perf_counter()
    results = run_all(chosen)
    print(f"{len(results)} checks in {time.perf_counter() - started:.0f} s")
    return summarise(results)


def run_all(checks: Iterable[Check]) -> list[Result]:
    """Run `checks`, printing each result as it comes: first the static ones, then one by one."""
    beside = [check for check in checks if check.beside_others]
    alone = [check for check in checks if not check.beside_others]
    results = []
    with ThreadPoolExecutor(LANES) as lanes:
        for future in as_completed([lanes.submit(run_one, check) for check in beside]):
            results.append(future.result())
            report(results[-1])
    for check in alone:
        results.append(run_one(check))
        report(results[-1])
    return results


def run_one(check: Check) -> Result:
    """Run one check to its end, or to its time limit; its output is kept in `.tools/logs/`."""
    started = time.perf_counter()
    if check.empties:
        shutil.rmtree(check.empties, ignore_errors=True)
        check.empties.mkdir(parents=True)
    environment = {**os.environ, **check.environment, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    with subprocess.Popen(
        check.command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=check.limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            output += f"\nstopped: {check.name} ran longer than {check.limit_s} s\n"
    seconds = time.perf_counter() - started
    output = ESCAPES.sub("", output)
    write_log(check.name, output)
    ok = process.returncode == 0 or (
        check.may_be_empty and process.returncode == NO_TESTS_COLLECTED
    )
    passed, failed, skipped = counts(check, output, ok=ok)
    return Result(check, ok, seconds, output, passed, failed, skipped)


def counts(check: Check, output: str, *, ok: bool) -> tuple[int, int, int]:
    """Passed, failed and skipped tests; a check that counts no tests is itself one test."""
    if not check.counts_tests:
        return int(ok), int(not ok), 0
    passed, failed, errors, skipped = (
        int(found[-1]) if (found := re.findall(rf"(\d+) {word}", summary_line(output))) else 0
        for word in ("passed", "failed", "errors?", "skipped")
    )
    return passed, max(failed + errors, int(not ok)), skipped


def summary_line(output: str) -> str:
    """Pytest's closing line, which holds its counts."""
    lines = [line for line in output.splitlines() if re.search(r" in \d+\.\d+s", line)]
    return lines[-1] if lines else ""


def report(result: Result) -> None:
    """Print the line of a check, and what it said when it failed."""
    mark = "ok" if result.ok else "FAILED"
    print(
        f"{result.check.name:16} {mark:7} {result.seconds:6.1f} s  {result.check.title}", flush=True
    )
    if result.ok:
        return
    lines = result.output.rstrip().splitlines()
    if len(lines) > SHOWN_LINES:
        log = (LOGS / f"{result.check.name}.log").relative_to(ROOT)
        print(f"    ... {len(lines) - SHOWN_LINES} lines before these are in {log}")
    for line in lines[-SHOWN_LINES:]:
        print(f"    {line[:SHOWN_COLUMNS]}")
    sys.stdout.flush()


def write_log(name: str, output: str) -> Path:
    """Keep the whole output of a check."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{name}.log"
    path.write_text(output, encoding="utf-8")
    return path


def summarise(results: Sequence[Result]) -> int:
    """Print what failed and the closing count; return the exit status."""
    failures = [result.check.name for result in results if not result.ok]
    if failures:
        print(f"failed: {', '.join(failures)}; repeat with: make check CHECK={failures[0]}")
    passed, failed, skipped = (
        sum(getattr(result, kind) for result in results) for kind in ("passed", "failed", "skipped")
    )
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
