"""The node's lease, as its holder counts it (safety.md).

    stop_at = t_SEND(beat) + lease - T_kill - delta

counted on the boot clock from when the answered beat was *sent*: the region counts from when it
heard it, which is later. T_kill and delta are those that the region counts with. A start that
carries a lease counts from the last answered beat as well, since the region counts from the last
one that it heard. Without an answered beat there is no lease.
"""

from dataclasses import dataclass

from intertie.errors import Reason, error

MAX_UNANSWERED = 64
MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Reserve:
    """What the holder of a lease keeps back of it, in ms."""

    kill_ms: int
    delta_ms: int

    def __post_init__(self) -> None:
        assert self.kill_ms > 0, "a kill takes time"
        assert self.delta_ms >= 0, "a margin does not lengthen a lease"

    @property
    def ms(self) -> int:
        """In all."""
        return self.kill_ms + self.delta_ms

    def agreed(self, kill_ms: int, delta_ms: int) -> "Reserve":
        """What to keep back under a region that counts with these; 0 = it does not say.

        Raises:
            IntertieError: CONFIG_INVALID; a kill here takes longer than the region counts on.
        """
        if 0 < kill_ms < self.kill_ms:
            raise error(
                Reason.CONFIG_INVALID,
                f"timing.kill: a kill on this node may take {self.kill_ms} ms; "
                f"its region counts on {kill_ms} ms.",
                remedy="Lower the node's timing.kill, or raise that of the region.",
                metadata={"field": "timing.kill"},
            )
        return Reserve(max(self.kill_ms, kill_ms), max(self.delta_ms, delta_ms))


class Lease:
    """Until when `move` runs may go on; 0 = no lease."""

    def __init__(self, reserve: Reserve) -> None:
        self._reserve = reserve
        self._sent: dict[int, int] = {}
        self._answered_ns = 0
        self.stop_at_ns = 0

    def agree(self, reserve: Reserve) -> None:
        """From now on the region counts with these; what was granted before stands."""
        self._reserve = reserve

    def sent(self, seq: int, sent_ns: int) -> None:
        """A beat leaves."""
        assert seq not in self._sent, f"beat {seq} was sent before"
        assert sent_ns >= self._answered_ns, f"beat {seq} was sent before one that was answered"
        self._sent[seq] = sent_ns
        while len(self._sent) > MAX_UNANSWERED:
            del self._sent[min(self._sent)]

    def granted(self, seq: int, lease_ms: int) -> bool:
        """The answer to a beat; True if the lease is longer than before."""
        sent_ns = self._sent.pop(seq, None)
        if sent_ns is None:
            return False
        for old in [other for other in self._sent if other < seq]:
            del self._sent[old]
        assert sent_ns >= self._answered_ns, "beats are answered in the order they were sent"
        self._answered_ns = sent_ns
        return self._reach(lease_ms)

    def started_with(self, lease_ms: int) -> bool:
        """A start that carries a lease; True if the lease is longer than before."""
        return bool(self._answered_ns) and self._reach(lease_ms)

    def link_broke(self) -> None:
        """Beats that were not answered never will be; what was granted stands."""
        self._sent.clear()

    def holds(self, now_ns: int) -> bool:
        """Whether a `move` run may start."""
        return now_ns < self.stop_at_ns

    def _reach(self, lease_ms: int) -> bool:
        if lease_ms <= 0:
            return False
        stop_at_ns = self._answered_ns + (lease_ms - self._reserve.ms) * MS
        if stop_at_ns <= self.stop_at_ns:
            return False
        self.stop_at_ns = stop_at_ns
        assert stop_at_ns < self._answered_ns + lease_ms * MS, "the holder stops before the grantor"
        return True
