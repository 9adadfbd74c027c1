"""How time is cut for metering, and how a run's time is told apart when it ends.

Intervals are half-open, in UTC milliseconds, cut on the grid of UTC minutes: that cuts at every UTC
hour and after at most 60 s, and gives the same intervals however often a run is sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from intertie.model.states import Outcome

INTERVAL_MS = 60_000


def split_intervals(start_ms: int, end_ms: int) -> list[tuple[int, int]]:
    """Cut [start_ms, end_ms) at UTC minutes; an empty span gives no interval."""
    assert start_ms <= end_ms, f"a span ends at {end_ms} before it starts at {start_ms}"
    cuts = [start_ms]
    edge = (start_ms // INTERVAL_MS + 1) * INTERVAL_MS
    while edge < end_ms:
        cuts.append(edge)
        edge += INTERVAL_MS
    if start_ms < end_ms:
        cuts.append(end_ms)
    return list(pairwise(cuts))


def split_quantity(quantity: int, intervals: Sequence[tuple[int, int]]) -> list[int]:
    """Share a quantity over intervals by their length; the shares add up to it exactly."""
    total = sum(end - start for start, end in intervals)
    assert total > 0 or quantity == 0, "a quantity needs time to be spread over"
    shares, elapsed, given = [], 0, 0
    for start, end in intervals:
        elapsed += end - start
        due = quantity * elapsed // total if total else 0
        shares.append(due - given)
        given = due
    assert sum(shares) == (quantity if total else 0), "no unit is lost or made"
    return shares


@dataclass(frozen=True, slots=True)
class RunTime:
    """A run's time told apart; useful + lost = all of it, reclaimed is a part of lost."""

    useful_ms: int
    lost_ms: int
    reclaimed_ms: int


_BY_OWNER_OR_OPERATOR = frozenset({Outcome.RECLAIMED, Outcome.EVICTED})


def split_run_time(run_ms: int, after_checkpoint_ms: int, outcome: Outcome, cause: str) -> RunTime:
    """Tell a run's time apart by the rule of metering.md.

    Args:
        run_ms: duration of the run by the boot clock.
        after_checkpoint_ms: the part of it after the last committed training checkpoint, all of it
            if there is none.
        outcome: how the run ended.
        cause: who caused the end: owner, region, federation, task or submitter.
    """
    assert 0 <= after_checkpoint_ms <= run_ms, "a checkpoint stands inside its run"
    kept = outcome is Outcome.SUCCEEDED or (outcome is Outcome.CANCELLED and cause == "submitter")
    lost = 0 if kept else after_checkpoint_ms
    reclaimed = lost if cause == "owner" or outcome in _BY_OWNER_OR_OPERATOR else 0
    assert reclaimed <= lost <= run_ms, "reclaimed is a part of lost, lost of the run"
    return RunTime(run_ms - lost, lost, reclaimed)


def month_of(utc_ms: int) -> str:
    """`YYYY-MM` of an instant, in UTC.

    Days to civil date by eras of 400 years that begin in March (H. Hinnant, "chrono-compatible
    low-level date algorithms"); kept here because `datetime` would bring time zones along.
    """
    era, day = divmod(utc_ms // 86_400_000 + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day_of_year = day - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    assert 0 <= month < 12, "months are counted from March here"
    year += era * 400 + (month >= 10)
    return f"{year:04d}-{month + 3 if month < 10 else month - 9:02d}"
