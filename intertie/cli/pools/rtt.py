"""Round trips between regions as a matrix for people, and pair by pair for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from intertie.cli.options import Format
from intertie.cli.printing import Column, View, table
from intertie.sdk.resources import Rtt

UNMEASURED = "unmeasured"


def _ms(us: int, pair: Rtt) -> str:
    return f"{us / 1000:.1f}" if pair.measured else UNMEASURED


def _if_measured(text: str, pair: Rtt) -> str:
    return text if pair.measured else ""


def _json(pair: Rtt) -> dict[str, Any]:
    return asdict(pair)


PAIRS: View[Rtt] = View(
    "rtts",
    (
        Column("FROM", lambda pair: pair.origin),
        Column("TO", lambda pair: pair.region),
        Column("P50 MS", lambda pair: _ms(pair.p50_us, pair)),
        Column("P95 MS", lambda pair: _ms(pair.p95_us, pair)),
        Column("SAMPLES", lambda pair: _if_measured(str(pair.samples), pair)),
        Column("LOST", lambda pair: _if_measured(str(pair.lost), pair)),
        Column("AGE", lambda pair: _if_measured(f"{pair.age_ms / 1000:.0f}s", pair)),
    ),
    lambda pair: f"{pair.origin}/{pair.region}",
    _json,
)


def show_rtts(pairs: Sequence[Rtt], output: Format) -> None:
    """Print them: a matrix of 95th percentiles as a table, all pairs otherwise."""
    if output is not Format.TABLE:
        PAIRS.many(pairs, output)
        return
    ids = sorted({pair.origin for pair in pairs})
    found = {(pair.origin, pair.region): _ms(pair.p95_us, pair) for pair in pairs}
    rows = [[origin, *(found.get((origin, to), UNMEASURED) for to in ids)] for origin in ids]
    table(["FROM", *(to.upper() for to in ids)], rows)
