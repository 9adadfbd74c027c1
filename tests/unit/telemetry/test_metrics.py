"""Metrics: names keep the conventions, children are bound once, the page is what the code says."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from intertie.telemetry.__main__ import page
from intertie.telemetry.metrics import (
    RPC_HANDLED,
    RPC_IN_FLIGHT,
    RPC_SECONDS,
    CounterMetric,
    HistogramMetric,
    all_metrics,
)
from intertie.telemetry.registry import Metrics

DOCS = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


def test_names_and_labels_keep_the_conventions() -> None:
    names = [metric.name for metric in all_metrics()]
    assert len(names) == len(set(names))
    for metric in all_metrics():
        assert re.fullmatch(r"intertie_[a-z0-9_]+", metric.name)
        assert isinstance(metric, CounterMetric) == metric.name.endswith("_total")
        assert metric.help.endswith(".")
        if isinstance(metric, HistogramMetric):
            assert list(metric.buckets) == sorted(metric.buckets)
        assert not {"task", "run", "request_id", "peer"} & set(metric.labels)


def test_a_child_is_made_once_and_counts() -> None:
    metrics = Metrics()
    child = metrics.counter(RPC_HANDLED, "/a.B/C", "OK")
    assert metrics.counter(RPC_HANDLED, "/a.B/C", "OK") is child
    child.inc()
    metrics.gauge(RPC_IN_FLIGHT, "/a.B/C").set(2)
    metrics.histogram(RPC_SECONDS, "/a.B/C").observe(0.003)
    text = generate_latest(metrics.registry).decode()
    assert 'intertie_rpc_handled_total{code="OK",method="/a.B/C"} 1.0' in text
    assert 'intertie_rpc_in_flight{method="/a.B/C"} 2.0' in text
    assert 'intertie_rpc_seconds_bucket{le="0.005",method="/a.B/C"} 1.0' in text


def test_two_processes_in_one_share_nothing() -> None:
    one, two = Metrics(), Metrics()
    one.counter(RPC_HANDLED, "/a.B/C", "OK").inc()
    assert b"/a.B/C" not in generate_latest(two.registry)


def test_a_wrong_number_of_labels_is_our_own_fault() -> None:
    with pytest.raises(AssertionError, match="method"):
        Metrics().counter(RPC_HANDLED, "/a.B/C")


def test_a_process_reports_itself_on_request() -> None:
    registry = CollectorRegistry()
    Metrics(registry, process=True)
    assert b"process_cpu_seconds_total" in generate_latest(registry)


def test_the_page_lists_every_metric_and_is_up_to_date() -> None:
    for metric in all_metrics():
        assert f"`{metric.name}`" in page()
    assert DOCS.read_text(encoding="utf-8") == page()
