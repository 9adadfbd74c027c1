"""Runs a regional scheduler: `python -m regional --config FILE [--check]`."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import uvloop

from intertie import collector
from intertie.clock import SystemClock
from intertie.config import load
from intertie.errors import IntertieError
from intertie.leaving import leave
from intertie.telemetry import logs
from regional.app import Application
from regional.config import Config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; the exit code is that of the error catalogue."""
    options = _options(arguments)
    try:
        config = load(Config, file=options.config, flags=options.set)
    except IntertieError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.entry.exit
    if options.check:
        sys.stdout.write("The configuration is valid.\n")
        return 0
    logs.set_up(SystemClock(), service="regional", level=config.log_level)
    try:
        return uvloop.run(_serve(config))
    except IntertieError as problem:
        logs.logger(__name__).error("cannot serve", problem=str(problem))
        return problem.entry.exit


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m regional", description=__doc__)
    parser.add_argument("--config", type=Path, help="TOML file")
    parser.add_argument("--check", action="store_true", help="check the configuration and exit")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="overrides a setting"
    )
    return parser.parse_args(arguments)


async def _serve(config: Config) -> int:
    application = Application(config)
    await application.start()
    collector.spare()
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    # Whoever started us on port 0 learns the ports from this line.
    ports = {
        "address": application.address,
        "metrics_port": application.metrics_port,
        "join_address": application.join_address,
    }
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    waits = [asyncio.ensure_future(told.wait()), asyncio.ensure_future(application.ended())]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for ended in done:
            ended.result()
    finally:
        for wait in waits:
            wait.cancel()
        await application.stop()
    return 0


if __name__ == "__main__":
    leave(main())
