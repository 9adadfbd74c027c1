"""Hold each package to its floor of branch coverage.

Reads the data of the test checks and the floors in `[tool.intertie.coverage]` of pyproject.toml:
package -> percent. A floor rises as coverage grows, and falls only with a reason in the commit.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.environment import ROOT


@dataclass(slots=True)
class Tally:
    """Lines and branches of one package: how many there are and how many the tests reached."""

    total: int = 0
    reached: int = 0

    @property
    def percent(self) -> float:
        """Share reached; coverage does not see a package that no test imports, so that is none."""
        return 100.0 * self.reached / self.total if self.total else 0.0


def main() -> int:
    """Combine the data, compare every floor, print a table when one is missed."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    floors: dict[str, float] = configuration["tool"]["intertie"]["coverage"]
    tallies = tally(measured_files(), floors)
    missed = [package for package in floors if tallies[package].percent < floors[package]]
    for package, floor in floors.items():
        mark = "BELOW" if package in missed else "ok"
        print(f"{package:24} {tallies[package].percent:6.2f}% floor {floor:5.1f}%  {mark}")
    return 1 if missed else 0


def measured_files() -> dict[str, Any]:
    """Combine the data files of all processes and return coverage's JSON entry of each file."""
    data = Path(os.environ["COVERAGE_FILE"])
    coverage = [sys.executable, "-m", "coverage"]
    if any(data.parent.glob(f"{data.name}.*")):
        subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [*coverage, "json", "--quiet", "--fail-under=0", "-o", str(report)]
        subprocess.run(command, cwd=ROOT, check=True)
        files: dict[str, Any] = json.loads(report.read_bytes())["files"]
    return files


def tally(files: dict[str, Any], packages: dict[str, float]) -> dict[str, Tally]:
    """Add up the files of each package; a file counts in every package that contains it."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    for path, entry in files.items():
        for package in packages:
            if path.startswith(package.replace(".", "/") + "/"):
                summary = entry["summary"]
                tallies[package].total += summary["num_statements"] + summary["num_branches"]
                tallies[package].reached += summary["covered_lines"] + summary["covered_branches"]
    return tallies


if __name__ == "__main__":
    sys.exit(main())
