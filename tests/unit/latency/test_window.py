"""The window of probes, against a version that keeps everything and looks at all of it."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from intertie.latency import MAX_RTT_US, Stats, Window, rank

MS = 1_000_000
PROBES = st.lists(
    st.tuples(st.integers(0, 5_000), st.none() | st.integers(0, MAX_RTT_US)), max_size=60
)


def dumb_rank(values: list[int], percent: int) -> int:
    """The smallest value such that at least `percent` of 100 are no larger."""
    share = Fraction(percent, 100)
    return min(v for v in values if Fraction(sum(w <= v for w in values), len(values)) >= share)


def dumb(probes: list[tuple[int, int | None]], most: int, keep_ms: int, now: int) -> Stats | None:
    late = [p for p in probes[-most:] if now - p[0] <= keep_ms]
    answers = [(at, rtt) for at, rtt in late if rtt is not None]
    if not answers:
        return None
    rtts = [rtt for _, rtt in answers]
    return Stats(
        p50_us=dumb_rank(rtts, 50),
        p95_us=dumb_rank(rtts, 95),
        samples=len(rtts),
        lost=len(late) - len(rtts),
        age_ms=now - answers[-1][0],
    )


@given(PROBES, st.integers(1, 40), st.integers(0, 60_000), st.integers(0, 30_000))
def test_a_window_says_what_the_dumb_one_says(
    steps: list[tuple[int, int | None]], most: int, keep_ms: int, wait_ms: int
) -> None:
    window, kept, at = Window(most, keep_ms), [], 0
    for gap, rtt in steps:
        at += gap
        window.add(at * MS, rtt)
        kept.append((at, rtt))
        assert window.stats(at * MS) == dumb(kept, most, keep_ms, at)
    now = at + wait_ms
    assert window.stats(now * MS) == dumb(kept, most, keep_ms, now)


@given(st.lists(st.integers(0, MAX_RTT_US), min_size=1, max_size=80), st.integers(1, 100))
def test_a_percentile_is_a_measured_value_and_grows_with_its_rank(
    values: list[int], percent: int
) -> None:
    ordered = sorted(values)
    found = rank(ordered, percent)
    assert found == dumb_rank(values, percent)
    assert found in values
    assert found <= rank(ordered, 100) == max(values)


def test_lost_probes_alone_are_no_measurement() -> None:
    window = Window(10, 1_000)
    window.add(0, None)
    assert window.stats(0) is None
    window.add(1 * MS, 250)
    assert window.stats(2 * MS) == Stats(p50_us=250, p95_us=250, samples=1, lost=1, age_ms=1)
