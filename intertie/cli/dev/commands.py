"""The commands of `intertie dev`: up, status, kill, start, down."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from intertie.cli.dev.cluster import AGENTS, Cluster
from intertie.cli.dev.configs import isolation
from intertie.cli.dev.delays import change_rtt, tell_delays
from intertie.cli.dev.plan import read_plan
from intertie.errors import Reason, error

app = typer.Typer(
    name="dev",
    no_args_is_help=True,
    help="A whole federation on this machine: etcd, a replica, regions, agents.",
)

State = Annotated[
    Path,
    typer.Option(
        "--state",
        envvar="INTERTIE_DEV_STATE",
        help="Directory that holds everything; delete it when all is down to begin anew.",
    ),
]
DEFAULT_STATE = Path(".dev")
_err = Console(stderr=True)


@app.command()
def up(
    state: State = DEFAULT_STATE,
    agents: Annotated[
        int | None,
        typer.Option(min=1, max=50, help=f"Agents of a new federation; {AGENTS} if left out."),
    ] = None,
    regions: Annotated[
        Path | None,
        typer.Option(
            "--regions",
            help="Plan of several regions, their places and round trips, for a new federation.",
        ),
    ] = None,
) -> None:
    """Start everything that does not run yet, and say how to use it."""
    if regions is not None and agents is not None:
        raise error(
            Reason.CONFIG_INVALID,
            "--agents and --regions exclude each other.",
            remedy="Say `agents` of each region in the plan.",
        )
    plan = read_plan(regions) if regions is not None else None
    with _err.status("starting") as status:
        cluster = Cluster(state, lambda text: status.update(text))
        cluster.up(agents, plan)
    context = cluster.layout.context_file
    typer.echo(f"The federation runs: {len(cluster.names)} processes below {cluster.layout.root}.")
    if note := isolation():
        typer.echo(f"Note:     {note}")
    typer.echo(f"Use it:   export INTERTIE_CONFIG={context}")
    typer.echo("Try:      intertie plan examples/numerical/task.yaml")
    typer.echo(f"Stop it:  intertie dev down --state {state}")


@app.command()
def status(
    state: State = DEFAULT_STATE,
    output: Annotated[str, typer.Option("-o", help="table or json")] = "table",
) -> None:
    """Say which processes run."""
    cluster = Cluster(state)
    running, known = cluster.processes.alive(), cluster.processes.all()
    rows = [
        {
            "name": name,
            "state": "running" if name in running else "dead" if name in known else "stopped",
            "pid": running[name].pid if name in running else None,
            "log": str(cluster.layout.log(name)),
        }
        for name in cluster.names
    ]
    if output == "json":
        typer.echo(json.dumps({"processes": rows}, indent=2))
        return
    table = Table("NAME", "STATE", "PID", "LOG", box=None, header_style="")
    for row in rows:
        table.add_row(*(str(value) if value is not None else "" for value in row.values()))
    Console().print(table)


@app.command()
def kill(name: str, state: State = DEFAULT_STATE) -> None:
    """End one process as a crash does; of an agent its keeper and its tasks too."""
    cluster = Cluster(state)
    _check(cluster, name)
    cluster.kill(name)
    typer.echo(f"{name} is dead.")


@app.command()
def start(name: str, state: State = DEFAULT_STATE) -> None:
    """Start one process again."""
    cluster = Cluster(state)
    _check(cluster, name)
    process = cluster.start(name)
    typer.echo(f"{name} runs as {process.pid}.")


@app.command()
def rtt(
    first: Annotated[str | None, typer.Argument(help="A region.")] = None,
    second: Annotated[str | None, typer.Argument(help="Another region.")] = None,
    ms: Annotated[float | None, typer.Argument(help="The round trip from now on.")] = None,
    state: State = DEFAULT_STATE,
    output: Annotated[str, typer.Option("-o", help="table or json")] = "table",
) -> None:
    """Show how long the delay proxy takes between regions, or change one round trip.

    The link changes at once; plans change when the federation is started again.
    """
    cluster = Cluster(state)
    command: dict[str, object] = {}
    if first is not None:
        for region in (first, second):
            _check_region(cluster, region)
        if ms is None:
            raise error(
                Reason.INVALID_FIELD,
                "How long?",
                remedy="intertie dev rtt REGION REGION MILLISECONDS",
            )
        command = {"from": first, "to": second, "rtt_ms": ms}
    paths = tell_delays(cluster.layout, command)
    if first is not None and second is not None and ms is not None:
        change_rtt(cluster.layout, first, second, ms)
    if output == "json":
        typer.echo(json.dumps({"paths": paths}, indent=2))
        return
    table = Table("FROM", "TO", "DELAY ms", "JITTER ms", "CUT", box=None, header_style="")
    for path in paths:
        table.add_row(*(str(value) for value in path.values()))
    Console().print(table)


@app.command()
def down(state: State = DEFAULT_STATE) -> None:
    """Stop everything in good order; the state stays."""
    with _err.status("stopping") as status:
        Cluster(state, lambda text: status.update(text)).down()
    typer.echo("All processes are stopped; their state is kept.")


def _check_region(cluster: Cluster, region: str | None) -> None:
    if region not in cluster.description.regions:
        raise error(
            Reason.NOT_FOUND,
            f"There is no region {region!r}.",
            remedy="Two of: " + ", ".join(cluster.description.regions),
        )


def _check(cluster: Cluster, name: str) -> None:
    if name not in cluster.names:
        raise error(
            Reason.NOT_FOUND,
            f"There is no process {name!r}.",
            remedy="One of: " + ", ".join(cluster.names),
        )
