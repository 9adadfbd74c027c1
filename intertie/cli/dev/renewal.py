"""Plays every CA of a development federation: issues identities again before they end.

Run as `python -m intertie.cli.dev.renewal STATE_DIR` by `intertie dev up`. Servers and channels
see the new files and take them without a pause.
"""

import random
import signal
import sys
import threading
from pathlib import Path

import structlog

from intertie.cli.dev.identities import renew
from intertie.cli.dev.layout import Layout
from intertie.clock import SystemClock
from intertie.telemetry import logs

EVERY_S = 60.0


def main() -> None:
    """Look once a minute until told to stop."""
    clock = SystemClock()
    logs.set_up(clock, service="renewal")
    layout = Layout.at(Path(sys.argv[1]))
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    log = structlog.get_logger(__name__)
    while not told.wait(EVERY_S):
        renewed = renew(layout, layout.load(), clock, random.Random())  # noqa: S311 - only spreads
        if renewed:
            log.info("renewed identities", of=renewed)


if __name__ == "__main__":
    main()
