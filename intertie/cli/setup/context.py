"""`intertie context ...`: which federation to talk to, and as whom."""

from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.options import Format, Output
from intertie.cli.printing import Column, View, lines
from intertie.errors import invalid
from intertie.pki.load import load
from intertie.sdk.contexts import (
    DEFAULT_TRUST_DOMAIN,
    Context,
    RegionAccess,
    config_path,
    load_contexts,
)

app = typer.Typer(no_args_is_help=True, help="Choose the federation and identity to use.")


def _fields(context: Context) -> dict[str, object]:
    told: dict[str, object] = {
        "name": context.name,
        "endpoint": context.endpoint,
        "trust_domain": context.trust_domain,
        "server_name": context.federation().server_name,
        "identity": context.identity,
        "project": context.project,
    }
    if context.region is not None:
        told["region"] = {
            "id": context.region.id,
            "endpoint": context.region.endpoint,
            "identity": context.region.identity,
        }
    return told


def _view(current: str) -> View[Context]:
    return View(
        "contexts",
        (
            Column("", lambda context: "*" if context.name == current else ""),
            Column("NAME", lambda context: context.name),
            Column("ENDPOINT", lambda context: context.endpoint),
            Column("PROJECT", lambda context: context.project or "-"),
            Column("REGION", lambda context: context.region.id if context.region else "-"),
            Column("IDENTITY", lambda context: context.identity),
            Column("TRUST DOMAIN", lambda context: context.trust_domain, wide=True),
        ),
        lambda context: context.name,
        lambda context: _fields(context) | {"current": context.name == current},
    )


@app.command("list")
def list_(output: Output = Format.TABLE) -> None:
    """List the contexts; * marks the current one."""
    contexts = load_contexts()
    listed = [contexts.by_name[name] for name in sorted(contexts.by_name)]
    _view(contexts.current).many(listed, output)


@app.command()
def use(name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Make a context the current one."""
    contexts = load_contexts()
    contexts.with_context(contexts.get(name), use=True).save()
    lines([f"now using {name}"])


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    endpoint: Annotated[str, typer.Option(metavar="HOST:PORT", help="The federation.")],
    identity: Annotated[
        Path, typer.Option(metavar="DIR", help="key.pem, cert.pem, chain.pem, trust.pem.")
    ],
    trust_domain: Annotated[str, typer.Option(help="Of the federation.")] = DEFAULT_TRUST_DOMAIN,
    server_name: Annotated[
        str, typer.Option(help="In the server's certificate, if not federation.<trust domain>.")
    ] = "",
    project: Annotated[str, typer.Option(help="If the identity does not say one.")] = "",
    region: Annotated[str, typer.Option(help="The region that we operate.")] = "",
    region_endpoint: Annotated[str, typer.Option(metavar="HOST:PORT", help="Its server.")] = "",
    region_identity: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The operator's identity there.")
    ] = None,
    no_use: Annotated[bool, typer.Option("--no-use", help="Leave the current one.")] = False,
) -> None:
    """Add or replace a context and make it the current one. Its files are checked first."""
    access = _access(region, region_endpoint, region_identity, trust_domain)
    load(identity, trust_domain)
    context = Context(
        name=name,
        endpoint=endpoint,
        identity=str(identity.absolute()),
        trust_domain=trust_domain,
        server_name=server_name,
        project=project,
        region=access,
    )
    load_contexts(missing_ok=True).with_context(context, use=not no_use).save()
    lines([f"wrote context {name} to {config_path()}"])


def _access(
    region: str, endpoint: str, identity: Path | None, trust_domain: str
) -> RegionAccess | None:
    if not (region or endpoint or identity):
        return None
    if not (region and endpoint and identity):
        raise invalid("--region", "needs --region, --region-endpoint and --region-identity")
    load(identity, trust_domain)
    return RegionAccess(id=region, endpoint=endpoint, identity=str(identity.absolute()))
