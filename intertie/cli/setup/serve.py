"""`intertie federation|regional|agent serve`: becomes the service; and `agent doctor`.

The command line never imports a service: it replaces itself by `python -m federation`, so signals
and exit codes are the service's own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from intertie.cli.options import Format, Output
from intertie.cli.printing import facts, structured
from intertie.errors import Reason, error

federation = typer.Typer(no_args_is_help=True, help="Run a replica of the federation.")
regional = typer.Typer(no_args_is_help=True, help="Run a regional scheduler.")
agent = typer.Typer(no_args_is_help=True, help="Run an edge agent, or look at this machine.")

PROBE_S = 30

Config = Annotated[Path, typer.Option("--config", metavar="FILE", help="TOML file.")]
Check = Annotated[bool, typer.Option("--check", help="Check the configuration and exit.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Overrides a setting. Repeatable."),
]


@federation.callback()
def of_federation() -> None:
    """Run a replica of the federation."""


@regional.callback()
def of_regional() -> None:
    """Run a regional scheduler."""


@federation.command("serve")
def serve_federation(config: Config, check: Check = False, settings: Settings = None) -> None:
    """Serve until a signal; logs go to stderr as JSON."""
    _become("federation", config, settings or [], check=check)


@regional.command("serve")
def serve_region(config: Config, check: Check = False, settings: Settings = None) -> None:
    """Serve until a signal; logs go to stderr as JSON."""
    _become("regional", config, settings or [], check=check)


@agent.command("serve")
def serve_agent(config: Config, check: Check = False, settings: Settings = None) -> None:
    """Serve until a signal; logs go to stderr as JSON."""
    _become("edge_agent", config, settings or [], check=check)


def _become(module: str, config: Path, settings: Sequence[str], *, check: bool) -> None:
    command = [sys.executable, "-m", module, "--config", str(config)]
    for setting in settings:
        command += ["--set", setting]
    if check:
        command.append("--check")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)  # noqa: S606 - our own interpreter and module


@agent.command()
def doctor(
    folder: Annotated[Path, typer.Option("--dir", help="The disk that tasks would use.")] = Path(),
    output: Output = Format.TABLE,
) -> None:
    """Probe this machine as an agent would, and say how each value was found."""
    probes = _probe(folder)
    if output in (Format.JSON, Format.YAML):
        structured(probes, output)
    else:
        facts([(name, _told(probe, wide=output is Format.WIDE)) for name, probe in probes.items()])


def _probe(folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "edge_agent.adapters.probes", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=PROBE_S)
    except subprocess.TimeoutExpired:
        raise error(
            Reason.DEADLINE_EXCEEDED,
            f"The probes did not end within {PROBE_S} s; a device driver may hang.",
            remedy="Try nvidia-smi, and look at the kernel's log.",
        ) from None
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise error(Reason.INTERNAL, f"The probes failed: {told[-1] if told else 'no message'}.")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _told(probe: Any, *, wide: bool) -> str:  # noqa: ANN401 - whatever a probe tells
    if not isinstance(probe, dict) or "value" not in probe:
        return json.dumps(probe, ensure_ascii=False)
    value = probe["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    source = probe.get("source", "")
    return f"{text}  ({source})" if source and (wide or value in (None, [], {})) else text
