"""Solve -u_xx - u_yy = f on the unit square by Jacobi iteration; check the order of convergence.

f is chosen so that u = sin(pi x) sin(pi y) is the exact solution. The five-point stencil is of
second order: halving the grid width must divide the error by four. If it does not, the program
exits with 1.
"""

import argparse
import json
import math
import os
import sys
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

CHECK_EVERY = 500  # iterations between two looks at the residual
TOLERANCE = 1e-7  # of the residual, relative to that of u = 0
ORDER_BOUNDS = (1.9, 2.1)


@dataclass(frozen=True)
class Solution:
    """What one grid gave: cells per side, iterations, relative residual, largest error."""

    cells: int
    iterations: int
    residual: float
    max_error: float


def residual(u: np.ndarray, source: np.ndarray) -> float:
    """Largest defect of the discrete equation, in units of h^2 f."""
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return float(np.abs(source - 4.0 * u[1:-1, 1:-1] + around).max())


def solve(cells: int) -> Solution:
    """Iterate from zero until the residual has fallen by TOLERANCE."""
    points = np.linspace(0.0, 1.0, cells + 1)
    exact = np.outer(np.sin(math.pi * points), np.sin(math.pi * points))
    source = (2.0 * math.pi**2 / cells**2) * exact[1:-1, 1:-1]
    u = np.zeros_like(exact)
    start = residual(u, source)
    iterations = 0
    while (reached := residual(u, source) / start) > TOLERANCE:
        for _ in range(CHECK_EVERY):
            around = u[2:, 1:-1] + u[:-2, 1:-1]
            around += u[1:-1, 2:]
            around += u[1:-1, :-2]
            around += source
            np.multiply(around, 0.25, out=u[1:-1, 1:-1])
        iterations += CHECK_EVERY
    return Solution(cells, iterations, reached, float(np.abs(u - exact).max()))


def order(coarse: Solution, fine: Solution) -> float:
    """Observed order of convergence between two grids."""
    return math.log(coarse.max_error / fine.max_error) / math.log(fine.cells / coarse.cells)


def main() -> int:
    """Solve on each grid, write the figures, fail if the order is not that of the method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grids", type=int, nargs="+", default=[32, 64, 128, 192])
    options = parser.parse_args()
    solutions = []
    for cells in options.grids:
        solutions.append(solve(cells))
        print(solutions[-1], flush=True)
    orders = [order(coarse, fine) for coarse, fine in pairwise(solutions)]
    converged = all(ORDER_BOUNDS[0] <= found <= ORDER_BOUNDS[1] for found in orders)

    out = Path(os.environ.get("INTERTIE_OUTPUT_DIR", "out"))
    out.mkdir(parents=True, exist_ok=True)
    result = {
        "grids": [asdict(solution) for solution in solutions],
        "observed_orders": orders,
        "converged": converged,
    }
    (out / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print(f"observed orders {[round(found, 3) for found in orders]}", flush=True)
    return 0 if converged else 1


if __name__ == "__main__":
    sys.exit(main())
