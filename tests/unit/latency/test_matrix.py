"""The matrix, against a flat table that is rebuilt after each step."""

from hypothesis import given
from hypothesis import strategies as st

from intertie.latency import Matrix, Stats

MS = 1_000_000
KEEP_MS = 1_000
IDS = st.sampled_from(["a", "b", "c", "d"])
STATS = st.builds(
    Stats,
    p50_us=st.integers(0, 9),
    p95_us=st.integers(0, 3),
    samples=st.integers(1, 3),
    age_ms=st.integers(0, 900),
)
Step = tuple[str, dict[str, Stats]] | int
STEP: st.SearchStrategy[Step] = st.tuples(
    IDS, st.dictionaries(IDS, STATS, max_size=4)
) | st.integers(0, 1_500)

Table = dict[tuple[str, str], tuple[int, int]]
"""By pair: p95 and when the newest answer came, in ms."""


def applied(table: Table, step: Step, now: int) -> Table:
    if isinstance(step, tuple):
        origin, stats = step
        kept = {pair: known for pair, known in table.items() if pair[0] != origin}
        return kept | {(origin, to): (s.p95_us, now - s.age_ms) for to, s in stats.items()}
    return {pair: known for pair, known in table.items() if now - known[1] <= KEEP_MS}


@given(st.lists(STEP, max_size=30))
def test_a_matrix_shows_what_the_flat_table_shows_and_its_revision_tells_of_every_change(
    steps: list[Step],
) -> None:
    matrix, now = Matrix(), 10_000
    table: Table = {}
    for step in steps:
        now += step if isinstance(step, int) else 0
        before, shown = matrix, {pair: known[0] for pair, known in table.items()}
        table = applied(table, step, now)
        if isinstance(step, tuple):
            matrix = matrix.heard(*step, now * MS)
        else:
            matrix = matrix.fresh(now * MS, KEEP_MS)
        pairs = matrix.pairs("abcd")
        assert len(pairs) == 16
        found = {(o, r): (m.stats.p95_us, m.at_ns // MS) for o, r, m in pairs if m is not None}
        assert found == table
        changed = shown != {pair: known[0] for pair, known in table.items()}
        assert (matrix.revision > before.revision) == changed


def test_both_directions_of_a_pair_are_kept_apart() -> None:
    matrix = Matrix().heard("a", {"b": Stats(10, 12, 5)}, 0)
    assert matrix.get("a", "b") is not None
    assert matrix.get("b", "a") is None
