"""Whether the end of a run agrees with the usage that stands in the log.

A `run_end` says how long the run was, and whether all its usage is there. Of each (task, epoch,
rank) the intervals of every placement are kept as one number that grows (and those that came out of
turn), with the sum of their durations. Judged after the last record, because the log's order is not
the order of a run's life. Needs the log from its first record on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from intertie.metering.faults import Fault

SKEW_MS = 600_000
"""How far two clocks may be apart (security.md)."""
STEP_MS = 2_000
"""How far a duration may differ by UTC and by the boot clock before a clock was stepped."""


@dataclass(slots=True)
class _Placement:
    """The intervals of one placement: 1 to `upto`, and those beyond a gap."""

    upto: int = 0
    beyond: set[int] | None = None

    def add(self, interval: int) -> bool:
        """Note one; False if it was there, as each further meter of an interval is."""
        if interval == self.upto + 1:
            self.upto = interval
            while self.beyond and self.upto + 1 in self.beyond:
                self.upto += 1
                self.beyond.discard(self.upto)
            return True
        if interval <= self.upto:
            return False
        if self.beyond is None:
            self.beyond = set()
        before = len(self.beyond)
        self.beyond.add(interval)
        return len(self.beyond) > before


@dataclass(slots=True)
class _Run:
    """One rank of a run, over all its placements."""

    placements: dict[str, _Placement] = field(default_factory=dict)
    first_seq: int = 0
    boot_ms: int = 0
    start_ms: int = 0
    end_ms: int = 0
    not_after_ms: int = 0
    end: tuple[int, dict[str, Any]] | None = None


class Runs:
    """The runs of a log."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str, int], _Run] = {}

    def usage(self, seq: int, record: dict[str, Any], not_after_ms: int = 0) -> None:
        """Count a usage record. `not_after_ms`: when a run may begin at the latest, 0 = unknown."""
        assert record["kind"] == "usage", "a correction is no interval"
        run = self._of(record)
        token, start_ms = record["run"], record["start_ms"]
        placement = run.placements.get(token)
        if placement is None:
            if not run.placements:
                run.first_seq, run.start_ms = seq, start_ms
            placement = run.placements[token] = _Placement()
        run.not_after_ms = run.not_after_ms or not_after_ms
        if placement.add(int(record["rid"].rsplit("/", 2)[1])):
            run.boot_ms += record["boot_ms"]
            run.start_ms = min(run.start_ms, start_ms)
            run.end_ms = max(run.end_ms, record["end_ms"])

    def ended(self, seq: int, record: dict[str, Any]) -> str:
        """Note the end of a run; what is wrong if it has ended before."""
        run = self._of(record)
        if run.end is not None:
            return f"the run ended at seq {run.end[0]} already, as {run.end[1]['rid']}"
        run.end = (seq, record)
        return ""

    def judge(self) -> Iterator[tuple[Fault, int, str]]:
        """What is wrong, and at which record; each run is judged once after its end."""
        for run in self._runs.values():
            if run.not_after_ms and run.start_ms > run.not_after_ms + SKEW_MS:
                what = f"the run begins at {run.start_ms}, its grant was over at {run.not_after_ms}"
                yield Fault.NO_GRANT, run.first_seq, what
                run.not_after_ms = 0
            if run.end is not None and run.end[1]:
                seq, record = run.end
                yield from _against_its_end(run, seq, record)
                run.end = (seq, {})

    def _of(self, record: dict[str, Any]) -> _Run:
        key = (record["task"], record["run"].partition(".")[0], record["rank"])
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run()
        return run


def _against_its_end(
    run: _Run, seq: int, record: dict[str, Any]
) -> Iterator[tuple[Fault, int, str]]:
    ran_ms = record["boot_ms"]
    assert record["useful_ms"] + record["lost_ms"] == ran_ms, "the schema says so"
    if run.boot_ms > ran_ms + STEP_MS:
        what = f"the run lasted {ran_ms} ms, its usage lasts {run.boot_ms} ms"
        yield Fault.CLOCK_ANOMALY, seq, what
    if run.end_ms > record["end_ms"] + SKEW_MS:
        what = f"the run ended at {record['end_ms']}, its usage at {run.end_ms}"
        yield Fault.CLOCK_ANOMALY, seq, what
    if not record["complete"]:
        return
    for token, placement in run.placements.items():
        if placement.beyond:
            what = f"complete, but interval {placement.upto + 1} of placement {token} is missing"
            yield Fault.SEQ_GAP, seq, what
    if run.boot_ms < ran_ms - STEP_MS:
        what = f"complete, but of {ran_ms} ms of the run only {run.boot_ms} ms have usage"
        yield Fault.SEQ_GAP, seq, what
