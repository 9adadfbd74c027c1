"""Run the delay proxy: `python -m intertie.testing.delay --routes FILE --control SOCKET`.

FILE is `{"routes": [{"listen", "target", "origin", "place"}], "paths": [{"from", "to", ...}]}`.
"""

import argparse
import asyncio
import json
import random
import signal
from pathlib import Path

from intertie.testing.delay.control import serve_control
from intertie.testing.delay.paths import Route, Table
from intertie.testing.delay.proxy import DelayProxy


async def _run(routes: Path, control: Path) -> None:
    asked = json.loads(routes.read_text(encoding="utf-8"))
    rng = random.Random()  # noqa: S311 - jitter is no secret
    proxy = DelayProxy(Table.of_rows(asked["paths"]), rng)
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await proxy.open(Route(**route) for route in asked["routes"])
    server = await serve_control(proxy, control)
    await told.wait()
    server.close()
    await proxy.close()
    control.unlink(missing_ok=True)


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="Delay connections between places.")
    parser.add_argument("--routes", type=Path, required=True)
    parser.add_argument("--control", type=Path, required=True)
    asked = parser.parse_args()
    asyncio.run(_run(asked.routes, asked.control))


if __name__ == "__main__":
    main()
