"""`intertie ca ...`: certificate authorities and identities made by hand, over `intertie.pki`.

For a first setup; running processes renew by themselves. Must never print a key.
"""

from pathlib import Path
from typing import Annotated

import typer

from intertie.cli.printing import lines
from intertie.cli.shown import instant
from intertie.clock import SystemClock
from intertie.model.units import parse_millis
from intertie.pki.authority import (
    create_intermediate,
    create_regional,
    create_root,
    new_key,
    root_pin,
)
from intertie.pki.ca_files import load_authority, write_authority
from intertie.pki.issue import issue as issue_leaf
from intertie.pki.load import write_identity
from intertie.pki.spiffe import parse
from intertie.sdk.contexts import DEFAULT_TRUST_DOMAIN

app = typer.Typer(no_args_is_help=True, help="Make certificate authorities and identities.")

Domain = Annotated[str, typer.Option("--trust-domain", help="Of the federation.")]
Hosts = Annotated[
    list[str] | None, typer.Option("--host", help="Host name or address dialled. Repeatable.")
]
CaDirectory = Annotated[Path, typer.Argument(metavar="CA", help="Directory of the CA.")]


@app.command()
def init(
    ca: CaDirectory,
    region: Annotated[
        str, typer.Option("--region", help="Make the CA of this region, below --root.")
    ] = "",
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="The federation's root CA.")
    ] = None,
    intermediate: Annotated[
        bool,
        typer.Option(
            "--intermediate", help="Make a CA below --root that replicas hold, the root offline."
        ),
    ] = False,
    hosts: Hosts = None,
    trust_domain: Domain = DEFAULT_TRUST_DOMAIN,
) -> None:
    """Make the root CA of a federation, or below it one of a region or an intermediate."""
    now = SystemClock().now()
    if (bool(region) != (root is not None)) != intermediate or (region and intermediate):
        raise typer.BadParameter("--root goes with --region or with --intermediate")
    if intermediate and root is not None:
        signer = create_intermediate(load_authority(root, trust_domain), now)
        write_authority(ca, signer)
        lines([f"wrote an intermediate CA of {trust_domain} to {ca}"])
        return
    if root is None:
        authority = create_root(trust_domain, now)
        write_authority(ca, authority)
        pin = root_pin(authority.cert)
        lines([f"wrote the root CA of {trust_domain} to {ca}; pin sha256:{pin}"])
        return
    above = load_authority(root, trust_domain)
    regional = create_regional(above, region, now, hosts=tuple(hosts or ()))
    write_authority(ca, regional)
    lines([f"wrote the CA of {regional.trust_domain} to {ca}"])


@app.command()
def issue(
    ca: CaDirectory,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Where the identity is written.")],
    spiffe_id: Annotated[
        str, typer.Argument(metavar="ID", help="spiffe://intertie.example/project/vision/ann")
    ],
    region: Annotated[
        str, typer.Option("--region", help="The region whose CA it is; the root if left out.")
    ] = "",
    hosts: Hosts = None,
    life: Annotated[str, typer.Option("--life", help="A shorter life: 1h, for instance.")] = "",
    trust_domain: Domain = DEFAULT_TRUST_DOMAIN,
) -> None:
    """Issue an identity: key.pem, cert.pem, chain.pem and trust.pem in one directory."""
    authority = load_authority(ca, trust_domain, region or None)
    identity = parse(spiffe_id, trust_domain)
    key = new_key()
    issued = issue_leaf(
        authority,
        identity,
        key.public_key(),
        SystemClock().now(),
        hosts=tuple(hosts or ()),
        life_ms=parse_millis(life, "--life") if life else None,
    )
    write_identity(out, key, issued)
    lines([f"wrote {identity} to {out}; it ends at {instant(issued.not_after_ms)}"])
