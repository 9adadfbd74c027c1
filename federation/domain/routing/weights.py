"""The weight of a region among those that are drawn from: a product of named factors.

    w = max(free - D*inflight, EPS*capacity) * S^A * H^B * L * G          (routing.md)

The same functions serve one verdict and whole columns: they take numbers or arrays.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
N = TypeVar("N", float, Floats)

EPS = 0.05
"""Share of the capacity that a full region still weighs, so that it is asked at all."""
D = 1.0
"""Units that a send takes of the free ones until a summary has counted it."""
A, B = 1.0, 1.0
"""Exponents of the share of runs that succeed, and of health."""
L_LEAST = 0.05


def room(free: N, inflight: N, capacity: N) -> N:
    """The units that count: free ones less those under way, never nothing."""
    left: N = np.maximum(free - D * inflight, EPS * capacity)
    return left


def nearness(p95_ms: N, bound_ms: float) -> N:
    """L: 1 at no distance, its least at the bound."""
    near: N = np.clip((bound_ms - p95_ms) / bound_ms, L_LEAST, 1.0)
    return near


def gravity(moved: N, bandwidth: N, work_ms: float) -> N:
    """G: 1 where nothing is to be moved, a half where moving takes as long as the work."""
    return 1.0 / (1.0 + moved * 1000.0 / (bandwidth * max(work_ms, 1.0)))


def factor(success: N, health: N, near: N, pull: N) -> N:
    """What the room of a region is multiplied by."""
    product: N = success**A * health**B * near * pull
    return product
