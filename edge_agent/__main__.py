"""Runs an edge agent's link: `python -m edge_agent --config FILE [--check]`.

The configuration is read and checked first; then this process becomes the link by executing itself
anew with the plain values, so that the libraries that read configuration do not stay in its memory.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from edge_agent.domain.settings import Settings
from intertie.errors import IntertieError
from intertie.leaving import leave

_SETTINGS_FD = "--settings-fd"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; the exit code is that of the error catalogue."""
    options = _options(arguments)
    if options.settings_fd is not None:
        with open(options.settings_fd, "rb") as file:  # noqa: PTH123 - a descriptor, no path
            return _link(msgspec.json.decode(file.read(), type=Settings))
    try:
        settings = _read(options.config, options.set)
    except IntertieError as problem:
        sys.stderr.write(f"{problem}\n")
        return problem.entry.exit
    if options.check:
        sys.stdout.write("The configuration is valid.\n")
        return 0
    return _become_link(settings)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m edge_agent", description=__doc__)
    parser.add_argument("--config", type=Path, help="TOML file")
    parser.add_argument("--check", action="store_true", help="check the configuration and exit")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="overrides a setting"
    )
    parser.add_argument(_SETTINGS_FD, type=int, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _read(file: Path | None, flags: Sequence[str]) -> Settings:
    from edge_agent.config import Config
    from intertie.config import load

    return load(Config, file=file, flags=flags).as_settings()


def _become_link(settings: Settings) -> NoReturn:
    fd = os.memfd_create("settings", 0)
    os.write(fd, msgspec.json.encode(settings))
    os.lseek(fd, 0, os.SEEK_SET)
    os.set_inheritable(fd, True)
    sys.stdout.flush()
    command = [sys.executable, "-m", "edge_agent", _SETTINGS_FD, str(fd)]
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter, no shell is the point


def _link(settings: Settings) -> int:
    # structlog loads rich where it finds it, for coloured tracebacks: 3 MiB that no service needs.
    sys.modules.setdefault("rich", None)  # type: ignore[arg-type] # None is how an import is refused
    import uvloop

    from intertie.clock import SystemClock
    from intertie.telemetry import logs

    logs.set_up(SystemClock(), service="agent", level=settings.log_level)
    try:
        return uvloop.run(_serve(settings))
    except IntertieError as problem:
        logs.logger(__name__).error("cannot serve", problem=str(problem))
        return problem.entry.exit


async def _serve(settings: Settings) -> int:
    from edge_agent.app import Application

    application = Application(settings)
    await application.start()
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    # Whoever started us on port 0 learns the port from this line.
    sys.stdout.write(json.dumps({"metrics_port": application.metrics_port}) + "\n")
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
