"""Logs: one JSON object a line, with bound fields, without secrets, libraries included."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from intertie.clock import SystemClock
from intertie.telemetry.logs import Field, logger, set_up


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    set_up(SystemClock(), service="regional", stream=stream)
    return stream


def test_a_line_is_json_with_time_service_and_bound_fields(stream: io.StringIO) -> None:
    structlog.contextvars.bind_contextvars(**{Field.TASK.value: "projects/p/tasks/1"})
    logger("x").info("run started", run=3)
    (line,) = lines(stream)
    assert line["event"] == "run started"
    assert (line["service"], line["level"], line["run"]) == ("regional", "info", 3)
    assert line["task"] == "projects/p/tasks/1"
    assert line["time"].endswith("+00:00")


def test_lines_below_the_level_are_not_written(stream: io.StringIO) -> None:
    logger("x").debug("detail")
    assert lines(stream) == []


def test_libraries_that_log_come_out_in_the_same_form(stream: io.StringIO) -> None:
    logging.getLogger("grpc").warning("lost %s", "peer")
    (line,) = lines(stream)
    assert (line["event"], line["level"]) == ("lost peer", "warning")


def test_a_traceback_is_one_field(stream: io.StringIO) -> None:
    try:
        raise ValueError("bad")
    except ValueError:
        logger("x").exception("failed")
    (line,) = lines(stream)
    assert "ValueError: bad" in line["exception"]


@pytest.mark.parametrize(
    "fields",
    [
        {"join_token": "abc-hidden"},
        {"db_password": "abc-hidden"},
        {"argument": "intertie1.id.abc-hidden.pin"},
        {"body": "-----BEGIN PRIVATE KEY-----abc-hidden"},
    ],
)
def test_secrets_are_struck_out(stream: io.StringIO, fields: dict[str, str]) -> None:
    logger("x").info("hello", **fields)
    assert "abc-hidden" not in stream.getvalue()
    assert "struck out" in stream.getvalue()


def test_a_terminal_gets_lines_for_people() -> None:
    stream = io.StringIO()
    set_up(SystemClock(), service="cli", stream=stream, human=True)
    logger("x").info("hello", run=3)
    assert "hello" in stream.getvalue()
    assert not stream.getvalue().startswith("{")
