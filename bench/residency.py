"""Residency verdicts: `python bench/residency.py [--cases 1000000] [-o json]`.

agree    generated cases (policy, what a task asks, place, day) on which the table and the dumb
         evaluator give the same verdict by the same rule; any other ends with 1.
fast     verdicts a second of the table, dumb those of the plain one, on one core, the same cases.
"""

import argparse
import random
import sys
import time
from collections.abc import Sequence

from bench.harness import Figure, Report
from intertie.residency import decide
from intertie.testing.residency import dumb_ruling, random_cases

CASES = 1_000_000
PART = 20_000


def main(arguments: Sequence[str]) -> int:
    """Compare and measure."""
    parser = argparse.ArgumentParser(prog="python bench/residency.py", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    options = parser.parse_args(arguments)
    told = Report("residency", options.output == "json")
    differ, done, fast_s, dumb_s = 0, 0, 0.0, 0.0
    rng = random.Random(options.seed)
    while done < options.cases:
        cases = list(random_cases(rng, min(PART, options.cases - done)))
        begun = time.perf_counter()
        fast = [decide(*case) for case in cases]
        between = time.perf_counter()
        dumb = [dumb_ruling(*case) for case in cases]
        dumb_s += time.perf_counter() - between
        fast_s += between - begun
        pairs = zip(cases, fast, dumb, strict=True)
        for case, ours, its in pairs:
            if (ours.allowed, ours.rule) != its:
                differ += 1
                print(f"differ: {case}: {ours} against {its}", file=sys.stderr)
        done += len(cases)
    told.add(Figure("agree", done - differ, f"cases of {done}"))
    told.add(Figure("fast_per_s", done / fast_s, "1/s"))
    told.add(Figure("dumb_per_s", done / dumb_s, "1/s"))
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
