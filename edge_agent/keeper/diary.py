"""The keeper's own log: one JSON object per line on standard error. Never raises, never secret."""

import json
import os

from edge_agent.keeper.machine import linux


def log(event: str, **fields: str | int | list[str]) -> None:
    """Write one line; a closed or full standard error loses it."""
    line = json.dumps({"event": event, "boot_ns": linux.boot_ns(), **fields})
    try:
        os.write(2, line.encode("ascii") + b"\n")
    except OSError:
        return
