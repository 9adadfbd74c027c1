"""The rules that records of a log must keep, checked one record after the other.

An `Auditor` sees each record once, in order, and collects findings. It trusts nothing but the
grants it is given: that a record is in the log makes it un-rewritable, not true. Findings are
bounded; state grows with tasks (held intervals, grants) and by 8 bytes a record (duplicates).
Must not check hashes or signatures: that is `verify`.
"""

from array import array
from collections.abc import Mapping
from hashlib import sha256
from itertools import pairwise
from typing import Any

from intertie.metering import schema
from intertie.metering.audit.corrections import Corrections, LeafAt
from intertie.metering.audit.findings import Findings
from intertie.metering.audit.granted import Refusal, describe, refusal
from intertie.metering.audit.held import HeldIntervals
from intertie.metering.audit.reader import RecordReader
from intertie.metering.audit.runs import SKEW_MS, STEP_MS, Runs
from intertie.metering.faults import Fault, MeteringError
from intertie.metering.grant import Grant
from intertie.metering.intervals import month_of
from intertie.model.meters import HOUR_MS, METERS

LATE_MS = 7 * 24 * HOUR_MS
"""How long after its end usage is recorded before it counts as late."""
_HELD = frozenset(meter.name for meter in METERS.values() if meter.held)
_BILLABLE = frozenset(meter.name for meter in METERS.values() if meter.billable)


class Auditor:
    """Checks the records of one log.

    Args:
        region: whose log it is; None where the origin does not say.
        grants: verified grants by their SHA-256; None = only that one is cited is checked.
        leaf_at: reads earlier leaves; without it corrections are only counted.
        late_ms: how old usage may be when it is recorded.
    """

    def __init__(
        self,
        region: str | None = None,
        *,
        grants: Mapping[str, Grant] | None = None,
        leaf_at: LeafAt | None = None,
        late_ms: int = LATE_MS,
    ) -> None:
        assert late_ms >= 0, "an age is not negative"
        self.findings = Findings()
        self.records = 0
        self.hidden = 0
        self._region, self._grants, self._late_ms = region, grants, late_ms
        self._read = RecordReader().read
        self._last_recorded = 0
        self._digests = bytearray()
        self._first: int | None = None
        self._held = HeldIntervals()
        self._used: dict[tuple[str, str], int] = {}
        self._over: dict[tuple[str, str], int] = {}
        self._below: dict[tuple[str, str], int] = {}
        self._closed: set[tuple[str, str]] = set()
        self._corrections = Corrections(leaf_at)
        self._runs = Runs()

    def feed(self, seq: int, leaf: bytes) -> None:
        """Check the next record."""
        if self._first is None:
            self._first = seq
        assert seq == self._first + len(self._digests) // 8, f"leaf {seq} is out of turn"
        try:
            record = self._read(leaf)
        except MeteringError as fault:
            self._digests += sha256(leaf).digest()[:8]
            self.findings.add(Fault.NON_CANONICAL, seq, fault.message)
            return
        self.records += 1
        self._digests += sha256(record["rid"].encode()).digest()[:8]
        if record["seq"] != seq:
            self._add(Fault.SEQ_GAP, seq, f"expected seq {seq}, got {record['seq']}")
        if self._region is not None and record["region"] != self._region:
            what = f"region: expected {self._region}, got {record['region']}"
            self._add(Fault.NON_CANONICAL, seq, what)
        recorded = record["recorded_ms"]
        if recorded < self._last_recorded - SKEW_MS:
            what = f"recorded_ms: {recorded} after {self._last_recorded}"
            self._add(Fault.CLOCK_ANOMALY, seq, what)
        self._last_recorded = recorded
        kind = record["kind"]
        if kind == "usage":
            self._usage(seq, record)
        elif kind == "run_end":
            if wrong := self._runs.ended(seq, record):
                self._add(Fault.DUPLICATE_RID, seq, wrong)
        elif kind in schema.CORRECTIONS:
            self._corrections.add(seq, record)
        elif kind == "period_close":
            self._closed.add((record["payer"], record["month"]))

    def skip(self, seq: int, digest: bytes) -> None:
        """Pass over a record of which only the hash may be seen."""
        assert len(digest) == 32, "a leaf hash is a SHA-256"
        if self._first is None:
            self._first = seq
        self.hidden += 1
        self._digests += digest[:8]

    def finish(self) -> Findings:
        """Check what can be known only after the last record; return all findings."""
        for seq, wrong, record in self._corrections.judge():
            if wrong:
                self._add(Fault.BAD_ADJUSTMENT, seq, wrong)
            elif record["meter"] in _BILLABLE and record["payer"] != record["region"]:
                self._correct(seq, record)
        self._check_totals()
        if self._first == 0:  # or the beginning of some runs was read earlier
            for fault, seq, what in self._runs.judge():
                self._add(fault, seq, what)
        self._check_duplicates()
        return self.findings

    @property
    def unchecked_corrections(self) -> int:
        """Corrections whose target could not be read."""
        return self._corrections.unchecked

    def _add(self, fault: Fault, seq: int, detail: str) -> None:
        self.findings.add(fault, seq, detail)

    def _usage(self, seq: int, record: dict[str, Any]) -> None:
        start, end, meter = record["start_ms"], record["end_ms"], record["meter"]
        self._check_times(seq, record, start, end)
        if meter in _HELD and start < end:
            other = self._held.add((record["task"], record["rank"], meter), start, end)
            if other is not None:
                what = f"{meter}: [{start}, {end}) is held already in [{other[0]}, {other[1]})"
                self._add(Fault.OVERLAP, seq, what)
        grant = None
        if meter in _BILLABLE and record["payer"] != record["region"]:
            grant = self._check_grant(seq, record, meter, end - start)
        self._runs.usage(seq, record, grant.not_after_ms if grant is not None else 0)

    def _check_times(self, seq: int, record: dict[str, Any], start: int, end: int) -> None:
        recorded, boot = record["recorded_ms"], record["boot_ms"]
        if not -STEP_MS <= end - start - boot <= STEP_MS or end <= start:
            what = f"[{start}, {end}) lasts {end - start} ms, by the boot clock {boot}"
            self._add(Fault.CLOCK_ANOMALY, seq, what)
        elif start // HOUR_MS != (end - 1) // HOUR_MS:
            self._add(Fault.CLOCK_ANOMALY, seq, f"[{start}, {end}) crosses a UTC hour")
        if end > recorded + SKEW_MS:
            what = f"ends at {end}, recorded before that at {recorded}"
            self._add(Fault.CLOCK_ANOMALY, seq, what)
        elif recorded - end > self._late_ms:
            self._add(Fault.LATE, seq, f"ended at {end}, recorded at {recorded}")
        elif self._closed and (record["payer"], month_of(start)) in self._closed:
            self._add(Fault.LATE, seq, f"{month_of(start)} of {record['payer']} is closed")

    def _check_grant(
        self, seq: int, record: dict[str, Any], meter: str, wall_ms: int
    ) -> Grant | None:
        grant = self._granted(seq, record)
        if grant is None:
            return None
        self._count(seq, grant, (record["grant_sha256"], meter), record["quantity"])
        rate, quantity = grant.rate.get(meter), record["quantity"]
        if rate is not None and quantity > rate * max(wall_ms, 0):
            what = f"{meter}: {quantity} in {wall_ms} ms, the grant allows {rate} a ms"
            self._add(Fault.OVER_GRANT, seq, what)
        return grant

    def _granted(self, seq: int, record: dict[str, Any]) -> Grant | None:
        """The grant of a billable record; None if there is none that can be counted against."""
        cited = record.get("grant_sha256")
        if cited is None:
            self._add(Fault.NO_GRANT, seq, f"{record['meter']}: billable, but no grant is cited")
            return None
        if self._grants is None:
            return None
        grant = self._grants.get(cited)
        if grant is None:
            self._add(Fault.NO_GRANT, seq, f"grant {cited} is not known")
            return None
        why = refusal(grant, record)
        if why is not None:
            fault = Fault.OVER_GRANT if why is Refusal.METER_NOT_GRANTED else Fault.NO_GRANT
            self._add(fault, seq, describe(grant, record, why))
            return None
        return grant

    def _correct(self, seq: int, record: dict[str, Any]) -> None:
        """Count a correction, also of usage that was read before this auditor began."""
        grant = self._granted(seq, record)
        if grant is not None:
            key = (record["grant_sha256"], record["meter"])
            self._count(seq, grant, key, record["quantity"])

    def _count(self, seq: int, grant: Grant, key: tuple[str, str], quantity: int) -> None:
        total = self._used.get(key, 0) + quantity
        self._used[key] = total
        if total > grant.maximum[key[1]]:
            self._over.setdefault(key, seq)
        elif total < 0:
            self._below.setdefault(key, seq)

    def _check_totals(self) -> None:
        """Compare what is left after corrections with the caps, and with 0."""
        for key, seq in self._over.items():
            assert self._grants is not None, "a cap is passed only where grants are known"
            (grant, meter), used = key, self._used[key]
            cap = self._grants[grant].maximum[meter]
            if used > cap:
                what = f"{meter}: grant {grant} allows {cap}, billed {used}"
                self._add(Fault.OVER_GRANT, seq, what)
        for key, seq in self._below.items():
            used = self._used[key]
            if used < 0 and self._first == 0:  # what was read earlier is not counted here
                what = f"{key[1]}: corrections leave {used} under grant {key[0]}"
                self._add(Fault.BAD_ADJUSTMENT, seq, what)
        self._over.clear()
        self._below.clear()

    def _check_duplicates(self) -> None:
        """Two equal 64-bit digests are two equal rids: a chance match is 1 in 10^7 for 10^6."""
        digests = array("Q", bytes(self._digests))
        ordered = sorted(digests)
        twice = {a for a, b in pairwise(ordered) if a == b}
        if not twice:
            return
        seen: dict[int, int] = {}
        for at, digest in enumerate(digests, start=self._first or 0):
            if digest in twice:
                if digest in seen:
                    what = f"the rid stands at seq {seen[digest]} already"
                    self._add(Fault.DUPLICATE_RID, at, what)
                seen.setdefault(digest, at)
