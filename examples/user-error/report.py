"""Bootstrap the mean of a column of measurements; the task asks for a column that is not there.

The mistake is the task's own (a misspelt name), and it shows only after the slow part, as it would
in life: an exception, a traceback on stderr, exit code 1, and the promised output is missing.
"""

import argparse
import json
import os
import random
import statistics
import time
from pathlib import Path

Means = dict[str, list[float]]


def measurements(count: int) -> dict[str, list[float]]:
    """A year of made-up but deterministic weather."""
    source = random.Random(7)
    return {
        "temperature": [source.gauss(11.0, 8.0) for _ in range(count)],
        "pressure": [source.gauss(1013.0, 9.0) for _ in range(count)],
    }


def bootstrap(table: dict[str, list[float]], seconds: float) -> Means:
    """Means of resampled columns, as many as fit in the time given."""
    source = random.Random(11)
    means: Means = {name: [] for name in table}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, values in table.items():
            means[name].append(statistics.fmean(source.choices(values, k=len(values))))
    return means


def main() -> None:
    """Resample, then report on one column."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--column", default="temperature")
    parser.add_argument("--seconds", type=float, default=2.5)
    options = parser.parse_args()
    means = bootstrap(measurements(8760), options.seconds)
    print(f"resampled {len(means['pressure'])} times", flush=True)

    chosen = sorted(means[options.column])
    low, high = chosen[len(chosen) // 20], chosen[-1 - len(chosen) // 20]
    out = Path(os.environ.get("INTERTIE_OUTPUT_DIR", "out"))
    out.mkdir(parents=True, exist_ok=True)
    report = {"column": options.column, "mean_90_percent": [low, high]}
    (out / "report.json").write_text(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
