"""Whether a correction is one: it names an earlier usage leaf and takes back what was there.

Corrections are few, but point anywhere back in the log: they are collected in the pass over the
records and judged after it, each target read by its seq.
"""

from collections.abc import Callable, Iterator
from typing import Any

from intertie.metering import canonical
from intertie.metering.faults import MeteringError
from intertie.metering.log.merkle import leaf_hash
from intertie.metering.schema import CORRECTIONS

LeafAt = Callable[[int], bytes | None]
"""Reads an earlier leaf of the same log by its seq; None where the reader does not hold it."""

_SAME = ("project", "payer", "grant_sha256", "start_ms", "end_ms")


class Corrections:
    """The adjustments and voids of a log, in order.

    Args:
        leaf_at: reads their targets; None = they cannot be judged, only counted.
    """

    def __init__(self, leaf_at: LeafAt | None) -> None:
        self.unchecked = 0
        self._leaf_at = leaf_at
        self._waiting: list[tuple[int, dict[str, Any]]] = []
        self._left: dict[int, int] = {}

    def add(self, seq: int, record: dict[str, Any]) -> None:
        """Collect one."""
        assert record["kind"] in CORRECTIONS, f"{record['kind']} corrects nothing"
        assert not self._waiting or self._waiting[-1][0] < seq, "records come in order"
        self._waiting.append((seq, record))

    def judge(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield each that could be judged: its seq, what is wrong ("" = nothing), the record."""
        waiting, self._waiting = self._waiting, []
        for seq, record in waiting:
            target = record["adjusts"]["seq"]
            if not 0 <= target < seq:
                yield seq, f"adjusts seq {target}, which is not earlier", record
                continue
            leaf = self._leaf_at(target) if self._leaf_at is not None else None
            if leaf is None:
                self.unchecked += 1
            else:
                yield seq, self._wrong(record, target, leaf), record

    def _wrong(self, record: dict[str, Any], seq: int, leaf: bytes) -> str:
        found, cited = leaf_hash(leaf).hex(), record["adjusts"]["leaf_hash"]
        if found != cited:
            return f"adjusts seq {seq}: expected hash {found}, got {cited}"
        try:
            target = canonical.parse(leaf)
        except MeteringError:
            return f"adjusts seq {seq}, which is no record"
        word = "adj" if record["kind"] == "adjustment" else "void"
        names = f"{target.get('rid')}/{word}/"
        quantity = target.get("quantity")
        if target.get("kind") != "usage" or type(quantity) is not int:
            return f"adjusts seq {seq}, which is no usage"
        if not record["rid"].startswith(names):
            return f"adjusts seq {seq}: expected a rid of {names}<n>, got {record['rid']}"
        for name in _SAME:
            if record.get(name) != target.get(name):
                return f"{name}: expected {target.get(name)!r}, got {record.get(name)!r}"
        left = self._left.get(seq, quantity) + record["quantity"]
        if left < 0 or (word == "void" and left != 0):
            return f"leaves {left} of the {quantity} recorded at seq {seq}"
        self._left[seq] = left
        return ""
