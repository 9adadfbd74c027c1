"""What finished runs teach: how regions keep, how long named work takes, how fast devices are.

Counts lose half of their weight in seven days, so that a region can mend. What the user's own
program did wrong counts against nobody. Kept as small rows, not as all runs: `rows` says which have
changed, the core makes them durable.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from intertie.model.spec import Kind
from intertie.model.states import FailureClass, Outcome
from intertie.model.task import Run

HALF_LIFE_MS = 7 * 24 * 3_600_000
QUANTILE = 0.1
PRIOR_RATE, PRIOR_HOURS = 2.7e-4, 720.0
"""Failures an hour before anything is known, and how many hours that belief weighs (routing.md)."""
FRESH_MS = 60_000
"""For how long a quantile stands: a half-life is ten thousand times that."""
REMEMBERED = 100_000
"""Keys that are kept; the one that learned longest ago goes first."""

_USERS = frozenset({FailureClass.USER, FailureClass.OOM_HOST, FailureClass.TIME_LIMIT})
_FAILED = frozenset({Outcome.FAILED, Outcome.LOST, Outcome.EVICTED, Outcome.RECLAIMED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one key has seen, as of `at_ms`. Keys: `keeps/REGION/KIND`, `takes/KIND/NAME`,
    `speed/KIND/MODEL`.

    `good` and `bad` are runs, `hours` those that they ran; `log_sum` and `log_squares` are of the
    natural logarithms of durations in ms (takes) or of ratios (speed). All decay together.
    """

    key: str
    at_ms: int
    good: float = 0.0
    bad: float = 0.0
    hours: float = 0.0
    log_sum: float = 0.0
    log_squares: float = 0.0

    def at(self, now_ms: int) -> "Record":
        """The same, with the weight that it has now."""
        share = 2.0 ** (-max(0, now_ms - self.at_ms) / HALF_LIFE_MS)
        return replace(
            self,
            at_ms=now_ms,
            good=self.good * share,
            bad=self.bad * share,
            hours=self.hours * share,
            log_sum=self.log_sum * share,
            log_squares=self.log_squares * share,
        )


@dataclass(frozen=True, slots=True)
class Typical:
    """A typical value, and the share of the evidence for it: 0 none, 1 much that agrees."""

    value: float
    confidence: float


class History:
    """See the module's text."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._changed: set[str] = set()
        self._success: dict[str, tuple[float, int]] = {}
        self.revision = 0

    def load(self, record: Record) -> None:
        """Take up a stored row."""
        assert record.good >= 0 <= record.bad, "runs are counted from nothing up"
        self._records[record.key] = record

    def rows(self) -> list[Record]:
        """The records that changed since they were last asked for."""
        changed = [self._records[key] for key in sorted(self._changed) if key in self._records]
        self._changed.clear()
        return changed

    @property
    def has_news(self) -> bool:
        """Whether `rows` would say something."""
        return bool(self._changed)

    # --- learning --------------------------------------------------------------------------------

    def ended(self, run: Run, *, kind: Kind, name: str, model: str, now_ms: int) -> None:
        """A run has ended. `model` is that of its devices, empty if there are none."""
        assert run.outcome is not None, "an end has an outcome"
        fault = run.outcome in _FAILED and run.failure_class not in _USERS
        good = run.outcome is Outcome.SUCCEEDED
        if not (good or fault):
            return
        ran_ms = max(0, run.ended_ms - run.started_ms) if run.started_ms else 0
        self._add(f"keeps/{run.region}/{kind}", now_ms, good, ran_ms / 3.6e6)
        if good and ran_ms > 0 and name:
            before = self.duration(kind, name)
            self._add(f"takes/{kind}/{name}", now_ms, True, 0.0, math.log(ran_ms))
            if model and before is not None and before.value > 0:
                ratio = math.log(before.value / ran_ms)
                self._add(f"speed/{kind}/{model}", now_ms, True, 0.0, ratio)

    def _add(self, key: str, now_ms: int, good: bool, hours: float, log: float = 0.0) -> None:
        record = self._records.pop(key, Record(key=key, at_ms=now_ms)).at(now_ms)
        if len(self._records) >= REMEMBERED:
            oldest = next(iter(self._records))
            del self._records[oldest]
            self._success.pop(oldest, None)
        self._records[key] = replace(
            record,
            good=record.good + good,
            bad=record.bad + (not good),
            hours=record.hours + hours,
            log_sum=record.log_sum + log,
            log_squares=record.log_squares + log * log,
        )
        self._changed.add(key)
        self._success.pop(key, None)
        self.revision += 1

    # --- what follows ----------------------------------------------------------------------------

    def success(self, region: str, kind: Kind, now_ms: int) -> tuple[float, bool]:
        """S: the low estimate of the share of runs that succeed; whether it is only assumed."""
        key = f"keeps/{region}/{kind}"
        record = self._records.get(key)
        if record is None:
            return _UNKNOWN, True
        value, until_ms = self._success.get(key, (0.0, -1))
        if now_ms > until_ms:
            aged = record.at(now_ms)
            value = beta_quantile(_coarse(1 + aged.good), _coarse(1 + aged.bad))
            self._success[key] = value, now_ms + FRESH_MS
        return value, False

    def failure_rate(self, region: str, kind: Kind, now_ms: int) -> float:
        """Failures an hour of running there, with the prior."""
        assert region, "a region has a name"
        record = self._records.get(f"keeps/{region}/{kind}")
        bad, hours = (0.0, 0.0) if record is None else (record.at(now_ms).bad, record.hours)
        return (PRIOR_RATE * PRIOR_HOURS + bad) / (PRIOR_HOURS + hours)

    def duration(self, kind: Kind, name: str) -> Typical | None:
        """How long work of this name takes, in ms; the median of a log-normal."""
        return _typical(self._records.get(f"takes/{kind}/{name}"))

    def speed(self, kind: Kind, model: str) -> Typical | None:
        """How much faster than usual this kind of work runs on a device model."""
        return _typical(self._records.get(f"speed/{kind}/{model}"))


_UNKNOWN = QUANTILE
"""The 10% quantile of Beta(1, 1)."""


def _typical(record: Record | None) -> Typical | None:
    if record is None or record.good < 1e-3:
        return None
    mean = record.log_sum / record.good
    assert math.isfinite(mean), "a sum of logarithms of what took some time"
    spread = max(0.0, record.log_squares / record.good - mean * mean)
    return Typical(math.exp(mean), record.good / (record.good + 2.0) / (1.0 + spread))


def _coarse(count: float) -> float:
    """Counts in steps of two percent: nearly the same history has the very same quantile."""
    assert count >= 1.0, "counts begin with the prior"
    return float(1.02 ** round(math.log(count) / math.log(1.02)))


@lru_cache(maxsize=65_536)
def beta_quantile(a: float, b: float, share: float = QUANTILE) -> float:
    """The value below which Beta(a, b) has this share, by bisection to 1e-6."""
    assert a > 0 < b, "a Beta distribution"
    if b == 1.0:
        return float(share ** (1.0 / a))
    if a == 1.0:
        return float(1.0 - (1.0 - share) ** (1.0 / b))
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_cdf(middle, a, b) < share else (low, middle)
    return (low + high) / 2


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta by its continued fraction (DLMF 8.17.22)."""
    assert 0.0 < x < 1.0, "inside the distribution"
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_cdf(1.0 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d or 1e-30)
    result = d
    for m in range(1, 300):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / ((1.0 + term * d) or 1e-30)
            c = (1.0 + term / c) or 1e-30
            result *= c * d
        if abs(c * d - 1.0) < 1e-12:
            break
    return result
