"""Structured logs: one JSON object a line on stderr, or coloured lines on a terminal.

The fields that code may bind are in `Field`. Secrets are struck out whatever their field. Records
of libraries that use `logging` come out in the same form. Must be set up once, by a `__main__`.
"""

import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from intertie.ports import Clock


class Field(StrEnum):
    """Names of what a line is about; other names carry what happened."""

    SERVICE = "service"
    TASK = "task"
    RUN = "run"
    REGION = "region"
    NODE = "node"
    REQUEST_ID = "request_id"
    METHOD = "method"
    PEER = "peer"
    ERROR_ID = "error_id"


SECRET_PARTS = ("join_token", "secret", "password", "private_key", "key_pem")
JOIN_TOKEN_PREFIX = "intertie1."  # noqa: S105 - the public prefix of join tokens, not a secret
STRUCK = "[struck out]"


def set_up(
    clock: Clock,
    *,
    service: str,
    level: str = "INFO",
    stream: TextIO | None = None,
    human: bool | None = None,
) -> None:
    """Set up all logging of this process.

    Args:
        clock: gives the time of each line.
        service: the process: federation, regional, agent, cli.
        level: the lowest level that is written.
        stream: where to; stderr if absent.
        human: lines for people instead of JSON; by whether `stream` is a terminal if absent.
    """
    stream = stream or sys.stderr
    human = stream.isatty() if human is None else human
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _stamp(clock, service),
        strike_secrets,
    ]
    end: list[Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if human
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *end],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)


def logger(name: str) -> FilteringBoundLogger:
    """A logger for one module."""
    return cast(FilteringBoundLogger, structlog.get_logger(name))


def strike_secrets(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Replace values that look like secrets, by the name of their field or by their form."""
    for key, value in event.items():
        named = any(part in key.lower() for part in SECRET_PARTS)
        if named or (isinstance(value, str) and _looks_secret(value)):
            event[key] = STRUCK
    return event


def _looks_secret(value: str) -> bool:
    return JOIN_TOKEN_PREFIX in value or "PRIVATE KEY-----" in value


def _stamp(clock: Clock, service: str) -> Processor:
    def stamp(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
        at = datetime.fromtimestamp(clock.now().utc_ms / 1000, UTC)
        event["time"] = at.isoformat(timespec="milliseconds")
        event.setdefault(Field.SERVICE.value, service)
        return event

    return stamp
