"""The newest probes of one beacon: so many at most, and none older than a bound.

A probe that was not answered counts as lost and has no round trip: a percentile over answers alone
says how far a place is, and `lost` how well it is reached.
"""

from collections import deque

from intertie.latency.stats import MAX_RTT_US, Stats, rank

MS = 1_000_000


class Window:
    """See the module's text.

    Args:
        most: probes kept.
        keep_ms: age at which a probe is forgotten.
    """

    def __init__(self, most: int, keep_ms: int) -> None:
        assert most > 0, "a window of nothing"
        self._probes: deque[tuple[int, int | None]] = deque(maxlen=most)
        self._keep_ns = keep_ms * MS

    def add(self, at_ns: int, rtt_us: int | None) -> None:
        """Keep a probe that was answered or given up at `at_ns`; None = it was lost."""
        assert not self._probes or at_ns >= self._probes[-1][0], "probes come in their order"
        assert rtt_us is None or 0 <= rtt_us <= MAX_RTT_US, "a round trip that is none"
        self._probes.append((at_ns, rtt_us))

    def stats(self, now_ns: int) -> Stats | None:
        """What is known now; None if no probe of late was answered."""
        while self._probes and now_ns - self._probes[0][0] > self._keep_ns:
            self._probes.popleft()
        answered = [(at_ns, rtt) for at_ns, rtt in self._probes if rtt is not None]
        if not answered:
            return None
        ordered = sorted(rtt for _, rtt in answered)
        return Stats(
            p50_us=rank(ordered, 50),
            p95_us=rank(ordered, 95),
            samples=len(ordered),
            lost=len(self._probes) - len(ordered),
            age_ms=(now_ns - answered[-1][0]) // MS,
        )
