"""The file of declared round trips: estimates by direction, and how it is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from federation.adapters.latencies import TYPE, read_latencies
from federation.domain.routing.known.latency import UNMEASURED, Estimated
from intertie.errors import IntertieError, Reason

PAIR = {"from": "eu", "to": "cn", "p95_ms": 195}


def written(tmp_path: Path, pairs: Any, kind: str = TYPE) -> Path:
    path = tmp_path / "latencies.json"
    path.write_text(json.dumps({"type": kind, "pairs": pairs}), encoding="utf-8")
    return path


def test_what_is_declared_is_an_estimate_of_one_direction(tmp_path: Path) -> None:
    known = read_latencies(written(tmp_path, [PAIR]))
    assert known.p95("eu", "cn") == Estimated(195.0)
    assert known.p95("cn", "eu") is None
    assert read_latencies(None) is UNMEASURED


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ({}, "pairs: is not a list"),
        ([PAIR, PAIR], "pairs[1]: eu to cn is declared twice"),
        ([PAIR | {"p95_ms": -1}], "pairs[0]: p95_ms: -1 is not in 0..60000"),
        ([PAIR | {"p95_ms": float("nan")}], "pairs[0]: p95_ms: nan"),
        ([PAIR | {"p95_ms": True}], "pairs[0]: p95_ms: True"),
        ([PAIR | {"p95_ms": "9"}], "pairs[0]: p95_ms: '9'"),
        ([PAIR | {"to": "C N"}], "pairs[0]: to: 'C N' is not a region id"),
        ([PAIR | {"more": 1}], "pairs[0]: needs from, to and p95_ms"),
        ([1], "pairs[0]: needs from, to and p95_ms"),
    ],
)
def test_a_faulty_file_is_refused_and_names_the_pair(tmp_path: Path, pairs: Any, why: str) -> None:
    with pytest.raises(IntertieError) as caught:
        read_latencies(written(tmp_path, pairs))
    assert caught.value.reason is Reason.CONFIG_INVALID
    assert why in str(caught.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IntertieError, match="type: is not"):
        read_latencies(written(tmp_path, [], "intertie.prices/v1"))
