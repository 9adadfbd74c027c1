"""Round trips that the federation's operator declares, for pairs that nobody measures.

    {"type": "intertie.latencies/v1",
     "pairs": [{"from": "eu", "to": "cn", "p95_ms": 195.0}]}

What is declared is an estimate: it meets a `max_rtt` only of tasks that allow estimates. A
direction that the file leaves out is unmeasured; the other direction says nothing about it.
"""

import json
from pathlib import Path

from federation.domain.routing.known.latency import UNMEASURED, Estimated, KnownLatencies
from intertie.errors import Reason, error
from intertie.model.names import REGION

TYPE = "intertie.latencies/v1"
MAX_MS = 60_000.0
MAX_PAIRS = 100_000


def read_latencies(file: Path | None) -> KnownLatencies:
    """The declared round trips. Raises CONFIG_INVALID naming the file and the pair."""
    if file is None:
        return UNMEASURED
    try:
        declared = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(declared, dict) or declared.get("type") != TYPE:
            message = f"type: is not {TYPE!r}"
            raise ValueError(message)
        return KnownLatencies(_pairs(declared.get("pairs")), {})
    except (OSError, ValueError) as fault:
        raise error(
            Reason.CONFIG_INVALID,
            f"latencies_file: {file}: {fault}",
            remedy="See docs/latency.md for the form of the file.",
        ) from None


def _pairs(rows: object) -> dict[tuple[str, str], Estimated]:
    if not isinstance(rows, list) or len(rows) > MAX_PAIRS:
        message = f"pairs: is not a list of at most {MAX_PAIRS}"
        raise ValueError(message)
    found: dict[tuple[str, str], Estimated] = {}
    for number, row in enumerate(rows):
        try:
            pair, known = _pair(row)
        except ValueError as fault:
            message = f"pairs[{number}]: {fault}"
            raise ValueError(message) from None
        if pair in found:
            message = f"pairs[{number}]: {' to '.join(pair)} is declared twice"
            raise ValueError(message)
        found[pair] = known
    return found


def _pair(row: object) -> tuple[tuple[str, str], Estimated]:
    if not isinstance(row, dict) or set(row) != {"from", "to", "p95_ms"}:
        message = "needs from, to and p95_ms, and nothing else"
        raise ValueError(message)
    for end in ("from", "to"):
        if not isinstance(row[end], str) or REGION.fullmatch(row[end]) is None:
            message = f"{end}: {row[end]!r} is not a region id"
            raise ValueError(message)
    value = row["p95_ms"]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MAX_MS:
        message = f"p95_ms: {value!r} is not in 0..{MAX_MS:g}"
        raise ValueError(message)
    return (row["from"], row["to"]), Estimated(float(value))
